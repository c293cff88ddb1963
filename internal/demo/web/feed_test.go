package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An event takes the place of the one with its ID on its own side alone, and the
// oldest make room.
func TestAnEventTakesItsPlace(t *testing.T) {
	f := newFeed()
	// want compares what a page is told after a number, and returns the newest number.
	want := func(number int, want ...string) (last int) {
		t.Helper()
		events, last, _ := f.since(number)
		var got []string
		for _, e := range events {
			got = append(got, strings.TrimSpace(e.Kind+" "+e.Side+" "+e.ID+" "+e.For))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		return last
	}
	for _, e := range []Event{
		{Kind: KindThinking, Side: Discord, ID: "1"}, {Kind: KindMessage, Side: Telegram, ID: "1"}, {Kind: KindTyping, Side: Telegram},
		{Kind: KindJoin, Side: Telegram, ID: "join"}, {Kind: KindMessage, Side: Discord, ID: "2"}, {Kind: KindMessage, Side: Discord, ID: "1", Chat: Group, For: "registered"},
	} {
		f.add(e)
	}
	here := want(0, "message discord 1 registered", "message telegram 1", "join telegram join", "message discord 2")
	for seen, want := range map[Act]string{{As: "registered", Chat: Group}: "1", {As: "moderator", Chat: Group}: "", {As: "registered", Chat: Private}: ""} {
		seen.Side, seen.Message = Discord, "1"
		if got := f.messageOf(seen).ID; got != want {
			t.Errorf("%s sees message %q in %s, want %q", seen.As, got, seen.Chat, want)
		}
	}
	f.add(Event{Kind: KindGone, Side: Discord, ID: "2"})
	f.add(Event{Kind: KindMenu})
	want(here, "gone discord 2", "menu")
	want(0, "message discord 1 registered", "message telegram 1", "join telegram join")
	_, _, changed := f.since(0)
	for i := range maxEvents {
		f.add(Event{Kind: KindMessage, Side: Discord, ID: fmt.Sprint("new ", i)})
	}
	<-changed
	if all, _, _ := f.since(0); len(all) != maxEvents || all[0].ID != "new 0" {
		t.Errorf("%d are left, the first %q", len(all), all[0].ID)
	}
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "new 0", For: "moderator"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "one more"})
	if all, _, _ := f.since(0); len(all) != maxEvents || all[0].For != "moderator" || all[1].ID != "new 2" {
		t.Errorf("%d are left after the first was replaced: %+v, %+v", len(all), all[0], all[1])
	}
}
