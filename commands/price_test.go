package commands_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
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

func TestAPictureDoesNotClaimTheTimeBeforeItsFirstPrice(t *testing.T) {
	from := time.Date(2026, 10, 22, 9, 30, 0, 0, time.UTC)
	since := map[chat.Language]string{
		chat.English: "since 2026-11-14 09:30 UTC", chat.Spanish: "desde el 14/11/2026 09:30 UTC", chat.Chinese: "自2026年11月14日 09:30 UTC",
		chat.Russian: "с 14.11.2026 09:30 UTC", chat.Turkish: "14.11.2026 09:30 UTC", chat.Vietnamese: "từ 09:30 14/11/2026 UTC",
	}
	for _, l := range chat.Languages() {
		for known, whole := range map[time.Time]bool{from: true, from.Add(60 * time.Hour): true, from.Add(61 * time.Hour): false, from.Add(23 * 24 * time.Hour): false} {
			w := commandstest.Healthy()
			w.Chart.From, w.Chart.Since = from, known
			r := w.Router(t)
			r.Config.Language = l
			alt := words.Print(commandstest.Ask(t, r, "/price 30d")).Image.Alt
			if period := words.Say(l, chat.Say("price.30d")); strings.Contains(alt, period) != whole {
				t.Errorf("%s, known since %v: %q", l, known, alt)
			}
			if known.Sub(from) == 23*24*time.Hour && !strings.Contains(alt, since[l]) {
				t.Errorf("%q does not say %q", alt, since[l])
			}
		}
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
