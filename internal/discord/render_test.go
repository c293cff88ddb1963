package discord

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
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
		if got := escape(in, 1000); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEscapeNeverCutsAnEscapeAndKeepsTheLimit(t *testing.T) {
	for limit := 1; limit < 40; limit++ {
		got := escape(strings.Repeat("*a😀", 20), limit)
		body := strings.TrimSuffix(got, "…")
		if units(got) > limit || !strings.HasSuffix(got, "…") || strings.HasSuffix(body, `\`) || !utf8.ValidString(got) {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
	if got := escape("abc", 3); got != "abc" {
		t.Errorf("what fits was cut: %q", got)
	}
}

func TestRenderShowsEveryField(t *testing.T) {
	reply, markers := chattest.FullReply()
	embed := render(reply)
	shown := embed.Title + embed.Description + embed.Footer.Text
	for _, marker := range markers {
		if !strings.Contains(shown, marker) {
			t.Errorf("%s is not shown", marker)
		}
	}
}

func TestRenderColoursEachTone(t *testing.T) {
	seen := map[int]bool{}
	for _, tone := range []chat.Tone{chat.Neutral, chat.Positive, chat.Negative, chat.Warning} {
		colour := render(chat.Reply{Tone: tone, Title: "x"}).Color
		if colour == 0 || seen[colour] {
			t.Errorf("tone %d has no colour of its own", tone)
		}
		seen[colour] = true
	}
}

func fields(n, size int) []chat.Field {
	list := make([]chat.Field, n)
	for i := range list {
		list[i] = chat.Field{Name: fmt.Sprint("n", i), Value: strings.Repeat("v", size)}
	}
	return list
}

func TestRenderShortensTheLongestSection(t *testing.T) {
	embed := render(chat.Reply{Title: "t", Sections: []chat.Section{
		{Heading: "short", Fields: fields(3, 10)},
		{Heading: "long", Fields: fields(100, 100)},
	}})
	checkLimits(t, embed.Title, embed.Description, "")
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
		sections[i] = chat.Section{Heading: strings.Repeat("h", 100), Fields: fields(2, 50)}
	}
	embed := render(chat.Reply{Title: strings.Repeat("*", 400), Text: strings.Repeat("_", 5000), Sections: sections,
		Notes: []string{strings.Repeat("n", 4000), "more"}})
	checkLimits(t, embed.Title, embed.Description, embed.Footer.Text)
	if !strings.Contains(embed.Description, "more") {
		t.Error("nothing is said of what was left out")
	}
}

func TestRenderNeverMakesAnEmptyEmbed(t *testing.T) {
	if render(chat.Reply{Text: " \n\x00"}).Title == "" {
		t.Error("an empty embed would be refused")
	}
}

func checkLimits(t *testing.T, title, description, footer string) {
	t.Helper()
	a, b, c := units(title), units(description), units(footer)
	if a > 256 || b > 4096 || c > 2048 || a+b+c > 6000 {
		t.Errorf("too long: %d + %d + %d", a, b, c)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("title", "text *x*", "name", "value", "note", 3, 40)
	f.Add(strings.Repeat("😀*", 300), strings.Repeat(":a:", 3000), "-", "1.", strings.Repeat("n", 3000), 60, 9)
	f.Fuzz(func(t *testing.T, title, text, name, value, note string, sections, size int) {
		section := chat.Section{Heading: name}
		for range min(max(size, 0), 200) {
			section.Fields = append(section.Fields, chat.Field{Name: name, Value: value})
		}
		reply := chat.Reply{Title: title, Text: text, Notes: []string{note, note}}
		for range min(max(sections, 0), 100) {
			reply.Sections = append(reply.Sections, section)
		}
		embed := render(reply)
		footer := ""
		if embed.Footer != nil {
			footer = embed.Footer.Text
		}
		checkLimits(t, embed.Title, embed.Description, footer)
		if embed.Title+embed.Description+footer == "" {
			t.Error("an empty embed")
		}
	})
}
