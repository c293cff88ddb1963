package discord

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

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
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRenderNeverCutsAnEscapeAndKeepsTheLimit(t *testing.T) {
	for n := range 300 {
		embed := render(chat.Reply{Title: strings.Repeat("a", n%7) + strings.Repeat("*😀:", n), Text: strings.Repeat("_b", 10*n)})
		checkLimits(t, embed)
		for _, shown := range []string{embed.Title, embed.Description} {
			if strings.HasSuffix(strings.TrimSuffix(shown, "…"), `\`) || !utf8.ValidString(shown) {
				t.Errorf("cut to %q", shown)
			}
		}
	}
	if got := render(chat.Reply{Title: strings.Repeat("x", 200), Text: strings.Repeat("y", 1000)}); len(got.Title) != 200 || len(got.Description) != 1000 {
		t.Error("what fits was cut")
	}
}

func TestRenderShowsEveryField(t *testing.T) {
	reply, markers := chattest.FullReply()
	embed := render(reply)
	shown := embed.Title + embed.Description
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
		sections[i] = chat.Section{Heading: strings.Repeat("h", 100), Fields: fields(2, 50)}
	}
	embed := render(chat.Reply{Title: strings.Repeat("*", 400), Text: strings.Repeat("_", 5000), Sections: sections,
		Notes: []string{strings.Repeat("n", 4000), "more"}})
	checkLimits(t, embed)
	if !strings.Contains(embed.Description, "more") {
		t.Error("nothing is said of what was left out")
	}
}

func TestRenderNeverMakesAnEmptyEmbed(t *testing.T) {
	if render(chat.Reply{Text: " \n\x00"}).Title == "" {
		t.Error("an empty embed would be refused")
	}
}

func TestNotesAreSmallPrintAtTheEnd(t *testing.T) {
	embed := render(chat.Reply{Title: "t", Text: "text", Notes: []string{"as of 12:30", "", "-# *not* small"}})
	if want := "text\n-# as of 12:30\n-# \\-# \\*not\\* small"; embed.Description != want || embed.Footer != nil {
		t.Errorf("%q, want %q", embed.Description, want)
	}
}

// Only a note may begin a line as markup does.
func TestNoTextBeginsAsMarkup(t *testing.T) {
	for _, trick := range []string{"-# small", "# big", "> quote", "- list", "1. list", ">>> quote", "```code"} {
		embed := render(chat.Reply{Text: trick, Sections: []chat.Section{
			{Heading: trick, Fields: []chat.Field{{Name: trick, Value: trick}, {Value: trick}, {Name: trick}}},
		}})
		for line := range strings.SplitSeq(embed.Description, "\n") {
			if strings.HasPrefix(strings.TrimPrefix(line, "**"), trick[:1]) && trick[:1] != "1" || strings.Contains(line, "1. ") {
				t.Errorf("%q begins a line as %q", trick, line)
			}
		}
	}
}

func checkLimits(t *testing.T, embed *discordgo.MessageEmbed) {
	t.Helper()
	if title, description := len(utf16.Encode([]rune(embed.Title))), len(utf16.Encode([]rune(embed.Description))); title > 256 || description > 4096 {
		t.Errorf("too long: %d + %d", title, description)
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
		for _, s := range []string{title, text, name, value, note} {
			if s = strings.ToValidUTF8(s, ""); escapedUnits(s) != len(utf16.Encode([]rune(escape(s)))) {
				t.Errorf("%q is measured as %d, and escaped as %q", s, escapedUnits(s), escape(s))
			}
		}
		embed := render(reply)
		checkLimits(t, embed)
		if embed.Title+embed.Description == "" {
			t.Error("an empty embed")
		}
	})
}
