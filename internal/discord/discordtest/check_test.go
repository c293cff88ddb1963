package discordtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
)

// The interactions that there are.
var (
	used    = Interaction{Command: "x", UserID: "5", GuildID: "7", ChannelID: "8"}
	pressed = Interaction{Button: "1:x", UserID: "5", GuildID: "7", On: &Message{Content: "old", Buttons: [][]Button{{{Label: "Again", CustomID: "1:x", Style: 1}}}}}
	typing  = Interaction{Command: "x", Focused: "o", Options: map[string]string{"o": "Tel"}}
	asked   = Modal{CustomID: "1:x", Title: "Which wallet?", Inputs: []Input{{CustomID: "wallet", Label: "Wallet", Value: "0x"}}}
	sent    = Interaction{Modal: &asked}
)

// modal is a modal of these components.
func modal(title, components string) string {
	return fmt.Sprintf(`{"type":9,"data":{"custom_id":"1:x","title":%q,"components":[%s]}}`, title, components)
}

// labelled is an input in a label.
func labelled(id, more string) string {
	return fmt.Sprintf(`{"type":18,"label":"Wallet","component":{"type":4,"custom_id":%q,"style":1%s}}`, id, more)
}

// shows is a first response of rows of buttons.
func shows(rows string) string {
	return `{"type":4,"data":{"content":"x","components":[` + rows + `],` + quiet + `}}`
}

func row(buttons ...string) string {
	return `{"type":1,"components":[` + strings.Join(buttons, ",") + `]}`
}

func button(id string) string {
	return fmt.Sprintf(`{"type":2,"style":1,"label":"x","custom_id":%q}`, id)
}

func choices(n int, name string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":%q,"value":"%d"}`, name, i)
	}
	return `{"type":8,"data":{"choices":[` + strings.Join(list, ",") + `]}}`
}

func TestComponentsThatDiscordRefuses(t *testing.T) {
	long := strings.Repeat("x", 513)
	six := func(make func(string) string) []string {
		var all []string
		for n := range 6 {
			all = append(all, make(fmt.Sprint(n)))
		}
		return all
	}
	link := func(url string) string { return shows(row(`{"type":2,"style":5,"label":"x","url":"` + url + `"}`)) }
	for name, test := range map[string]struct {
		interaction Interaction
		body, why   string
	}{
		"empty row":                {used, shows(row()), "components: items: 0"},
		"six buttons":              {used, shows(row(six(button)...)), "components: items: 6"},
		"six rows":                 {used, shows(strings.Join(six(func(id string) string { return row(button(id)) }), ",")), "6 rows"},
		"button outside a row":     {used, shows(button("a")), "no kind"},
		"custom_id twice":          {used, shows(row(button("a")) + "," + row(button("a"))), "custom_id: is there twice"},
		"custom_id too long":       {used, shows(row(button(long[:101]))), "custom_id: length"},
		"custom_id empty":          {used, shows(row(button(""))), "custom_id: length"},
		"no custom_id":             {used, shows(row(`{"type":2,"style":1,"label":"x"}`)), "any other button a custom_id"},
		"no style":                 {used, shows(row(`{"type":2,"label":"x","custom_id":"a"}`)), "style: is required"},
		"label too long":           {used, shows(row(`{"type":2,"style":1,"custom_id":"a","label":"` + long[:81] + `"}`)), "label: length"},
		"nothing to read":          {used, shows(row(`{"type":2,"style":1,"custom_id":"a","label":""}`)), "neither label nor emoji"},
		"link without url":         {used, shows(row(`{"type":2,"style":5,"label":"x"}`)), "a link has a url"},
		"link with custom_id":      {used, shows(row(`{"type":2,"style":5,"label":"x","url":"https://a.example","custom_id":"a"}`)), "none has both"},
		"url of another button":    {used, shows(row(`{"type":2,"style":1,"label":"x","url":"https://a.example","custom_id":"a"}`)), "none has both"},
		"url of another scheme":    {used, link("tg://resolve"), "no address"},
		"url without host":         {used, link("https:///x"), "no address"},
		"url too long":             {used, link("https://a.example/" + long), "url: length"},
		"select menu":              {used, shows(row(`{"type":3,"custom_id":"a","options":[]}`)), "no kind"},
		"components 2":             {used, `{"type":4,"data":{"content":"x","flags":32768,` + quiet + `}}`, "second version"},
		"update empties":           {pressed, `{"type":7,"data":{"content":"",` + quiet + `}}`, "is empty"},
		"update pings":             {pressed, `{"type":7,"data":{"content":"x"}}`, "allowed_mentions"},
		"26 choices":               {typing, choices(26, "x"), "choices: items: 26"},
		"name of a choice":         {typing, choices(1, long[:101]), "name: length"},
		"name of a choice, empty":  {typing, choices(1, ""), "name: length"},
		"choice without value":     {typing, `{"type":8,"data":{"choices":[{"name":"x"}]}}`, "value: is required"},
		"title of a modal":         {used, modal(long[:46], labelled("a", "")), "title: length"},
		"title of a modal, empty":  {used, modal("", labelled("a", "")), "title: length"},
		"modal without inputs":     {used, modal("x", ""), "components: items: 0"},
		"modal of six inputs":      {used, modal("x", strings.Join(six(func(id string) string { return labelled(id, "") }), ",")), "6 inputs"},
		"inputs of one custom_id":  {used, modal("x", labelled("a", "")+","+labelled("a", "")), "custom_id: is there twice"},
		"input without custom_id":  {used, modal("x", `{"type":18,"label":"x","component":{"type":4,"style":1}}`), "custom_id: is required"},
		"input without style":      {used, modal("x", `{"type":18,"label":"x","component":{"type":4,"custom_id":"a"}}`), "style: is required"},
		"label too long in modal":  {used, modal("x", strings.Replace(labelled("a", ""), "Wallet", long[:46], 1)), "label: length"},
		"two labels":               {used, modal("x", labelled("a", `,"label":"x"`)), "label: is required"},
		"no label":                 {used, modal("x", row(`{"type":4,"custom_id":"a","style":1}`)), "label: is required"},
		"placeholder too long":     {used, modal("x", labelled("a", `,"placeholder":"`+long[:101]+`"`)), "placeholder: length"},
		"lengths contradict":       {used, modal("x", labelled("a", `,"min_length":5,"max_length":4`)), "lengths contradict"},
		"button in a modal":        {used, modal("x", row(button("a"))), "none of [4]"},
		"unknown attachment":       {used, `{"type":4,"data":{"content":"x","attachments":[{"id":"0"}],` + quiet + `}}`, "names neither an upload"},
		"picture without a file":   {used, `{"type":4,"data":{"embeds":[{"title":"x","image":{"url":"attachment://a.png"}}],` + quiet + `}}`, "no image of that name"},
		"picture of another place": {used, `{"type":4,"data":{"embeds":[{"title":"x","image":{"url":"file:///a.png"}}],` + quiet + `}}`, "no address"},
	} {
		s := New()
		p, _ := s.create(test.interaction)
		status, code := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", test.body)
		if status != http.StatusBadRequest || code != 50035 || !refusedFor(s, test.why) {
			t.Errorf("%s: status %d, code %d, problems %q", name, status, code, s.Problems())
		}
		if a := p.Answer(); a.First > 0 || a.Callbacks > 0 || a.Modal != nil || len(s.Messages()) > len(p.before()) {
			t.Errorf("%s: took effect: %+v", name, a)
		}
		s.Close()
	}
}

// refusedFor reports whether one payload was refused, and why.
func refusedFor(s *Server, why string) bool {
	p := s.Problems()
	return len(p) == 1 && strings.Contains(p[0], why)
}

// before is what was shown before p.
func (p *Pending) before() []Message {
	if p.interaction.On != nil {
		return []Message{*p.interaction.On}
	}
	return nil
}

func TestWhatAMessageMayShow(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(used)
	body := `{"type":4,"data":{"content":"x","components":[` +
		row(button("a"), `{"type":2,"style":5,"label":"There","url":"https://a.example/b"}`) + `,` +
		row(`{"type":2,"style":2,"custom_id":"b","emoji":{"name":"🔄"},"disabled":true}`) + `],` + quiet + `}}`
	if status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	a := p.Answer()
	want := [][]Button{
		{{Label: "x", CustomID: "a", Style: 1}, {Label: "There", URL: "https://a.example/b", Style: 5}},
		{{CustomID: "b", Style: 2, Emoji: "🔄", Disabled: true}},
	}
	if fmt.Sprint(a.Buttons) != fmt.Sprint(want) || a.Ephemeral || a.SeenBy != "" || a.Type != 4 {
		t.Errorf("%+v", a)
	}
	embedded := Message{Content: "a", Embeds: []*discordgo.MessageEmbed{{
		Title: "b", Description: "c", URL: "d", Fields: []*discordgo.MessageEmbedField{{Name: "e", Value: "f"}},
		Footer: &discordgo.MessageEmbedFooter{Text: "g", IconURL: "h"}, Image: &discordgo.MessageEmbedImage{URL: "i"},
	}}, Buttons: [][]Button{{{Label: "j", CustomID: "k"}, {URL: "l"}}}, Attachments: []Attachment{{Name: "m", Description: "n"}}}
	if all := strings.Fields(embedded.Everything()); strings.Join(slices.Sorted(slices.Values(all)), "") != "abcdefghijklmn" {
		t.Errorf("everything is %q", all)
	}
	if b, ok := a.Button("There"); !ok || b.URL != "https://a.example/b" {
		t.Errorf("found %+v, %v", b, ok)
	}
}
