package terminal

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/internal/demo/fake/telegram"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestEntitiesAreShownAsTheyCanBe(t *testing.T) {
	at := func(d time.Duration) telegram.Entity {
		return telegram.Entity{Type: "date_time", Length: 4, UnixTime: now.Add(-d).Unix(), TimeFormat: "r"}
	}
	for name, tt := range map[string]struct {
		text     string
		entities []telegram.Entity
		want     string
	}{
		"bold":                     {"a b", []telegram.Entity{{Type: "bold", Length: 1}}, "\x1b[0;1ma\x1b[0m b"},
		"small print, after emoji": {"😀 b", []telegram.Entity{{Type: "italic", Offset: 3, Length: 1}}, "😀 \x1b[0;2mb\x1b[0m"},
		"code":                     {"/price", []telegram.Entity{{Type: "code", Length: 6}}, "/price"},
		"a link":                   {"a b", []telegram.Entity{{Type: "text_link", Length: 1, URL: "https://x.org/"}}, "a (https://x.org/) b"},
		"a link to a person":       {"a", []telegram.Entity{{Type: "text_link", Length: 1, URL: "tg://user?id=1"}}, "a"},
		"a link to the bot":        {"a", []telegram.Entity{{Type: "text_link", Length: 1, URL: "https://t.me/x?start=1"}}, "a"},
		"a folded block":           {"a\nb\nc", []telegram.Entity{{Type: "expandable_blockquote", Offset: 2, Length: 1}}, "a\n  b\nc"},
		"a moment ago":             {"time.", []telegram.Entity{at(0)}, "just now."},
		"seconds ago":              {"time.", []telegram.Entity{at(59 * time.Second)}, "59 s ago."},
		"minutes ago":              {"time.", []telegram.Entity{at(time.Hour - time.Second)}, "59 min ago."},
		"a day ago":                {"time.", []telegram.Entity{at(24 * time.Hour)}, "1 day ago."},
		"days ago":                 {"time.", []telegram.Entity{at(50 * time.Hour)}, "2 days ago."},
		"a time to come":           {"time.", []telegram.Entity{at(-time.Hour)}, "time."},
		"escape sequences":         {"\x1b[31mred\x1b]0;t\a\u009b2J\u202e", nil, "[31mred]0;t2J"},
		"word joiners":             {"a.\u2060b@\u2060c", nil, "a.b@c"},
	} {
		if got := draw(wrap(body(tt.text, tt.entities, now), 80), true); got != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, tt.want)
		}
	}
}

func TestLinesAreWrappedBetweenWords(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want string
	}{
		"a line that fits":       {"A  text of\n\ntwo lines", "A  text of\n\ntwo lines"},
		"a line that does not":   {"A text that is longer", "A text that\n  is longer"},
		"an indented line":       {"  than it is long", "  than it is\n    long"},
		"two spaces at a break":  {"one two 34  five", "one two 34\n  five"},
		"a longer word":          {"0x52908400098527886E (stakes)", "0x52908400098527886E\n  (stakes)"},
		"a command":              {"/staked\u00a00x529084 (stakes)", "/staked\n  0x529084\n  (stakes)"},
		"a short command":        {"/as\u00a0x (is) you", "/as x (is)\n  you"},
		"a dot begins a line":    {"[one] ·\u00a0[two]\u00a0https://x.org", "[one]\n  · [two]\n  https://x.org"},
		"letters of two columns": {"✅ 代币代币 x", "✅ 代币代币\n  x"},
	} {
		if got := Wrap(tt.text, 12); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func FuzzAMessageIsPlainText(f *testing.F) {
	f.Add("Title\ntext", "label", "https://example.org", 2, 3)
	f.Add("\x1b[2J\u2028", "\u2060\n", "\xff", 0, 1)
	f.Add("", "", "", -1, 1<<40)
	f.Fuzz(func(t *testing.T, text, label, link string, offset, length int) {
		entities := []telegram.Entity{
			{Type: "text_link", Offset: offset, Length: length, URL: link},
			{Type: "date_time", Offset: offset, Length: length, TimeFormat: "r", UnixTime: 1},
		}
		m := &telegram.Sent{Chat: 1, Text: text, Entities: entities, Photo: []byte(text), Markup: telegram.Markup{
			Rows: [][]telegram.Button{{{Text: label, URL: link}, {Text: label, Data: text}}},
		}}
		got := draw(wrap(rendered(m, "only you see this", now), 40), false)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		for line := range strings.Lines(got + "\n") {
			if strings.TrimSuffix(line, "\n") == "" {
				t.Errorf("an empty line in %q", got)
			}
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl); i >= 0 {
				t.Errorf("a control character in %q", line)
			}
		}
	})
}
