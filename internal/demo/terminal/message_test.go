package terminal

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/internal/demo/fake/telegram"
)

// now is the time at which the messages are printed.
var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestEntitiesArePrintedAsLooksAndLinks(t *testing.T) {
	entity := func(kind string, offset, length int) telegram.Entity {
		return telegram.Entity{Type: kind, Offset: offset, Length: length}
	}
	link := func(url string) telegram.Entity { return telegram.Entity{Type: "text_link", Length: 1, URL: url} }
	for name, tt := range map[string]struct {
		text   string
		entity telegram.Entity
		want   string
	}{
		"bold":               {"a b", entity("bold", 0, 1), "\x1b[0;1ma\x1b[0m b"},
		"after emoji":        {"😀 b", entity("italic", 3, 1), "😀 \x1b[0;2mb\x1b[0m"},
		"code":               {"/price", entity("code", 0, 6), "/price"},
		"a link":             {"a b", link("https://x.org/"), "a (https://x.org/) b"},
		"a link to a person": {"a", link("tg://user?id=1"), "a"},
		"a link to the bot":  {"a", link("https://t.me/x?start=1"), "a"},
		"a folded block":     {"a\nb\nc", entity("expandable_blockquote", 2, 1), "a\n  b\nc"},
		"past the end":       {"a", entity("bold", 5, 1), "a"},
	} {
		got := draw(wrap(body(tt.text, []telegram.Entity{tt.entity}, now), 80), withEscapes)
		if got != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, tt.want)
		}
	}
}

func TestTimesArePrintedAsAges(t *testing.T) {
	for want, age := range map[string]time.Duration{
		"just now":   0,
		"59 s ago":   59 * time.Second,
		"59 min ago": time.Hour - time.Second,
		"23 h ago":   24*time.Hour - time.Second,
		"1 day ago":  24 * time.Hour,
		"2 days ago": 50 * time.Hour,
		"12:34":      -time.Hour, // For a time in the future, the text of the entity is printed.
	} {
		at := telegram.Entity{
			Type:       "date_time",
			Length:     5,
			UnixTime:   now.Add(-age).Unix(),
			TimeFormat: "r",
		}
		if got := draw(wrap(body("12:34.", []telegram.Entity{at}, now), 80), withoutEscapes); got != want+"." {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestControlAndFormatCharactersAreOmitted(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31mred\x1b]0;t\a\u009b2J\u202e": "[31mred]0;t2J",
		"a.\u2060b@\u2060c":                   "a.b@c", // word joiners
	} {
		if got := draw(wrap(body(text, nil, now), 80), withEscapes); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestLinesAreWrappedBetweenWords(t *testing.T) {
	const width = 12
	for name, tt := range map[string]struct{ text, want string }{
		"a line that fits":       {"A  text of\n\ntwo lines", "A  text of\n\ntwo lines"},
		"a line that does not":   {"A text that is longer", "A text that\n  is longer"},
		"an indented line":       {"  than it is long", "  than it is\n    long"},
		"two spaces at a break":  {"one two 34  five", "one two 34\n  five"},
		"a longer word":          {"0x52908400098527886E (stakes)", "0x52908400098527886E\n  (stakes)"},
		"a command":              {"/staked\u00a00x529084 (stakes)", "/staked\n  0x529084\n  (stakes)"},
		"a short command":        {"/as\u00a0x (is) you", "/as x (is)\n  you"},
		"a dot begins a line":    {"[one] ·\u00a0[two]\u00a0https://x.org", "[one]\n  · [two]\n  https://x.org"},
		"a dot ends a line":      {"0x52908400098\u00a0·", "0x52908400098\n  ·"},
		"letters of two columns": {"✅ 代币代币 x", "✅ 代币代币\n  x"},
	} {
		if got := Wrap(tt.text, width); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// FuzzAMessageIsPlainText checks that any message is printed without empty lines and control characters.
func FuzzAMessageIsPlainText(f *testing.F) {
	f.Add("Title\ntext", "label", "https://example.org", 2, 3)
	f.Add("\x1b[2J\u2028", "\u2060\n", "\xff", 0, 1)
	f.Add("", "", "", -1, 1<<40)
	f.Fuzz(func(t *testing.T, text, label, link string, offset, length int) {
		entities := []telegram.Entity{
			{Type: "text_link", Offset: offset, Length: length, URL: link},
			{Type: "date_time", Offset: offset, Length: length, TimeFormat: "r", UnixTime: 1},
		}
		row := []telegram.Button{{Text: label, URL: link}, {Text: label, Data: text}}
		m := &telegram.Sent{
			Chat:     1,
			Text:     text,
			Entities: entities,
			Photo:    []byte(text),
			Markup:   telegram.Markup{Rows: [][]telegram.Button{row}},
		}
		got := draw(wrap(rendered(m, "only you see this", now), 40), withoutEscapes)
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
