package app

import (
	"testing"

	"herald/internal/chat"
)

// A note waits for its own user, whoever has hours pass, and is shown once.
func TestANoteIsShownToItsUserOnce(t *testing.T) {
	g := &group{notes: map[string]chat.Reply{}}
	g.Notify(t.Context(), "1", chat.Reply{About: "older"})
	g.Notify(t.Context(), "1", chat.Reply{About: "newer"})
	g.Notify(t.Context(), "2", chat.Reply{About: "another"})
	for i, want := range []string{"newer", ""} {
		if note, ok := g.takeNote("1"); note.About != want || ok != (want != "") {
			t.Errorf("take %d: %+v, %t, want %q", i, note, ok, want)
		}
	}
	if note, ok := g.takeNote("2"); note.About != "another" || !ok {
		t.Errorf("another's note: %+v, %t", note, ok)
	}
}
