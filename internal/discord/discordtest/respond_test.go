package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestResponsesThatDoNotFitTheInteraction(t *testing.T) {
	const (
		show, deferral = `{"type":4,"data":{"content":"x",` + quiet + `}}`, `{"type":5,"data":{` + quiet + `}}`
		change, later  = `{"type":7,"data":{"content":"x",` + quiet + `}}`, `{"type":6}`
	)
	all := map[string]string{
		"show": show, "deferral": deferral, "change": change, "change later": later,
		"choices": choices(1, "x"), "modal": modal("x", labelled("a", "")),
	}
	onMessage := sent
	onMessage.On = pressed.On
	for name, test := range map[string]struct {
		interaction Interaction
		takes       []string
	}{
		"a command":               {used, []string{"show", "deferral", "modal"}},
		"a press":                 {pressed, []string{"show", "deferral", "change", "change later", "modal"}},
		"a wish for choices":      {typing, []string{"choices"}},
		"a modal of a command":    {sent, []string{"show", "deferral"}},
		"a modal under a message": {onMessage, []string{"show", "deferral", "change", "change later"}},
	} {
		for response, body := range all {
			s := New()
			p, _ := s.create(test.interaction)
			status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body)
			want := http.StatusBadRequest
			if slices.Contains(test.takes, response) {
				want = http.StatusNoContent
			}
			if status != want || len(s.Problems()) != map[int]int{400: 1, 204: 0}[want] {
				t.Errorf("%s answered by %s: status %d, problems %q", name, response, status, s.Problems())
			}
			s.Close()
		}
	}
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
		if a := p.Answer(); a.First > 0 || a.Callbacks > 0 || a.Modal != nil || len(s.Messages()) > len(p.known()) {
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

// known is what was shown before p.
func (p *Pending) known() []Message {
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

// A press changes the message for all who see it, and only by what is sent.
func TestAPressChangesItsMessage(t *testing.T) {
	s := New()
	defer s.Close()
	first, _ := s.create(used)
	callback := func(p *Pending, body string) int {
		status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body)
		return status
	}
	edit := func(p *Pending, body string) int {
		status, _ := do(t, s, "PATCH", "/webhooks/"+s.ApplicationID+"/"+p.Token+"/messages/@original", "", body)
		return status
	}
	callback(first, shows(row(button("a"))))
	message := first.Answer().Message

	at, _ := s.create(first.Press("6", "a"))
	if status := callback(at, `{"type":7,"data":{"content":"new",`+quiet+`}}`); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	later, _ := s.create(first.Press("5", "forged"))
	callback(later, `{"type":6}`)
	if a := later.Answer(); !a.Deferred || a.Content != "new" {
		t.Errorf("promised: %+v", a)
	}
	edit(later, `{"content":"newest","components":[],`+quiet+`}`)
	now := first.Answer().Message
	if now.ID != message.ID || now.Content != "newest" || now.Edited != 2 || len(now.Buttons) != 0 || len(s.Messages()) != 1 {
		t.Errorf("%+v", now)
	}
	if shown := at.Shown(); len(shown) != 1 || shown[0].Content != "new" || len(shown[0].Buttons) != 1 {
		t.Errorf("the press showed %+v", shown)
	}

	// Ephemeral answers to a press are messages of their own.
	alone, _ := s.create(first.Press("6", "a"))
	callback(alone, `{"type":4,"data":{"content":"only you","flags":64,`+quiet+`}}`)
	if a := alone.Answer(); !a.Ephemeral || a.SeenBy != "6" || a.ID == message.ID || first.Answer().Content != "newest" {
		t.Errorf("%+v", a)
	}
	if len(s.Problems()) > 0 {
		t.Errorf("refused: %q", s.Problems())
	}
}

func TestWhoSeesAnAnswerIsFixedByItsPromise(t *testing.T) {
	for _, promised := range []bool{false, true} {
		s := New()
		p, _ := s.create(used)
		flags := map[bool]string{false: "0", true: "64"}
		do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", `{"type":5,"data":{"flags":`+flags[promised]+`,`+quiet+`}}`)
		webhook := "/webhooks/" + s.ApplicationID + "/" + p.Token
		say := `{"content":"x","flags":` + flags[!promised] + `,` + quiet + `}`
		if status, _ := do(t, s, "POST", webhook, "", say); status != 200 {
			t.Errorf("status %d: %q", status, s.Problems())
		}
		a := p.Answer()
		if a.Ephemeral != promised || a.Content != "x" || len(a.Followups) != 0 || a.Edited != 0 {
			t.Errorf("straight after a promise: %+v", a)
		}
		do(t, s, "PATCH", webhook+"/messages/@original", "", say)
		do(t, s, "POST", webhook, "", say)
		a = p.Answer()
		if a.Ephemeral != promised || a.Edited != 1 || len(a.Followups) != 1 || a.Followups[0].Ephemeral == promised {
			t.Errorf("later: %+v", a)
		}
		s.Close()
	}
}

func TestOnlyMessagesHaveAWebhook(t *testing.T) {
	s := New()
	defer s.Close()
	for _, test := range []struct {
		interaction Interaction
		body        string
	}{{used, modal("x", labelled("a", ""))}, {typing, choices(1, "x")}} {
		p, _ := s.create(test.interaction)
		do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", test.body)
		webhook := "/webhooks/" + s.ApplicationID + "/" + p.Token
		if status, code := do(t, s, "PATCH", webhook+"/messages/@original", "", `{"content":"x",`+quiet+`}`); status != 404 || code != 10015 {
			t.Errorf("edit: status %d, code %d", status, code)
		}
		if status, code := do(t, s, "POST", webhook, "", `{"content":"x",`+quiet+`}`); status != 404 || code != 10015 {
			t.Errorf("follow-up: status %d, code %d", status, code)
		}
	}
}

func TestAnAnswerExpiresAfterFifteenMinutes(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(used)
	do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", `{"type":5,"data":{`+quiet+`}}`)
	s.mu.Lock()
	p.sent = time.Now().Add(-tokenLife - time.Second)
	s.mu.Unlock()
	for method, path := range map[string]string{"PATCH": "/messages/@original", "POST": ""} {
		if status, code := do(t, s, method, "/webhooks/"+s.ApplicationID+"/"+p.Token+path, "", `{"content":"x",`+quiet+`}`); status != 401 || code != 50027 {
			t.Errorf("%s: status %d, code %d", method, status, code)
		}
	}
}

func TestAModalComesBackAsItWasShown(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(pressed)
	body := modal("Which?", labelled("a", `,"placeholder":"0x…","max_length":42`)+","+
		row(`{"type":4,"custom_id":"b","style":2,"label":"Why","value":"because","required":false}`))
	if status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	m := p.Answer().Modal
	if m.Title != "Which?" || len(m.Inputs) != 2 || m.Inputs[0] != (Input{CustomID: "a", Label: "Wallet", Placeholder: "0x…", Required: true, MaxLength: 42, InLabel: true}) {
		t.Fatalf("%+v", m)
	}
	_, payload := s.create(p.Submit(map[string]string{"a": "0x1"}))
	got, _ := json.Marshal(payload["data"])
	want := `{"components":[{"component":{"custom_id":"a","id":1,"type":4,"value":"0x1"},"id":100,"type":18},` +
		`{"components":[{"custom_id":"b","id":2,"type":4,"value":"because"}],"id":101,"type":1}],"custom_id":"1:x"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if message := payload["message"].(map[string]any); payload["type"] != 5 || message["id"] != p.interaction.On.ID {
		t.Errorf("%+v", payload)
	}
}

func TestInteractionsSayWhereTheyComeFrom(t *testing.T) {
	s := New()
	defer s.Close()
	first, _ := s.create(used)
	s.respond(first, decoded(t, shows(row(button("a")))), nil)
	for name, test := range map[string]struct {
		interaction Interaction
		want        string
	}{
		"a guild":         {used, `[2,0,"7",{"0":"7"},"en-US","en-US",null,null]`},
		"a private chat":  {Interaction{Command: "x", UserID: "5", Locale: "tr"}, `[2,1,null,{"0":"0"},"tr",null,null,null]`},
		"one's own bot":   {Interaction{Command: "x", UserID: "5", GuildID: "7", GuildLocale: "ru", UserInstalled: true}, `[2,0,"7",{"1":"5"},"en-US","ru",null,null]`},
		"among friends":   {Interaction{Command: "x", UserID: "5", PrivateChannel: true}, `[2,2,null,{"1":"5"},"en-US",null,null,null]`},
		"a press":         {first.Press("6", "a"), `[3,0,"7",{"0":"7"},"en-US","en-US",{"component_type":2,"custom_id":"a","id":2},"x"]`},
		"a press of old":  {pressed, `[3,0,"7",{"0":"7"},"en-US","en-US",{"component_type":2,"custom_id":"1:x","id":2},"old"]`},
		"a press, forged": {first.Press("6", "\x00…"), `[3,0,"7",{"0":"7"},"en-US","en-US",{"component_type":2,"custom_id":"\u0000…","id":2},"x"]`},
		"while typing":    {Interaction{Command: "x", Focused: "o", UserID: "5", Options: map[string]string{"o": "Tel"}}, `[4,1,null,{"0":"0"},"en-US",null,{"id":"1300000000000000001","name":"x","options":[{"focused":true,"name":"o","type":3,"value":"Tel"}],"type":1},null]`},
	} {
		_, p := s.create(test.interaction)
		var data, content any
		if p["type"] != useOfCommand {
			data = p["data"]
		}
		if m, ok := p["message"].(map[string]any); ok {
			content = m["content"]
		}
		got, err := json.Marshal([]any{p["type"], p["context"], p["guild_id"], p["authorizing_integration_owners"], p["locale"], p["guild_locale"], data, content})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, test.want)
		}
	}
	old, _ := s.create(pressed)
	if age := time.Since(time.UnixMilli(int64(snowflake(t, old.Answer().ID)>>22) + epoch.Milliseconds())); old.Answer().ID != "" && age < 300*24*time.Hour {
		t.Errorf("a message of old is %v old", age)
	}
}

func snowflake(t *testing.T, id string) (n uint64) {
	t.Helper()
	fmt.Sscan(id, &n)
	return n
}

func decoded(t *testing.T, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// part is one of a multipart body.
type part struct{ name, file, content string }

// upload makes one multipart call.
func upload(t *testing.T, s *Server, method, path string, parts ...part) (status int) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		create := func() (io.Writer, error) { return w.CreateFormField(p.name) }
		if p.file != "" {
			create = func() (io.Writer, error) { return w.CreateFormFile(p.name, p.file) }
		}
		to, err := create()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(to, p.content)
	}
	w.Close()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/api/v10"+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestUploadsThatDiscordRefuses(t *testing.T) {
	const embed = `"embeds":[{"image":{"url":"attachment://a.png"}}],` + quiet
	file := part{"files[0]", "a.png", "PNG"}
	for name, test := range map[string]struct {
		why   string
		parts []part
	}{
		"no JSON":             {"no payload_json", []part{file}},
		"JSON broken":         {"is not JSON", []part{{"payload_json", "", `{"content":`}, file}},
		"file without number": {"neither payload_json", []part{{"payload_json", "", `{"content":"x",` + quiet + `}`}, {"file", "a.png", "PNG"}}},
		"file without name":   {"no name or content", []part{{"payload_json", "", `{"content":"x",` + quiet + `}`}, {"files[0]", "", "PNG"}}},
		"empty file":          {"no name or content", []part{{"payload_json", "", `{"content":"x",` + quiet + `}`}, {"files[0]", "a.png", ""}}},
		"described twice":     {"or one twice", []part{{"payload_json", "", `{"attachments":[{"id":"0"},{"id":"0"}],` + embed + `}`}, file}},
		"another's place":     {"names neither", []part{{"payload_json", "", `{"attachments":[{"id":"1"}],` + embed + `}`}, file}},
		"description is long": {"description: length", []part{{"payload_json", "", `{"attachments":[{"id":"0","description":"` + strings.Repeat("d", 1025) + `"}],` + embed + `}`}, file}},
		"another name":        {"no image of that name", []part{{"payload_json", "", `{"attachments":[{"id":"0","filename":"b.png"}],` + embed + `}`}, file}},
		"no image":            {"no image of that name", []part{{"payload_json", "", strings.ReplaceAll(`{`+embed+`}`, "a.png", "a.txt")}, {"files[0]", "a.txt", "PNG"}}},
		"pings":               {"allowed_mentions", []part{{"payload_json", "", `{"content":"x"}`}, file}},
	} {
		s := New()
		p, _ := s.create(used)
		s.respond(p, decoded(t, `{"type":5,"data":{`+quiet+`}}`), nil)
		status := upload(t, s, "PATCH", "/webhooks/"+s.ApplicationID+"/"+p.Token+"/messages/@original", test.parts...)
		if status != http.StatusBadRequest || !refusedFor(s, test.why) || len(p.Answer().Attachments) > 0 {
			t.Errorf("%s: status %d, problems %q", name, status, s.Problems())
		}
		s.Close()
	}
}

// Files that are not listed are added to those of the message; a list says
// which stay.
func TestFilesStayUnlessAListLeavesThemOut(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(used)
	payload := func(members string) part {
		return part{"payload_json", "", `{"type":4,"data":{` + members + `"content":"x",` + quiet + `}}`}
	}
	file := part{"files[0]", "a.png", "PNG"}
	described := `"attachments":[{"id":"0","description":"a curve"}],"embeds":[{"image":{"url":"attachment://a.png"}}],`
	if status := upload(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", payload(described), file); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	first := p.Answer().Attachments
	if len(first) != 1 || first[0].Name != "a.png" || first[0].Description != "a curve" || string(first[0].Bytes) != "PNG" || first[0].ID == "0" {
		t.Fatalf("%+v", first)
	}
	path := "/webhooks/" + s.ApplicationID + "/" + p.Token + "/messages/@original"
	for _, step := range []struct {
		what, attachments string
		parts             []part
		want              int
	}{
		{"no list", "", nil, 1},
		{"no list, a file", "", []part{file}, 2},
		{"the first one stays", `"attachments":[{"id":"` + first[0].ID + `"}],`, nil, 1},
		{"the new one alone", `"attachments":[{"id":"0"}],`, []part{file}, 1},
		{"none stays", `"attachments":[],"embeds":[],`, nil, 0},
	} {
		json := part{"payload_json", "", `{` + step.attachments + quiet + `}`}
		if status := upload(t, s, "PATCH", path, append([]part{json}, step.parts...)...); status != 200 {
			t.Errorf("%s: status %d: %q", step.what, status, s.Problems())
		}
		if now := p.Answer().Attachments; len(now) != step.want {
			t.Errorf("%s: %+v", step.what, now)
		}
	}
}

func TestACallThatFailedMayHaveLanded(t *testing.T) {
	s := New()
	defer s.Close()
	s.Script(Callback, Fault{Status: 502, Landed: true})
	p, _ := s.create(used)
	callback := "/interactions/" + p.ID + "/" + p.Token + "/callback"
	if status, _ := do(t, s, "POST", callback, "", shows(row(button("a")))); status != 502 || p.Answer().Content != "x" {
		t.Errorf("status %d, shown %+v", status, p.Answer())
	}
	if _, code := do(t, s, "POST", callback, "", shows(row(button("a")))); code != 40060 {
		t.Errorf("code %d", code)
	}
}
