package terminal

import (
	"math"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/words"
)

func TestWordsWrapAndValuesStandInAColumn(t *testing.T) {
	field := func(name, value string) chat.Field { return chat.Field{Name: chat.Say(name), Value: chat.Say(value)} }
	reply := chat.Reply{
		Title: chat.Say("A title is never broken anywhere"),
		Text:  chat.Say("One two three four five six"),
		Sections: []chat.Section{
			{Heading: chat.Say("Pools"), Fields: []chat.Field{field("a", "short"), field("a name", "one two three four five"), field("", "no name, so it has no column")}},
			{Fields: []chat.Field{field("b", "in its own section")}},
			{Layout: chat.Row, Fields: []chat.Field{field("1h", "down 1"), field("24h", "up 2"), field("7d", "up 3")}},
		},
		Actions: []chat.Action{{Label: chat.Say("More"), Command: "price", Args: []string{"7d"}}, {Label: chat.Say("Less"), Command: "price"}},
		Notes:   []chat.Text{chat.Say("0x0123456789abcdef0123456789abcdef is long")},
	}
	want := `A title is never broken anywhere
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
  1h down 1 · 24h up
    2 · 7d up 3
[More] /price 7d ·
[Less] /price
0x0123456789abcdef0123456789abcdef
is long`
	if got := render(words.Print(reply), false, style{width: 20}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
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
	card := words.Print(chat.Reply{Title: chat.Say("HRLD"), Image: &chat.Image{Alt: chat.Say("Price of HRLD"), Spark: []float64{2, 1}}})
	if got, want := strings.Split(render(card, false, style{width: 80}), "\n")[1], "█▁"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
