package web

import (
	"fmt"
	"slices"
	"testing"
)

// An event takes the place of the one with its ID on its own side alone, and the
// oldest of a side make room.
func TestAnEventTakesItsPlace(t *testing.T) {
	f := &feed{readers: map[chan Event]bool{}}
	for _, e := range []Event{
		{Kind: KindThinking, Side: Discord, ID: "1"}, {Kind: KindMessage, Side: Telegram, ID: "1"},
		{Kind: KindMessage, Side: Discord, ID: "2"}, {Kind: KindMessage, Side: Discord, ID: "1", Chat: Group, For: "member"},
	} {
		f.put(e, nil)
	}
	so, _, done := f.read()
	defer done()
	var got []string
	for _, e := range so {
		got = append(got, e.Kind+" "+e.Side+" "+e.ID+" "+e.For)
	}
	if want := []string{"message discord 1 member", "message telegram 1 ", "message discord 2 "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if f.seen(Discord, "1", Group, "moderator").ID != "" || f.seen(Discord, "1", Group, "member").Kind != KindMessage {
		t.Error("what one alone sees is seen by another")
	}
	if f.reveal(Discord, "1"); f.seen(Discord, "1", Group, "moderator").ID != "1" {
		t.Error("what was shown to all is not seen by all")
	}
	for i := range maxShown {
		f.put(Event{Kind: KindMessage, Side: Discord, ID: fmt.Sprint("new ", i)}, nil)
	}
	f.drop(Discord, "new 0")
	so, next, doneToo := f.read()
	defer doneToo()
	if len(so) != maxShown || so[0].Side != Telegram || so[1].ID != "new 1" {
		t.Errorf("%d are left, the first %+v, %+v", len(so), so[0], so[1])
	}
	if f.reset(); len(f.shown) != 0 || (<-next).Kind != KindReset || (<-next).Kind != KindLive {
		t.Errorf("a reset leaves %+v", f.shown)
	}
}
