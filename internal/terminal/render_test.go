package terminal

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
)

func TestRenderShowsEveryPart(t *testing.T) {
	reply, markers := chattest.FullReply()
	text := render(reply, false)
	for _, marker := range markers {
		if !strings.Contains(text, marker) {
			t.Errorf("%s is missing in\n%s", marker, text)
		}
	}
}

func TestRender(t *testing.T) {
	for name, tt := range map[string]struct {
		reply   chat.Reply
		private bool
		want    string
	}{
		"nothing": {chat.Reply{}, false, "(nothing to say)"},
		"all parts": {chat.Reply{
			Tone: chat.Positive, Title: "Staked", Text: "This wallet stakes.",
			Sections: []chat.Section{
				{Heading: "Pools", Fields: []chat.Field{{Name: "Pool 03", Value: "1"}, {Name: "Big", Value: "22"}}},
				{Fields: []chat.Field{{Name: "Total", Value: "23"}}},
			},
			Notes: []string{"Block 7", "Simulated"},
		}, false, "[+] Staked\nThis wallet stakes.\nPools\n  Pool 03  1\n  Big      22\n  Total  23\nBlock 7\nSimulated"},
		"private":    {chat.Reply{Tone: chat.Negative, Title: "Not registered"}, true, "(only you see this)\n[-] Not registered"},
		"text alone": {chat.Reply{Tone: chat.Warning, Text: "Could not be checked."}, false, "[!] Could not be checked."},
		"half fields": {chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Value: "value"}, {Name: "name"}, {}}}}}, false,
			"  value\n  name"},
		"wide names": {chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Name: "代币", Value: "1"}, {Name: "abcd", Value: "2"}, {Name: "e\u0301", Value: "3"}}}}}, false,
			"  代币  1\n  abcd  2\n  e\u0301     3"},
		"a long name": {chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Name: strings.Repeat("n", 30), Value: "1"}, {Name: "a", Value: "2"}}}}}, false,
			"  " + strings.Repeat("n", 30) + "  1\n  a  2"},
		"escape sequences": {chat.Reply{Title: "\x1b[31mred\x1b]0;title\a\u009b2J", Notes: []string{"a\r\n\nb\u202ec"}}, false, "[31mred]0;title2J\na bc"},
		"word joiners":     {chat.Reply{Title: "a.\u2060b@\u2060c", Text: "\u2060"}, false, "a.b@c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := render(tt.reply, tt.private); got != tt.want {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

func FuzzRenderIsPlainText(f *testing.F) {
	f.Add("Title", "text", "heading", "name", "value", "note", true)
	f.Add("\x1b[2J", "\u2028", "\u2060", "\xff", "\u0085", "\n\n", false)
	f.Fuzz(func(t *testing.T, title, text, heading, name, value, note string, private bool) {
		got := render(chat.Reply{Title: title, Text: text, Notes: []string{note},
			Sections: []chat.Section{{Heading: heading, Fields: []chat.Field{{Name: name, Value: value}, {Name: value}}}}}, private)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		for line := range strings.Lines(got + "\n") {
			if strings.TrimSpace(line) == "" {
				t.Errorf("an empty line in %q", got)
			}
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl); i >= 0 {
				t.Errorf("a control character in %q", line)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"", "/price", "/as moderator", "/PRICE@herald x", "/\xff\x00", "//", "hello", "/@", "\u2003/as"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		command, words := parse(line)
		if strings.ContainsAny(command, "@ \n") {
			t.Errorf("command %q", command)
		}
		for _, word := range append([]string{command}, words...) {
			if !utf8.ValidString(word) {
				t.Errorf("%q is not UTF-8", word)
			}
		}
	})
}

func FuzzAdapterAnswersEveryLine(f *testing.F) {
	f.Add("/price\r\n\n/as nobody\nhello\n/mylogins")
	f.Add("\x00\n\xff\n/\n")
	f.Fuzz(func(t *testing.T, in string) {
		var out strings.Builder
		a := New(Config{In: strings.NewReader(in), Out: &out, Askers: []Asker{{Name: "ann"}}})
		if err := a.Run(t.Context(), &chattest.Handler{}); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(in) {
			if command, words := parse(line); command != "" || len(words) > 0 {
				lines++
			}
		}
		if got := strings.Count(out.String(), "\n\n"); got != lines || strings.Contains(out.String(), "\n\n\n") {
			t.Errorf("%d answers to %d lines: %q", got, lines, out.String())
		}
	})
}
