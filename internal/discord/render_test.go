package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/words"
)

func TestEscapeShowsTextAsItIs(t *testing.T) {
	for in, want := range map[string]string{
		"98,765,432.1 TKN":               "98,765,432.1 TKN",
		"**bold** _it_ ~~s~~ ||spoil||":  `\*\*bold\*\* \_it\_ \~\~s\~\~ \|\|spoil\|\|`,
		"`code`":                         "\\`code\\`",
		"[a](https://evil.example)":      `\[a\](https\://evil.example)`,
		"https://evil.example":           `https\://evil.example`,
		"<@1> <@&2> <#3> </a:4> <id:g>":  `\<\@1\> \<\@&2\> \<#3\> \</a\:4\> \<id\:g\>`,
		"@everyone":                      `\@everyone`,
		"<t:1700000000:R>":               `\<t\:1700000000\:R\>`,
		"<a:wave:1>":                     `\<a\:wave\:1\>`,
		":smile:":                        `\:smile:`,
		"# big":                          `\# big`,
		"-# small":                       `\-# small`,
		"- list":                         `\- list`,
		"+ list":                         `\+ list`,
		"1. list":                        `1\. list`,
		"> quote":                        `\> quote`,
		`\*`:                             `\\\*`,
		"at 12:30:45 today":              "at 12:30:45 today",
		"Write: this":                    "Write: this",
		"0x52908400098527886E0F7030069D": "0x52908400098527886E0F7030069D",
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// embedOf is what is shown of a reply but its buttons.
func embedOf(reply chat.Reply) embed { return render(reply).Embeds[0] }

func TestRenderNeverCutsAnEscapeAndKeepsTheLimit(t *testing.T) {
	for n := range 300 {
		embed := embedOf(chat.Reply{Title: chat.Say(strings.Repeat("a", n%7) + strings.Repeat("*😀:", n)), Text: chat.Say(strings.Repeat("_b", 10*n))})
		checkLimits(t, embed)
		for _, shown := range []string{embed.Title, embed.Description} {
			if strings.HasSuffix(strings.TrimSuffix(shown, "…"), `\`) || !utf8.ValidString(shown) {
				t.Errorf("cut to %q", shown)
			}
		}
	}
	if got := embedOf(chat.Reply{Title: chat.Say(strings.Repeat("x", 200)), Text: chat.Say(strings.Repeat("y", 1000))}); len(got.Title) != 200 || len(got.Description) != 1000 {
		t.Error("what fits was cut")
	}
}

func TestRenderShowsEveryField(t *testing.T) {
	reply, markers := chattest.FullReply()
	message := render(reply)
	shown := message.Embeds[0].Title + message.Embeds[0].Description
	for _, row := range message.Components {
		for _, b := range row.Components {
			shown += b.Label
		}
	}
	for _, marker := range markers {
		if !strings.Contains(shown, marker) {
			t.Errorf("%s is not shown", marker)
		}
	}
}

func TestRenderColoursEachTone(t *testing.T) {
	seen := map[int]bool{}
	for _, tone := range []chat.Tone{chat.Neutral, chat.Positive, chat.Negative, chat.Warning} {
		colour := embedOf(chat.Reply{Tone: tone, Title: chat.Say("x")}).Color
		if colour == 0 || seen[colour] {
			t.Errorf("tone %d has no colour of its own", tone)
		}
		seen[colour] = true
	}
}

// Each value is shown in Discord's own way.
func TestRenderShowsEachValueAsDiscordDoes(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	at := time.Unix(1_700_000_000, 0)
	for name, test := range map[string]struct {
		value chat.Value
		want  string
	}{
		"a moment":                    {chat.Moment{Time: at}, "<t:1700000000:R>"},
		"code":                        {chat.Code("/staked <wallet>"), "`/staked <wallet>`"},
		"code with its own end":       {chat.Code("a`b``*c*"), "`aˋbˋˋ*c*`"},
		"foreign text":                {chat.Foreign("[a](https://evil.example) `x` <@5> @everyone"), `\[a\](https\://evil.example) \` + "`x\\`" + ` \<\@5\> \@everyone`},
		"an address with a link":      {chat.Address{Hex: wallet, URL: "https://scan.example/address/" + wallet}, "[0x5290…9EE7](https://scan.example/address/" + wallet + ")\n-# n: `" + wallet + "`"},
		"an address without one":      {chat.Address{Hex: wallet}, "0x5290…9EE7\n-# n: `" + wallet + "`"},
		"a link that would end early": {chat.Address{Hex: "x", URL: `https://scan.example/(a) b\`}, "[x](https://scan.example/%28a%29%20b%5C)\n-# n: `x`"},
		"a person here":               {chat.Mention{User: chat.User{Platform: Platform, ID: "42"}}, "<@42>"},
		"a person elsewhere":          {chat.Mention{User: chat.User{Platform: "telegram", ID: "42"}}, "42"},
		"a person of a forged ID":     {chat.Mention{User: chat.User{Platform: Platform, ID: "&42"}}, "&42"},
		"a channel":                   {chat.Channel{ID: "43", Title: "general"}, "<#43>"},
		"a channel of a forged ID":    {chat.Channel{ID: "4>3", Title: "<general>"}, `\<general\>`},
		"a short amount":              {chat.Amount{Decimal: decimal.RequireFromString("1.00001"), Symbol: "TKN"}, "1\u00a0TKN\n-# n: 1.00001\u00a0TKN"},
		"a sentence": {chat.SayWith("block.aged", chat.Values{"number": chat.Plain("7"), "age": chat.Moment{Time: at}}),
			"Block 7, <t:1700000000:R>"},
	} {
		got := embedOf(chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Name: chat.Plain("n"), Value: test.value}}}}}).Description
		if want := "**n:** " + test.want; got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}

// A title has neither links nor times.
func TestATitleIsTextAlone(t *testing.T) {
	title := chat.SayWith("block.aged", chat.Values{"number": chat.Address{Hex: "*", URL: "https://x.example"}, "age": chat.Moment{Time: time.Now().Add(-150 * time.Minute)}})
	if got := embedOf(chat.Reply{Title: title}).Title; got != `Block \*, 2 h ago` {
		t.Errorf("%q", got)
	}
}

// What is harmless in parts may not be when they stand together.
func TestPartsOfALineMakeNoMarkupTogether(t *testing.T) {
	for want, parts := range map[string][]string{`https\://evil.example`: {"https:", "//evil.example"}, `1\. list`: {"1", ". list"}, `\:smile:`: {"", ":", "smile:"}} {
		var l words.Line
		for n, p := range parts {
			l = append(l, words.Span{Text: p, Style: []words.Style{words.Plain, words.Foreign}[n%2]})
		}
		if got := line(l); got != want {
			t.Errorf("%q is shown as %q, want %q", parts, got, want)
		}
	}
}

func fields(n, size int) []chat.Field {
	list := make([]chat.Field, n)
	for i := range list {
		list[i] = chat.Field{Name: chat.Plain(fmt.Sprint("n", i)), Value: chat.Plain(strings.Repeat("v", size))}
	}
	return list
}

func TestRenderShortensTheLongestSection(t *testing.T) {
	embed := embedOf(chat.Reply{Title: chat.Say("t"), Sections: []chat.Section{
		{Heading: chat.Say("short"), Fields: fields(3, 10)},
		{Heading: chat.Say("long"), Fields: fields(100, 100)},
	}})
	checkLimits(t, embed)
	for _, want := range []string{"**short**", "**n2:** vvv", "**long**", "**n0:**"} {
		if !strings.Contains(embed.Description, want) {
			t.Errorf("%q is missing", want)
		}
	}
	var dropped int
	tail := embed.Description[strings.LastIndex(embed.Description, "…"):]
	if _, err := fmt.Sscanf(tail, "… and %d more", &dropped); err != nil {
		t.Fatalf("nothing is said of what was left out: %q", tail)
	}
	if shown := strings.Count(embed.Description, strings.Repeat("v", 100)); shown+dropped != 100 {
		t.Errorf("%d shown and %d dropped of 100", shown, dropped)
	}
}

func TestRenderKeepsTheLimitsWithManySections(t *testing.T) {
	sections := make([]chat.Section, 500)
	for i := range sections {
		sections[i] = chat.Section{Heading: chat.Say(strings.Repeat("h", 100)), Fields: fields(2, 50)}
	}
	embed := embedOf(chat.Reply{Title: chat.Say(strings.Repeat("*", 400)), Text: chat.Say(strings.Repeat("_", 5000)), Sections: sections,
		Notes: []chat.Text{chat.Say(strings.Repeat("n", 4000)), chat.Say("more")}})
	checkLimits(t, embed)
	if !strings.Contains(embed.Description, "more") {
		t.Error("nothing is said of what was left out")
	}
}

func TestRenderNeverMakesAnEmptyEmbed(t *testing.T) {
	for _, empty := range []chat.Reply{{}, {Title: chat.SayWith("block", nil), Text: chat.Say(" \n")}} {
		if e := embedOf(empty); e.Title+e.Description == "" {
			t.Error("an empty embed would be refused")
		}
	}
}

func TestNotesAreSmallPrintAtTheEnd(t *testing.T) {
	embed := embedOf(chat.Reply{Title: chat.Say("t"), Text: chat.Say("text"), Notes: []chat.Text{chat.Say("as of 12:30"), {}, chat.Say("-# *not* small")}})
	if want := "text\n-# as of 12:30\n-# \\-# \\*not\\* small"; embed.Description != want {
		t.Errorf("%q, want %q", embed.Description, want)
	}
}

// Only a note may begin a line as markup does.
func TestNoTextBeginsAsMarkup(t *testing.T) {
	for _, trick := range []string{"-# small", "# big", "> quote", "- list", "1. list", ">>> quote", "```code"} {
		embed := embedOf(chat.Reply{Text: chat.Say(trick), Sections: []chat.Section{
			{Heading: chat.Say(trick), Fields: []chat.Field{
				{Name: chat.Foreign(trick), Value: chat.Foreign(trick)}, {Value: chat.Plain(trick)}, {Name: chat.Plain(trick)},
			}},
		}})
		for line := range strings.SplitSeq(embed.Description, "\n") {
			if strings.HasPrefix(strings.TrimPrefix(line, "**"), trick[:1]) && trick[:1] != "1" || strings.Contains(line, "1. ") {
				t.Errorf("%q begins a line as %q", trick, line)
			}
		}
	}
}

func checkLimits(t *testing.T, e embed) {
	t.Helper()
	if title, description := len(utf16.Encode([]rune(e.Title))), len(utf16.Encode([]rune(e.Description))); title > 256 || description > 4096 {
		t.Errorf("too long: %d + %d", title, description)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("title", "text *x*", "name", "value", "note", 3, 40)
	f.Add(strings.Repeat("😀*", 300), strings.Repeat(":a:", 3000), "-", "1.", strings.Repeat("n", 3000), 60, 9)
	f.Fuzz(func(t *testing.T, title, text, name, value, note string, sections, size int) {
		section := chat.Section{Heading: chat.Say(name)}
		for range min(max(size, 0), 30) {
			section.Fields = append(section.Fields, chat.Field{Name: chat.Foreign(name), Value: chat.Foreign(value)},
				chat.Field{Name: chat.Plain(name), Value: chat.Code(value)}, chat.Field{Value: chat.Address{Hex: name, URL: value}})
		}
		reply := chat.Reply{Title: chat.Say(title), Text: chat.Say(text), Notes: []chat.Text{chat.Say(note), chat.Say(note)}}
		for range min(max(sections, 0), 30) {
			reply.Sections = append(reply.Sections, section)
		}
		embed := embedOf(reply)
		checkLimits(t, embed)
		if embed.Title+embed.Description == "" {
			t.Error("an empty embed")
		}
	})
}
