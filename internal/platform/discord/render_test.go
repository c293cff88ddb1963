package discord

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/bwmarrin/discordgo"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
)

func TestEscapeShowsTextAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"**bold** _it_ ~~s~~ ||spoil||":  `\*\*bold\*\* \_it\_ \~\~s\~\~ \|\|spoil\|\|`,
		"[a](https://evil.example)":      `\[a\](https\://evil.example)`,
		"<@1> <@&2> <#3> </a:4> <id:g>":  `\<\@1\> \<\@&2\> \<#3\> \</a\:4\> \<id\:g\>`,
		`\*`:                             `\\\*`,
		"at 12:30:45 today":              "at 12:30:45 today",
		"0x52908400098527886E0F7030069D": "0x52908400098527886E0F7030069D",
	} {
		if got := escape(text); got != want {
			t.Errorf("escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// embedOf returns the embed of a reply.
func embedOf(reply *chat.Reply) embed { return render(reply, someIDs).Embeds[0] }

// someIDs returns the ID of the command "price", and "" for the others.
func someIDs(name string) string { return map[string]string{"price": "77"}[name] }

func TestEachKindOfValueHasItsMarkup(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	const (
		attack  = "[a](https://evil.example) `x` <@5> @everyone"
		escaped = `\[a\](https\://evil.example) \` + "`x\\`" + ` \<\@5\> \@everyone`
	)
	longURL := chat.Address{Hex: "x", URL: `https://scan.example/(a) b\`}
	person := func(id string) chat.Mention { return chat.Mention{User: chat.User{Platform: Platform, ID: id}} }
	for name, test := range map[string]struct {
		value chat.Value
		want  string
	}{
		"code":                        {chat.Code("/staked <wallet>"), "`/staked <wallet>`"},
		"code that would end early":   {chat.Code("a`b``*c*"), "`aˋbˋˋ*c*`"},
		"foreign text":                {chat.Untrusted(attack), escaped},
		"an address without a link":   {chat.Address{Hex: wallet}, "0x5290…9EE7"},
		"a link that would end early": {longURL, "[x](https://scan.example/%28a%29%20b%5C)"},
		"a command":                   {chat.CommandLink("/price"), "</price:77>"},
		"a command without an ID":     {chat.CommandLink("/supply"), "/supply"},
		"text like a command's link":  {chat.Untrusted("</price:> </price:78>"), `\</price\:\> \</price\:78\>`},
		"a person on Discord":         {person("42"), "<@42>"},
		"a person with a forged ID":   {person("&42"), "&42"},
	} {
		field := chat.Field{Name: chat.Plain("n"), Value: test.value}
		got := embedOf(&chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{field}}}}).Description
		want := "n  **" + test.want + "**"
		if strings.Contains(want, "`") {
			want = "n  " + test.want // Code is not bold.
		}
		if got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}

// Each reply replaces the one before, so an edit must also remove an embed.
func TestTheHeadlineIsTheContentAndTheRestAnEmbed(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		text := chat.Say("te*xt")
		p := h.ask(t, command("price"))
		full := &chat.Reply{
			Title:    chat.Say("HRLD $*2*"),
			Subtitle: chat.Plain("▼ 1_2_%"),
			Tone:     chat.Falling,
			Text:     text,
		}
		for _, tt := range []struct {
			reply   *chat.Reply
			content string
			embeds  int
		}{
			{full, `**HRLD $\*2\***  🔴 ▼ 1\_2\_%`, 1},
			{&chat.Reply{Title: chat.Say("Yours"), Tone: chat.Positive, Checked: start}, "✅ **Yours**", 1},
			{&chat.Reply{Title: chat.Say("Yours"), Notes: []chat.Text{text}}, "**Yours**", 1},
			{&chat.Reply{Text: text, Tone: chat.Warning}, `⚠️ te\*xt`, 0},
			{&chat.Reply{Title: chat.Say("Rising"), Image: &curve}, "**Rising**", 1},
			{&chat.Reply{Subtitle: chat.Plain("x"), Tone: chat.Warning}, "⚠️ x", 0},
			{&chat.Reply{}, "…", 0},
		} {
			h.replyAfter(0, tt.reply)
			h.ask(t, p.Press("5", priceAgain))
			m := p.Answer().Message
			equal(t, "content", m.Content, tt.content)
			equal(t, "embeds under "+tt.content, len(m.Embeds), tt.embeds)
			for _, e := range m.Embeds {
				equal(t, "title of the embed", e.Title, "")
				equal(t, "fields of the embed", len(e.Fields), 0)
			}
		}
	})
}

// Discord may refuse an embed that has only a time, so the time then stands in the text.
func TestTheTimeOfACheckIsNotLost(t *testing.T) {
	want := fmt.Sprintf("-# Checked <t:%d:R>", start.Unix())
	for name, reply := range map[string]*chat.Reply{
		"a title":      {Title: chat.Say("Yours")},
		"a picture":    {Image: &curve},
		"nothing else": {},
	} {
		reply.Checked = start
		got := render(reply, someIDs).withoutPicture()
		if len(got.Embeds) != 1 || got.Embeds[0].Description != want {
			t.Errorf("%s: got %+v, want the description %s", name, got, want)
		}
	}
}

// The text is too long for the content, so it is shown in the embed.
func TestALongTextKeepsItsSign(t *testing.T) {
	got := render(&chat.Reply{Tone: chat.Warning, Text: chat.Say(strings.Repeat("x", maxContent))}, someIDs)
	equal(t, "content", got.Content, "")
	if len(got.Embeds) != 1 || !strings.HasPrefix(got.Embeds[0].Description, "⚠️ x") {
		t.Errorf("got %+v, want the text and its sign in the embed", got)
	}
}

func TestAMessageWithoutItsPictureIsNotEmpty(t *testing.T) {
	got := render(&chat.Reply{Image: &curve}, someIDs).withoutPicture()
	equal(t, "content", got.Content, "…")
	equal(t, "embeds", len(got.Embeds), 0)
}

// A headline has no links, and a time in it is written in words.
func TestATitleIsPlainText(t *testing.T) {
	address := chat.Address{Hex: "*", URL: "https://x.example"}
	moment := chat.Moment{Time: time.Now().Add(-150 * time.Minute)}
	title := chat.SayWith("checked", chat.Values{"when": chat.Parts{address, moment}})
	got := render(&chat.Reply{Title: title}, someIDs).Content
	equal(t, "content", got, "**Checked \\* ·\u00a02 h ago**")
}

// Spans that are harmless by themselves may form markup together.
func TestSpansDoNotFormMarkupTogether(t *testing.T) {
	for want, parts := range map[string][]string{
		`https\://evil.example`: {"https:", "//evil.example"},
		`1\. list`:              {"1", ". list"},
		`\:smile:`:              {"", ":", "smile:"},
	} {
		var l words.Line
		for n, p := range parts {
			l = append(l, words.Span{Text: p, Style: []words.Style{words.Plain, words.Untrusted}[n%2]})
		}
		r := renderer{commandID: someIDs}
		if got := r.line(l); got != want {
			t.Errorf("%q is shown as %q, want %q", parts, got, want)
		}
	}
}

// Only notes and exact values begin a line with markup, the small print's.
func TestNoTextBeginsAsMarkup(t *testing.T) {
	for _, trick := range []string{"-# small", "# big", "> quote", "- list", "1. list", ">>> quote", "```code"} {
		section := chat.Section{
			Heading: chat.Say(trick),
			Fields: []chat.Field{
				{Name: chat.Untrusted(trick), Value: chat.Untrusted(trick)},
				{Value: chat.Plain(trick)},
				{Name: chat.Plain(trick)},
			},
		}
		embed := embedOf(&chat.Reply{Text: chat.Say(trick), Sections: []chat.Section{section}})
		for line := range strings.SplitSeq(embed.Description, "\n") {
			isNumberedList := strings.Contains(line, "1. ")
			mark := trick[:1]
			isOtherMarkup := mark != "1" && strings.HasPrefix(strings.TrimPrefix(line, "**"), mark)
			if isNumberedList || isOtherMarkup {
				t.Errorf("%q begins the line %q", trick, line)
			}
		}
	}
}

// FuzzRender checks that any reply becomes a message that Discord accepts: it is not empty, and within the limits. It
// also checks that no text ends with half an escape.
func FuzzRender(f *testing.F) {
	f.Add("", "", "", "", "", 0, 0)
	f.Add("title", "text *x*", "name", "value", "note", 3, 40)
	f.Add(strings.Repeat("😀*", 300), strings.Repeat(":a:", 3000), "-", "1.", strings.Repeat("n", 3000), 60, 9)
	f.Fuzz(func(t *testing.T, title, text, name, value, note string, sections, size int) {
		section := chat.Section{Heading: chat.Say(name)}
		for range min(max(size, 0), 30) {
			section.Fields = append(section.Fields,
				chat.Field{Name: chat.Untrusted(name), Value: chat.Untrusted(value)},
				chat.Field{Name: chat.Plain(name), Value: chat.Code(value)},
				chat.Field{Value: chat.Address{Hex: name, URL: value}},
			)
		}
		reply := &chat.Reply{
			Title:    chat.Say(title),
			Subtitle: chat.Untrusted(value),
			Text:     chat.Say(text),
			Notes:    []chat.Text{chat.Say(note), chat.Say(note)},
		}
		for range min(max(sections, 0), 30) {
			reply.Sections = append(reply.Sections, section)
		}
		m := render(reply, someIDs)
		if m.Content == "" && len(m.Embeds) == 0 {
			t.Error("an empty message")
		}
		checkShown(t, m.Content, 2000)
		for _, embed := range m.Embeds {
			if embed.Description == "" {
				t.Error("an empty embed")
			}
			checkShown(t, embed.Description, 4096)
		}
	})
}

// checkShown checks that a text has at most limit UTF-16 units, and does not end with half an escape.
func checkShown(t *testing.T, text string, limit int) {
	t.Helper()
	if n := len(utf16.Encode([]rune(text))); n > limit {
		t.Errorf("%d units: %q", n, text)
	}
	uncut := strings.TrimSuffix(strings.TrimSuffix(text, "**"), "…")
	backslashes := len(uncut) - len(strings.TrimRight(uncut, `\`))
	if backslashes%2 != 0 {
		t.Errorf("half an escape: %q", text)
	}
}

// Buttons that Discord does not accept are left out, cut or put into another row. The fake refuses them as Discord
// does.
func TestButtonsAreChangedToWhatDiscordAccepts(t *testing.T) {
	many := []chat.Action{
		{Label: chat.Say("Copy wallet"), Copy: "0x1"},
		{Label: chat.Say("Explorer"), URL: "https://explorer.example/address/0x1"},
		{Label: chat.Say("Far"), URL: "https://explorer.example/" + strings.Repeat("x", 500)},
		{Label: chat.Say("Refresh"), Command: "price", Edit: true},
		{Label: chat.Say("The same"), Command: "price", Edit: true},
		{Label: chat.Say(""), Command: "supply"},
		{Label: chat.Say("Too long a state"), Command: "staked", Args: []string{strings.Repeat("x", 64)}},
		{Label: chat.Say("Empty argument"), Command: "staked", Args: []string{""}},
		{Label: chat.Say(strings.Repeat("😀", 50)), Command: "help"},
	}
	for n := range 40 {
		page := fmt.Sprint(n)
		action := chat.Action{Label: chat.Say("Page " + page), Command: "mylogins", Args: []string{page}}
		many = append(many, action)
	}
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.replyAfter(0, &chat.Reply{Title: chat.Say("x"), Actions: many})
		var labels []string
		for _, row := range h.ask(t, command("price")).Answer().Buttons {
			for _, b := range row {
				labels = append(labels, b.Label)
			}
		}
		if len(labels) != maxRows*maxInRow {
			t.Fatalf("%d buttons: %q", len(labels), labels)
		}
		equal(t, "the first", labels[0], "Explorer")
		equal(t, "the second", labels[1], "Refresh")
		equal(t, "a long one is cut", strings.HasSuffix(labels[2], "😀…"), true)
		equal(t, "the fourth", labels[3], "Page 0")
	})
}

func TestALongCaptionIsCut(t *testing.T) {
	long := chat.Say(strings.Repeat("ä", 3000))
	picture := &chat.Image{Name: "x.png", PNG: []byte("x"), Caption: long}
	m := render(&chat.Reply{Title: chat.Say("x"), Image: picture}, someIDs)
	if n := words.Units(m.Attachments[0].Description); n != maxAlt {
		t.Errorf("the alternative text has %d units, want %d", n, maxAlt)
	}
}

var update = flag.Bool("update", false, "write the golden transcripts")

// TestTranscripts compares the answers of every command with golden files.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		return transcript(render(c.Reply, someIDs), c.Private || c.Reply.ForSender())
	})
}

func TestPreviewsTellTheAnswer(t *testing.T) {
	commandstest.Previews(t, *update, func(c commandstest.Case) string {
		m := render(c.Reply, someIDs)
		for _, embed := range m.Embeds {
			m.Content += "\n" + embed.Description
		}
		return m.Content
	})
}

// transcript prints everything in a message, and the effect of each button.
func transcript(m *message, private bool) string {
	var b strings.Builder
	if private {
		b.WriteString("(ephemeral)\n")
	}
	b.WriteString(m.Content)
	for _, embed := range m.Embeds {
		fmt.Fprintf(&b, "\n#%06x %s", embed.Color, embed.Description)
		if embed.Footer != nil || embed.Timestamp != "" {
			footer := cmp.Or(embed.Footer, &discordgo.MessageEmbedFooter{})
			fmt.Fprintf(&b, "\n(%s %s)", footer.Text, embed.Timestamp)
		}
	}
	for _, picture := range m.Attachments {
		fmt.Fprintf(&b, "\n%s: %s", picture.Filename, picture.Description)
	}
	for _, row := range m.Components {
		b.WriteString("\n")
		for _, button := range row.Components {
			fmt.Fprintf(&b, "[%s](%s%s) ", button.Label, button.CustomID, button.URL)
		}
	}
	return strings.TrimSpace(b.String())
}

// Discord shows all links in one color, even the link of a next step.
func TestTheNextStepAndTheCurrentChoiceAreColored(t *testing.T) {
	m := render(&chat.Reply{
		Title: chat.Say("x"),
		Actions: []chat.Action{
			{Label: chat.Say("7d"), Command: "price", Args: []string{"7d"}, Current: true},
			{Label: chat.Say("30d"), Command: "price"},
			{Label: chat.Say("register"), URL: "https://register.example", NextStep: true},
		},
	}, someIDs)
	tryAgain := render(&chat.Reply{Title: chat.Say("x"), Actions: []chat.Action{chat.TryAgain("price")}}, someIDs)
	got := map[string]discordgo.ButtonStyle{}
	for _, b := range append(m.Components[0].Components, tryAgain.Components[0].Components...) {
		got[b.Label] = b.Style
	}
	want := map[string]discordgo.ButtonStyle{
		"· 7d ·":    discordgo.PrimaryButton,
		"30d":       discordgo.SecondaryButton,
		"register":  discordgo.LinkButton,
		"Try again": discordgo.SuccessButton,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
