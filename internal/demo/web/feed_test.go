package web

import (
	"fmt"
	"strings"
	"testing"
)

// summary returns the events since a number as text, and the latest number. An event is its kind, side, ID and For:
// "message discord 1 registered".
func (f *feed) summary(number int) (events string, latest int) {
	all, latest, _ := f.since(number)
	var texts []string
	for _, e := range all {
		texts = append(texts, strings.TrimSpace(e.Kind+" "+e.Side+" "+e.ID+" "+e.For))
	}
	return strings.Join(texts, ", "), latest
}

func checkEvents(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// newFilledFeed returns a feed with one message on Telegram and two on Discord. Message 1 on Discord is for one person.
func newFilledFeed() *feed {
	f := newFeed()
	f.add(Event{Kind: KindThinking, Side: Discord, ID: "1"})
	f.add(Event{Kind: KindMessage, Side: Telegram, ID: "1"})
	f.add(Event{Kind: KindTyping, Side: Telegram})
	f.add(Event{Kind: KindJoin, Side: Telegram, ID: "join"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "2"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "1", Chat: Group, For: "registered"})
	return f
}

func TestAnEventReplacesTheEventWithItsSideAndID(t *testing.T) {
	got, _ := newFilledFeed().summary(nothingSeen)
	checkEvents(t, got, "message discord 1 registered, message telegram 1, join telegram join, message discord 2")
}

func TestADeletedMessageIsNotRepeated(t *testing.T) {
	f := newFilledFeed()
	_, before := f.summary(nothingSeen)
	f.add(Event{Kind: KindGone, Side: Discord, ID: "2"})
	f.add(Event{Kind: KindMenu})
	got, _ := f.summary(before)
	checkEvents(t, got, "gone discord 2, menu")
	got, _ = f.summary(nothingSeen)
	checkEvents(t, got, "message discord 1 registered, message telegram 1, join telegram join")
}

func TestOnlyTheReaderFindsAMessageInItsChat(t *testing.T) {
	f := newFilledFeed()
	for _, tt := range []struct {
		as, chat string
		want     string // the ID of the message that messageOf finds, or ""
	}{
		{as: "registered", chat: Group, want: "1"},
		{as: "moderator", chat: Group, want: ""},
		{as: "registered", chat: Private, want: ""},
	} {
		act := Act{Side: Discord, Message: "1", As: tt.as, Chat: tt.chat}
		if got := f.messageOf(act).ID; got != tt.want {
			t.Errorf("%s finds message %q in %s, want %q", tt.as, got, tt.chat, tt.want)
		}
	}
}

// fill adds as many events as a feed can have.
func (f *feed) fill() {
	for i := range maxEvents {
		f.add(Event{Kind: KindMessage, Side: Discord, ID: fmt.Sprint("new ", i)})
	}
}

func TestAFullFeedDiscardsTheOldestEvents(t *testing.T) {
	f := newFilledFeed()
	_, _, changed := f.since(nothingSeen)
	f.fill()
	<-changed // since reports the new events.
	if all, _, _ := f.since(nothingSeen); len(all) != maxEvents || all[0].ID != "new 0" {
		t.Errorf("%d events are left, the first %q", len(all), all[0].ID)
	}
}

// The new state of a message has the place of the old one, but counts as a new event.
func TestAChangedMessageIsNotTheOldestEvent(t *testing.T) {
	f := newFeed()
	f.fill()
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "new 0", For: "moderator"})
	f.add(Event{Kind: KindMessage, Side: Discord, ID: "another"})
	all, _, _ := f.since(nothingSeen)
	if len(all) != maxEvents || all[0].For != "moderator" || all[1].ID != "new 2" {
		t.Errorf("%d events are left: %+v, %+v", len(all), all[0], all[1])
	}
}
