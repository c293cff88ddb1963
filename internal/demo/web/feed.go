package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
)

// maxEvents is the maximum number of events in a feed. When it has more, it discards the event that was added or
// replaced longest ago.
const maxEvents = 500

// feed has the latest events. It numbers them as they are added. It is safe for concurrent use.
type feed struct {
	mu      sync.Mutex
	events  []Event       // in the order on the page
	latest  int           // the highest number
	changed chan struct{} // closed and replaced when an event is added
}

// nothingSeen is the number that since gets for a page that has not seen any events.
const nothingSeen = 0

// newFeed returns an empty feed. latest begins above nothingSeen, so that since does not return that for an empty feed
// either.
func newFeed() *feed { return &feed{latest: nothingSeen + 1, changed: make(chan struct{})} }

// add adds an event. A lasting event, or KindGone, replaces the lasting event with its Side and ID, if there is
// one. All other events are added at the end.
func (f *feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest++
	e.number = f.latest
	replaced := -1
	if e.lasts() || e.Kind == KindGone {
		replaced = f.index(e.Side, e.ID)
	}
	if replaced >= 0 {
		f.events[replaced] = e
	} else {
		f.events = append(f.events, e)
	}
	if len(f.events) > maxEvents {
		f.dropOldest()
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// dropOldest discards the event that was added first. That need not be the first of events, because later events
// replace earlier ones. The caller must hold mu.
func (f *feed) dropOldest() {
	oldest := slices.MinFunc(f.events, func(a, b Event) int { return cmp.Compare(a.number, b.number) })
	f.events = slices.DeleteFunc(f.events, func(e Event) bool { return e.number == oldest.number })
}

// lasts reports whether the event is lasting: the feed repeats it for pages that connect later.
func (e Event) lasts() bool {
	return slices.Contains([]string{KindMessage, KindThinking, KindAsked, KindJoin, KindBadges}, e.Kind)
}

// since returns the events after the event with this number, or all lasting events if number is nothingSeen. latest
// is the number for the next call. changed is closed when the next event is added. since does not look at For: the page
// shows an event only to that person.
func (f *feed) since(number int) (events []Event, latest int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		isNew := e.number > number && number != nothingSeen
		isRepeated := e.lasts() && number == nothingSeen
		if isNew || isRepeated {
			events = append(events, e)
		}
	}
	return events, f.latest, f.changed
}

// index returns the index in events of the lasting event with this Side and ID, or -1. The caller must hold mu.
func (f *feed) index(side, id string) int {
	return slices.IndexFunc(f.events, func(e Event) bool { return e.lasts() && e.Side == side && e.ID == id })
}

// lookup returns the lasting event with this Side and ID, or the zero Event.
func (f *feed) lookup(side, id string) Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.index(side, id); i >= 0 {
		return f.events[i]
	}
	return Event{}
}

// messageOf returns the message that an Act presses or replies to. It returns the zero Event if the message is not
// in the chat of the Act, or if the person cannot see it.
func (f *feed) messageOf(a Act) Event {
	e := f.lookup(a.Side, a.Message)
	isVisible := e.For == "" || e.For == a.As
	if e.Chat != a.Chat || !isVisible {
		return Event{}
	}
	return e
}

// picture returns the PNG file with this address, or nil.
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
