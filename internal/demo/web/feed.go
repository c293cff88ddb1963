package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
)

// maxEvents bounds the events of a feed. The one that was added first makes room.
const maxEvents = 500

// feed holds the events that were added last. It is safe for concurrent use.
type feed struct {
	mu      sync.Mutex
	events  []Event       // in the order in which pages show them
	last    int           // the number of the event added last; 1: there was none
	changed chan struct{} // closed and replaced when an event is added
}

func newFeed() *feed { return &feed{last: 1, changed: make(chan struct{})} }

// add adds an event at the end. An event that lasts, or KindGone, instead takes the place of the
// lasting event with its Side and ID, if there is one.
func (f *feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	e.number = f.last
	replaces := e.lasts() || e.Kind == KindGone
	if i := f.index(e.Side, e.ID); replaces && i >= 0 {
		f.events[i] = e
	} else {
		f.events = append(f.events, e)
	}
	if len(f.events) > maxEvents {
		f.dropOldest()
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// dropOldest deletes the event that was added first. It may stand behind one that took an
// earlier event's place. The caller holds mu.
func (f *feed) dropOldest() {
	oldest := slices.MinFunc(f.events, func(a, b Event) int { return cmp.Compare(a.number, b.number) })
	f.events = slices.DeleteFunc(f.events, func(e Event) bool { return e.number == oldest.number })
}

// lasts reports whether the event is repeated for pages that connect later.
func (e Event) lasts() bool {
	return slices.Contains([]string{KindMessage, KindThinking, KindAsked, KindJoin, KindBadges}, e.Kind)
}

// since returns the events that were added after the one with a number. After 0 it returns the
// lasting events, for a page that connects. last is the number of the event added last; it is
// never 0. changed is closed when the next event is added.
func (f *feed) since(number int) (events []Event, last int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	connects := number == 0
	for _, e := range f.events {
		if e.number > number && (e.lasts() || !connects) {
			events = append(events, e)
		}
	}
	return events, f.last, f.changed
}

// index returns the index in events of the lasting event with a Side and ID, or -1. The caller
// holds mu.
func (f *feed) index(side, id string) int {
	return slices.IndexFunc(f.events, func(e Event) bool { return e.lasts() && e.Side == side && e.ID == id })
}

// lookup returns the lasting event with a Side and ID, or the zero Event.
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
	visible := e.For == "" || e.For == a.As
	if e.Chat != a.Chat || !visible {
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
