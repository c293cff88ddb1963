package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"herald/internal/chat"
	"herald/internal/words"
)

func TestEscapeShowsTextAsItIs(t *testing.T) {
	for in, want := range map[string]string{
		"**bold** _it_ ~~s~~ ||spoil||":  `\*\*bold\*\* \_it\_ \~\~s\~\~ \|\|spoil\|\|`,
		"[a](https://evil.example)":      `\[a\](https\://evil.example)`,
		"<@1> <@&2> <#3> </a:4> <id:g>":  `\<\@1\> \<\@&2\> \<#3\> \</a\:4\> \<id\:g\>`,
		`\*`:                             `\\\*`,
		"at 12:30:45 today":              "at 12:30:45 today",
		"0x52908400098527886E0F7030069D": "0x52908400098527886E0F7030069D",
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// embedOf is what is shown of a reply but its buttons.
func embedOf(reply chat.Reply) embed { return render(reply, someIDs).Embeds[0] }

// someIDs has the ID of one command.
func someIDs(name string) string { return map[string]string{"price": "77"}[name] }

// Each value is shown in Discord's own way.
func TestRenderShowsEachValueAsDiscordDoes(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	for name, test := range map[string]struct {
		value chat.Value
		want  string
	}{
		"code":                        {chat.Code("/staked <wallet>"), "`/staked <wallet>`"},
		"code with its own end":       {chat.Code("a`b``*c*"), "`aˋbˋˋ*c*`"},
		"foreign text":                {chat.Untrusted("[a](https://evil.example) `x` <@5> @everyone"), `\[a\](https\://evil.example) \` + "`x\\`" + ` \<\@5\> \@everyone`},
		"an address without one":      {chat.Address{Hex: wallet}, "0x5290…9EE7"},
		"a link that would end early": {chat.Address{Hex: "x", URL: `https://scan.example/(a) b\`}, "[x](https://scan.example/%28a%29%20b%5C)"},
		"a command":                   {chat.CommandLink("/price"), "</price:77>"},
		"a command without an ID":     {chat.CommandLink("/supply"), "/supply"},
		"text like a command's link":  {chat.Untrusted("</price:> </price:78>"), `\</price\:\> \</price\:78\>`},
		"a person here":               {chat.Mention{User: chat.User{Platform: Platform, ID: "42"}}, "<@42>"},
		"a person of a forged ID":     {chat.Mention{User: chat.User{Platform: Platform, ID: "&42"}}, "&42"},
	} {
		got := embedOf(chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Name: chat.Plain("n"), Value: test.value}}}}}).Description
		want := "n  **" + test.want + "**"
		if strings.Contains(want, "`") {
			want = "n  " + test.want // Code is not bold.
		}
		if got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}

// A title has neither links nor times.
func TestATitleIsTextAlone(t *testing.T) {
	title := chat.SayWith("checked", chat.Values{"when": chat.Parts{chat.Address{Hex: "*", URL: "https://x.example"}, chat.Moment{Time: time.Now().Add(-150 * time.Minute)}}})
	if got := embedOf(chat.Reply{Title: title}).Title; got != `Checked \* · 2 h ago` {
		t.Errorf("%q", got)
	}
}

// What is harmless in parts may not be when they stand together.
func TestPartsOfALineMakeNoMarkupTogether(t *testing.T) {
	for want, parts := range map[string][]string{`https\://evil.example`: {"https:", "//evil.example"}, `1\. list`: {"1", ". list"}, `\:smile:`: {"", ":", "smile:"}} {
		var l words.Line
		for n, p := range parts {
			l = append(l, words.Span{Text: p, Style: []words.Style{words.Plain, words.Untrusted}[n%2]})
		}
		if got := line(l); got != want {
			t.Errorf("%q is shown as %q, want %q", parts, got, want)
		}
	}
}

// Only a note may begin a line as markup does.
func TestNoTextBeginsAsMarkup(t *testing.T) {
	for _, trick := range []string{"-# small", "# big", "> quote", "- list", "1. list", ">>> quote", "```code"} {
		embed := embedOf(chat.Reply{Text: chat.Say(trick), Sections: []chat.Section{
			{Heading: chat.Say(trick), Fields: []chat.Field{
				{Name: chat.Untrusted(trick), Value: chat.Untrusted(trick)}, {Value: chat.Plain(trick)}, {Name: chat.Plain(trick)},
			}},
		}})
		for line := range strings.SplitSeq(embed.Description, "\n") {
			if strings.HasPrefix(strings.TrimPrefix(line, "**"), trick[:1]) && trick[:1] != "1" || strings.Contains(line, "1. ") {
				t.Errorf("%q begins a line as %q", trick, line)
			}
		}
	}
}

// FuzzRender demands of any reply what Discord takes: an embed that is not empty,
// within its limits, and no escape without what it escapes.
func FuzzRender(f *testing.F) {
	f.Add("", "", "", "", "", 0, 0)
	f.Add("title", "text *x*", "name", "value", "note", 3, 40)
	f.Add(strings.Repeat("😀*", 300), strings.Repeat(":a:", 3000), "-", "1.", strings.Repeat("n", 3000), 60, 9)
	f.Fuzz(func(t *testing.T, title, text, name, value, note string, sections, size int) {
		section := chat.Section{Heading: chat.Say(name)}
		for range min(max(size, 0), 30) {
			section.Fields = append(section.Fields, chat.Field{Name: chat.Untrusted(name), Value: chat.Untrusted(value)},
				chat.Field{Name: chat.Plain(name), Value: chat.Code(value)}, chat.Field{Value: chat.Address{Hex: name, URL: value}})
		}
		reply := chat.Reply{Title: chat.Say(title), Text: chat.Say(text), Notes: []chat.Text{chat.Say(note), chat.Say(note)}}
		for range min(max(sections, 0), 30) {
			reply.Sections = append(reply.Sections, section)
		}
		embed := embedOf(reply)
		if embed.Title+embed.Description == "" {
			t.Error("an empty embed")
		}
		for shown, limit := range map[string]int{embed.Title: 256, embed.Description: 4096} {
			uncut := strings.TrimSuffix(shown, "…")
			if len(utf16.Encode([]rune(shown))) > limit || (len(uncut)-len(strings.TrimRight(uncut, `\`)))%2 != 0 {
				t.Errorf("%q", shown)
			}
		}
	})
}

// What Discord takes is what the fake takes.
func TestAnyButtonsAreShownAsDiscordTakesThem(t *testing.T) {
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
		many = append(many, chat.Action{Label: chat.Say(fmt.Sprint("Page ", n)), Command: "mylogins", Args: []string{fmt.Sprint(n)}})
	}
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		h.reply(0, chat.Reply{Title: chat.Say("x"), Actions: many})
		var labels []string
		for _, row := range h.ask(t, command("price")).Answer().Buttons {
			for _, b := range row {
				labels = append(labels, b.Label)
			}
		}
		if len(labels) != 25 || labels[0] != "Explorer" || labels[1] != "Refresh" || !strings.HasSuffix(labels[2], "😀…") || labels[3] != "Page 0" {
			t.Errorf("%q", labels)
		}
	})
}

func TestLongTextsAreCutToWhatDiscordTakes(t *testing.T) {
	long := chat.Say(strings.Repeat("ä", 3000))
	m := render(chat.Reply{Title: chat.Say("x"), Image: &chat.Image{Name: "x.png", PNG: []byte("x"), Alt: long}}, someIDs)
	if n := words.Units(m.Attachments[0].Description); n != maxAlt {
		t.Errorf("an alternative text of %d units", n)
	}
}
