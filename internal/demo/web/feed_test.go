package web

import (
	"fmt"
	"strings"
	"testing"
)

// printed returns the events that a page gets after a number, and the newest number.
func (f *feed) printed(after int) (events string, last int) {
	all, last, _ := f.since(after)
	var lines []string
	for _, e := range all {
		lines = append(lines, strings.TrimSpace(e.Kind+" "+e.Side+" "+e.ID+" "+e.For))
	}
	return strings.Join(lines, ", "), last
}

func checkEvents(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// newAnswered returns a feed with one message on Telegram and two on Discord. The first on Discord is for one person.
func newAnswered() *feed {
	f := newFeed()
	f.add(Event{Kind: KindThinking, Side: Discord, ID: "1"})
	f.add(Event{Kind: KindMessage, Side: Telegram, ID: "1"})
	f.add(Event{Kind: KindTyping, Side: Telegram})
	f.add(Event{Kind: KindJoin, Side: Telegram, ID: "join"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "2"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "1", Chat: Group, For: "registered"})
	return f
}

func TestAnEventReplacesTheOneWithItsIDOnItsSide(t *testing.T) {
	got, _ := newAnswered().printed(0)
	checkEvents(t, got, "message discord 1 registered, message telegram 1, join telegram join, message discord 2")
}

func TestADeletedMessageIsNotRepeated(t *testing.T) {
	f := newAnswered()
	_, before := f.printed(0)
	f.add(Event{Kind: KindGone, Side: Discord, ID: "2"})
	f.add(Event{Kind: KindMenu})
	got, _ := f.printed(before)
	checkEvents(t, got, "gone discord 2, menu")
	got, _ = f.printed(0)
	checkEvents(t, got, "message discord 1 registered, message telegram 1, join telegram join")
}

func TestAMessageForOnePersonIsFoundInItsChat(t *testing.T) {
	f := newAnswered()
	for _, tt := range []struct {
		as, chat string
		want     string // the message's ID
	}{
		{"registered", Group, "1"},
		{"moderator", Group, ""},
		{"registered", Private, ""},
	} {
		act := Act{Side: Discord, Message: "1", As: tt.as, Chat: tt.chat}
		if got := f.messageOf(act).ID; got != tt.want {
			t.Errorf("%s sees message %q in %s, want %q", tt.as, got, tt.chat, tt.want)
		}
	}
}

// fill adds the most events that a feed keeps.
func (f *feed) fill() {
	for i := range maxEvents {
		f.add(Event{Kind: KindMessage, Side: Discord, ID: fmt.Sprint("new ", i)})
	}
}

func TestTheOldestEventsMakeRoom(t *testing.T) {
	f := newAnswered()
	_, _, changed := f.since(0)
	f.fill()
	<-changed
	if all, _, _ := f.since(0); len(all) != maxEvents || all[0].ID != "new 0" {
		t.Errorf("%d are left, the first %q", len(all), all[0].ID)
	}
}

// A replaced event keeps its place on the page, but counts as new.
func TestAReplacedEventStaysLongerThanOlderOnes(t *testing.T) {
	f := newFeed()
	f.fill()
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "new 0", For: "moderator"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "one more"})
	all, _, _ := f.since(0)
	if len(all) != maxEvents || all[0].For != "moderator" || all[1].ID != "new 2" {
		t.Errorf("%d are left: %+v, %+v", len(all), all[0], all[1])
	}
}
