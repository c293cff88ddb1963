package web

import (
	"encoding/json"
	"slices"
	"sync"
)

// maxEvents bounds the events kept for pages that connect later; the oldest are dropped.
const maxEvents = 500

// feed holds the newest events. Safe for concurrent use.
type feed struct {
	mu      sync.Mutex
	events  []Event       // in the order in which they were first shown
	last    int           // the number of the newest event; above 0
	changed chan struct{} // closed and replaced when an event is added
}

func newFeed() *feed { return &feed{last: 1, changed: make(chan struct{})} }

// add adds an event. A lasting event, or KindGone, replaces the one with its ID.
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

// lasts reports whether pages that connect later get the event.
func (e Event) lasts() bool {
	return e.Kind == KindMessage || e.Kind == KindThinking || e.Kind == KindAsked
}

// since returns the events with higher numbers, or all lasting ones if number is 0; the
// newest number; and a channel that is closed when there are more events.
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

// find returns the index of the lasting event with an ID, or -1. The caller holds mu.
func (f *feed) find(side, id string) int {
	return slices.IndexFunc(f.events, func(e Event) bool { return e.lasts() && e.Side == side && e.ID == id })
}

// message returns the newest event with an ID. Its Kind is empty if there is none.
func (f *feed) message(side, id string) Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(side, id); i >= 0 {
		return f.events[i]
	}
	return Event{}
}

// seen returns the message that an act presses or replies to. Its Kind is empty if the
// asker cannot see the message there.
func (f *feed) seen(a Act) Event {
	e := f.message(a.Side, a.Message)
	if e.Chat != a.Chat || e.For != "" && e.For != a.As {
		return Event{}
	}
	return e
}

// picture returns the PNG at an address, or nil.
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

// encoded returns v as JSON. It panics if v cannot be encoded.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error())
	}
	return raw
}
