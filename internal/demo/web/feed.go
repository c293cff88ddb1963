package web

import (
	"encoding/json"
	"slices"
	"sync"
)

// maxEvents are kept for pages that come or come back; the oldest go.
const maxEvents = 500

// feed is what happened. Each page is told what it has not seen yet. Safe for
// concurrent use.
type feed struct {
	mu      sync.Mutex
	events  []Event // in the order in which they were first shown
	last    int     // the number of the newest event; above 0
	changed chan struct{}
}

func newFeed() *feed { return &feed{last: 1, changed: make(chan struct{})} }

// add tells an event. One that lasts, or KindGone, takes the place of the one with
// its ID.
func (f *feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	e.number = f.last
	if i := f.find(e.Side, e.ID); i >= 0 && (e.lasts() || e.Kind == KindGone) {
		f.events[i] = e
	} else {
		f.events = append(f.events, e)
	}
	f.events = f.events[max(0, len(f.events)-maxEvents):]
	close(f.changed)
	f.changed = make(chan struct{})
}

// lasts reports whether a page that comes later is told of the event.
func (e Event) lasts() bool {
	return e.Kind == KindMessage || e.Kind == KindThinking || e.Kind == KindAsked
}

// since returns the events after the one of a number, or with 0 all that last; the
// newest number; and a channel that is closed when there are more.
func (f *feed) since(number int) (events []Event, last int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.number > number && (number > 0 || e.lasts()) {
			events = append(events, e)
		}
	}
	return events, f.last, f.changed
}

// find returns where the message of an ID is, or -1. The caller holds mu.
func (f *feed) find(side, id string) int {
	return slices.IndexFunc(f.events, func(e Event) bool { return e.lasts() && e.Side == side && e.ID == id })
}

// message returns the message of an ID as it is now; it has no Kind if nobody wrote it.
func (f *feed) message(side, id string) Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(side, id); i >= 0 {
		return f.events[i]
	}
	return Event{}
}

// seen returns the message that an act is about: the one it presses, or replies to.
// It has no Kind if the asker does not see it there.
func (f *feed) seen(a Act) Event {
	e := f.message(a.Side, a.Message)
	if e.Chat != a.Chat || e.For != "" && e.For != a.As {
		return Event{}
	}
	return e
}

// picture returns the picture at an address, or nil.
func (f *feed) picture(address string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.picture != nil && e.address == address {
			return e.picture
		}
	}
	return nil
}

// encoded returns v as JSON; everything here can be encoded.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error())
	}
	return raw
}
