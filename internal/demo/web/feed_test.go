package web

import (
	"fmt"
	"slices"
	"testing"
)

// An event takes the place of the one with its ID on its own side alone, and the
// oldest make room.
func TestAnEventTakesItsPlace(t *testing.T) {
	f := &feed{readers: map[chan Event]bool{}}
	for _, e := range []Event{
		{Kind: KindThinking, Side: Discord, ID: "1"}, {Kind: KindMessage, Side: Telegram, ID: "1"},
		{Kind: KindMessage, Side: Discord, ID: "2"}, {Kind: KindMessage, Side: Discord, ID: "1", Chat: Group, For: "member"},
	} {
		f.put(e)
	}
	shown, _, done := f.read()
	defer done()
	var got []string
	for _, e := range shown {
		got = append(got, e.Kind+" "+e.Side+" "+e.ID+" "+e.For)
	}
	if want := []string{"message discord 1 member", "message telegram 1 ", "message discord 2 "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	seenBy := func(asker string) Event { return f.seen(Act{Side: Discord, Chat: Group, As: asker, Message: "1"}) }
	if seenBy("moderator").ID != "" || seenBy("member").Kind != KindMessage {
		t.Error("what one alone sees is seen by another")
	}
	if f.reveal(Discord, "1"); seenBy("moderator").ID != "1" {
		t.Error("what was shown to all is not seen by all")
	}
	for i := range maxShown {
		f.put(Event{Kind: KindMessage, Side: Discord, ID: fmt.Sprint("new ", i)})
	}
	f.drop(Discord, "new 0")
	shown, next, doneToo := f.read()
	defer doneToo()
	if len(shown) != maxShown-1 || shown[0].ID != "new 1" {
		t.Errorf("%d are left, the first %+v", len(shown), shown[0])
	}
	if f.reset(); len(f.shown) != 0 || (<-next).Kind != KindReset || (<-next).Kind != KindLive {
		t.Errorf("a reset leaves %+v", f.shown)
	}
	for range maxBehind + 1 {
		f.pass(Event{Kind: KindMenu})
	}
	if len(f.readers) != 0 {
		t.Error("a reader who does not read is not cut off")
	}
}
