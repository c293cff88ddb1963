package commands_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

func TestAPictureIsInTheLanguageOfItsAnswer(t *testing.T) {
	w := commandstest.Healthy()
	r := w.Router(t)
	r.Config.Language = chat.Russian
	for _, direct := range []bool{false, true} {
		r.Handle(t.Context(), chat.Request{
			Command: "price", Args: chat.Typed("7d"), From: chat.User{Platform: "telegram", ID: "1"}, Locale: "tr", Direct: direct,
		})
	}
	if want := []chat.Language{chat.Russian, chat.Turkish}; !slices.Equal(w.ChartedIn, want) {
		t.Errorf("drawn in %q, want %q", w.ChartedIn, want)
	}
}

func TestWithoutAPictureThePriceIsAnsweredInText(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*commandstest.World)
		note    string // "" is none
		picture bool
		partial bool
	}{
		"a picture":      {func(*commandstest.World) {}, "", true, false},
		"one with gaps":  {func(w *commandstest.World) { w.Chart.Seen = 0.5 }, "chart.sparse", true, false},
		"too few prices": {func(w *commandstest.World) { w.Chart = core.Chart{} }, "chart.none", false, false},
		"drawing failed": {func(w *commandstest.World) { w.ChartErr = errInner }, "chart.failed", false, true},
	} {
		w := commandstest.Healthy()
		test.change(w)
		command, _ := w.Router(t).Commands().Find("price")
		reply, err := command.Forms[1].Run(t.Context(), chat.Request{Args: chat.Named(map[string]string{"period": "7d"})})
		var partial *chat.PartialError
		if errors.As(err, &partial) != test.partial || (reply.Image != nil) != test.picture || len(reply.Sections[0].Fields) < 5 {
			t.Errorf("%s: %v, %s", name, err, texts(reply))
		}
		var note string
		for _, n := range reply.Notes {
			if strings.HasPrefix(n.Key, "chart.") {
				note = n.Key
			}
		}
		if note != test.note {
			t.Errorf("%s: the note is %q, want %q", name, note, test.note)
		}
	}
}
