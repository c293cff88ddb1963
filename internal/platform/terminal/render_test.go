package terminal

import (
	"flag"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as the terminal shows it.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string { return render(words.Print(c.Reply), c.Private, style{width: 80}) })
}

func TestRender(t *testing.T) {
	for name, tt := range map[string]struct {
		reply *chat.Reply
		want  string
	}{
		"escape sequences": {&chat.Reply{Title: chat.Say("\x1b[31mred\x1b]0;title\a\u009b2J"), Notes: []chat.Text{chat.Say("a\r\n\nb\u202ec")}},
			"[31mred]0;title2J\na bc"},
		"word joiners": {&chat.Reply{Title: chat.Say("a.\u2060b@\u2060c"), Text: chat.Say("\u2060"), Sections: []chat.Section{{Fields: []chat.Field{{Name: chat.Plain("\u2060"), Value: chat.Plain("a")}}}}},
			"a.b@c\n  a"},
	} {
		if got := render(words.Print(tt.reply), false, style{width: 80}); strings.ReplaceAll(got, "\u00a0", " ") != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, tt.want)
		}
	}
}

func TestTonesHaveColoursAtATerminal(t *testing.T) {
	notes := []chat.Text{chat.Say("\x1b]0;a\a")}
	for want, tt := range map[string]struct {
		reply   *chat.Reply
		private bool
	}{
		"\x1b[32m[+] [31mred0m \x1b[2m(simulated)\x1b[0m\x1b[0m\n\x1b[2m]0;a\x1b[0m": {
			&chat.Reply{Tone: chat.Positive, Title: chat.Say("\x1b[31mred\u009b0m"), Notes: notes}, false},
		"\x1b[2m(only you see this)\x1b[0m\nNo \x1b[2m(simulated)\x1b[0m": {
			&chat.Reply{Tone: chat.Negative, Title: chat.Say("No")}, true},
	} {
		got := render(words.Print(tt.reply), tt.private, style{mark: chat.Say("terminal.simulated"), colour: true, width: 80})
		if got != want {
			t.Errorf("got\n%q, want\n%q", got, want)
		}
	}
}

func FuzzRenderIsPlainText(f *testing.F) {
	f.Add("Title", "text", "heading", "name", "value", "note", true)
	f.Add("\x1b[2J", "\u2028", "\u2060", "\xff", "\u0085", "\n\n", false)
	f.Fuzz(func(t *testing.T, title, text, heading, name, value, note string, private bool) {
		got := render(words.Print(&chat.Reply{Title: chat.Say(title), Text: chat.Say(text), Notes: []chat.Text{chat.Say(note)},
			Sections: []chat.Section{{Heading: chat.Say(heading), Fields: []chat.Field{
				{Name: chat.Plain(name), Value: chat.Untrusted(value)}, {Name: chat.Code(value)}, {Value: chat.Amount{Symbol: value}},
				{Name: chat.Say(name), Value: chat.Address{Hex: value, URL: name}}}}},
			Image:   &chat.Image{Caption: chat.Say(note)},
			Actions: []chat.Action{{Label: chat.Say(title), URL: value}, {Label: chat.Say(title), Command: name, Args: []string{value}}},
		}), private, style{mark: chat.Say(note)})
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

func TestWordsWrapAndValuesStandInAColumn(t *testing.T) {
	field := func(name, value string) chat.Field { return chat.Field{Name: chat.Say(name), Value: chat.Say(value)} }
	reply := &chat.Reply{
		Title: chat.Say("A title that is long breaks between words"),
		Text:  chat.Say("One two three four five six"),
		Sections: []chat.Section{
			{Heading: chat.Say("Pools"), Fields: []chat.Field{field("a", "short"), field("a name", "one two three four five"), field("", "no name, so it has no column")}},
			{Fields: []chat.Field{field("b", "in its own section")}},
			{Row: true, Fields: []chat.Field{field("1h", "down 1"), field("24h", "up 2"), field("7d", "up 3"), field("a pool", "with a long name")}},
		},
		Actions: []chat.Action{{Label: chat.Say("More"), Command: "price", Args: []string{"7d"}}, {Label: chat.Say("Less"), Command: "price"},
			{Label: chat.Say("30D"), Command: "price", Args: []string{"30d"}}, {Label: chat.Say("All"), Command: "price", Current: true}, {Label: chat.Say("Refresh"), Command: "price", Refresh: true}},
		Notes: []chat.Text{chat.Say("0x0123456789abcdef0123456789abcdef is long")},
	}
	want := `A title that is long
breaks between words
(simulated)
One two three four
five six
Pools
  a       short
  a name  one two
          three four
          five
  no name, so it has
    no column
  b       in its own
          section
  1h down 1
    · 24h up 2
    · 7d up 3 · a
    pool with a long
    name
0x0123456789abcdef0123456789abcdef
is long
[More] /price 7d
· [Less] /price
· /price 30d`
	if got := render(words.Print(reply), false, style{width: 20, mark: chat.Say("terminal.simulated")}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A command stays whole, so that it can be copied.
func TestAButtonBreaksAfterItsLabel(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	reply := &chat.Reply{Title: chat.Say("Not staked"), Actions: []chat.Action{
		{Label: chat.Say("Check again"), Command: "staked", Args: []string{wallet}},
		{Label: chat.Say("Buy"), URL: "https://stake.example.org/pools"},
		{Label: chat.Say("Sign up"), URL: "https://passport.example.org/register/here"},
		{Label: chat.Say("7d chart"), Command: "price", Args: []string{"7d"}},
	}}
	const want = `Not staked
[Check again]
/staked ` + wallet + `
· [Buy] https://stake.example.org/pools
· [Sign up]
https://passport.example.org/register/here
· [7d chart] /price 7d`
	for width, want := range map[int]string{
		41: want,
		70: strings.NewReplacer("again]\n", "again] ", "Sign up]\n", "Sign up] ").Replace(want),
	} {
		if got := render(words.Print(reply), false, style{width: width}); got != want {
			t.Errorf("at %d columns: got\n%s\nwant\n%s", width, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	const text = "A text that is longer\n  than a line\n\n  /staked\u00a00x52908400098527886E (stakes)\nend\n"
	const want = "A text that\n  is longer\n  than a line\n\n  /staked 0x52908400098527886E\n    (stakes)\nend\n"
	if got := Wrap(text, 13); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Wrap(text, 80); got != strings.ReplaceAll(text, "\u00a0", " ") {
		t.Errorf("got\n%s", got)
	}
}

func TestSparkline(t *testing.T) {
	for want, values := range map[string][]float64{
		"":         nil,
		"▁▂▃▄▅▆▇█": {0, 1, 2, 3, 4, 5, 6, 7},
		"█▁▁":      {1e12, 1e-18, 2e-18},
		"▅▅":       {0.5, 0.5},
		" ▁█ ":     {math.NaN(), 1, 2, math.NaN()},
	} {
		if got := sparkline(values); got != want {
			t.Errorf("%v: got %q, want %q", values, got, want)
		}
	}
}
