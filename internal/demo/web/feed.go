package web

import (
	"encoding/json"
	"slices"
	"sync"
)

// maxEvents bounds the events of a feed; the oldest are dropped.
const maxEvents = 500

// feed holds the newest events. It is safe for concurrent use.
type feed struct {
	mu      sync.Mutex
	events  []Event       // in the order in which pages show them
	last    int           // the number of the newest event; starts at 1, as 0 has a meaning in since
	changed chan struct{} // closed and replaced when an event is added
}

func newFeed() *feed { return &feed{last: 1, changed: make(chan struct{})} }

// add adds an event. A lasting event, or KindGone, takes the place of the lasting event with
// its Side and ID.
func (f *feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	e.number = f.last
	if i := f.index(e.Side, e.ID); i >= 0 && (e.lasts() || e.Kind == KindGone) {
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
	return e.Kind == KindMessage || e.Kind == KindThinking || e.Kind == KindAsked || e.Kind == KindJoin || e.Kind == KindBadges
}

// since returns the events after a number, or all lasting events after 0. last is the number
// of the newest event. changed is closed when the next event is added.
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

// index returns the index of the lasting event with an ID, or -1. The caller holds mu.
func (f *feed) index(side, id string) int {
	return slices.IndexFunc(f.events, func(e Event) bool { return e.lasts() && e.Side == side && e.ID == id })
}

// lookup returns the lasting event with an ID, or the zero Event.
func (f *feed) lookup(side, id string) Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.index(side, id); i >= 0 {
		return f.events[i]
	}
	return Event{}
}

// messageOf returns the message that an act presses or replies to, or the zero Event if
// a.As cannot see the message in a.Chat.
func (f *feed) messageOf(a Act) Event {
	e := f.lookup(a.Side, a.Message)
	if e.Chat != a.Chat || e.For != "" && e.For != a.As {
		return Event{}
	}
	return e
}

// picture returns the PNG that a message shows at an address, or nil.
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
