package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told is what a page is told after a number.
func told(f *feed, number int) (all []string, last int) {
	events, last, _ := f.since(number)
	for _, e := range events {
		all = append(all, strings.TrimSpace(e.Kind+" "+e.Side+" "+e.ID+" "+e.For))
	}
	return all, last
}

// An event takes the place of the one with its ID on its own side alone, and the
// oldest make room.
func TestAnEventTakesItsPlace(t *testing.T) {
	f := newFeed()
	want := func(number int, want ...string) (last int) {
		t.Helper()
		got, last := told(f, number)
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		return last
	}
	for _, e := range []Event{
		{Kind: KindThinking, Side: Discord, ID: "1"}, {Kind: KindMessage, Side: Telegram, ID: "1"}, {Kind: KindTyping, Side: Telegram},
		{Kind: KindMessage, Side: Discord, ID: "2"}, {Kind: KindMessage, Side: Discord, ID: "1", Chat: Group, For: "member"},
	} {
		f.add(e)
	}
	here := want(0, "message discord 1 member", "message telegram 1", "message discord 2")
	seenBy := func(asker string) Event { return f.seen(Act{Side: Discord, Chat: Group, As: asker, Message: "1"}) }
	if seenBy("moderator").ID != "" || seenBy("member").Kind != KindMessage {
		t.Error("what one alone sees is seen by another")
	}
	f.add(Event{Kind: KindGone, Side: Discord, ID: "2"})
	f.add(Event{Kind: KindMenu})
	want(here, "gone discord 2", "menu")
	want(0, "message discord 1 member", "message telegram 1")
	_, _, changed := f.since(0)
	for i := range maxEvents {
		f.add(Event{Kind: KindMessage, Side: Discord, ID: fmt.Sprint("new ", i)})
	}
	<-changed
	if all, _ := told(f, 0); len(all) != maxEvents || all[0] != "message discord new 0" {
		t.Errorf("%d are left, the first %q", len(all), all[0])
	}
}
