package web

import (
	"encoding/json"
	"slices"
	"sync"
)

// Bounds on what is kept for the page.
const (
	// maxShown messages are kept of each side; the oldest go.
	maxShown = 200
	// maxBehind events may wait for a reader, who is cut off at one more and comes
	// again.
	maxBehind = 1024
)

// shown is an event that still holds, with the pictures that it shows, by their
// addresses.
type shown struct {
	Event
	pictures map[string][]byte
}

// feed is what is shown, and who is told of it.
type feed struct {
	mu      sync.Mutex
	shown   []shown // in the order in which they were first shown
	readers map[chan Event]bool
}

// put shows an event in the place of the one with its ID, or as the newest.
func (f *feed) put(e Event, pictures map[string][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(e.Side, e.ID)
	if i >= 0 {
		f.shown[i] = shown{e, pictures}
	} else {
		f.shown = append(f.shown, shown{e, pictures})
	}
	f.tell(e)
	f.trim(e.Side)
}

// trim takes the oldest of a side away if there are too many. The caller holds mu.
func (f *feed) trim(side string) {
	of := func(s shown) bool { return s.Side == side }
	n := 0
	for _, s := range f.shown {
		if of(s) {
			n++
		}
	}
	if n > maxShown {
		f.remove(slices.IndexFunc(f.shown, of))
	}
}

// remove takes what is at i away. The caller holds mu.
func (f *feed) remove(i int) {
	gone := f.shown[i].Event
	f.shown = slices.Delete(f.shown, i, i+1)
	f.tell(Event{Kind: KindGone, Side: gone.Side, Chat: gone.Chat, For: gone.For, ID: gone.ID})
}

// drop takes the message of an ID away, if it is there.
func (f *feed) drop(side, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(side, id); i >= 0 {
		f.remove(i)
	}
}

// pass tells an event that is not kept.
func (f *feed) pass(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(e)
}

// reset takes everything away.
func (f *feed) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown = nil
	f.tell(Event{Kind: KindReset})
	f.tell(Event{Kind: KindLive})
}

// reveal lets everybody in the chat see what one alone saw so far.
func (f *feed) reveal(side, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(side, id); i >= 0 && f.shown[i].For != "" && f.shown[i].Chat == Group {
		f.shown[i].For = ""
		f.tell(f.shown[i].Event)
	}
}

// find is where the message of an ID is, or -1. The caller holds mu.
func (f *feed) find(side, id string) int {
	return slices.IndexFunc(f.shown, func(s shown) bool { return s.Side == side && s.ID == id })
}

// seen is the message of an ID, if it is in a chat where this asker sees it;
// otherwise it is of no Kind.
func (f *feed) seen(side, id, chat, asker string) Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(side, id)
	if i < 0 || f.shown[i].Chat != chat || f.shown[i].For != "" && f.shown[i].For != asker {
		return Event{}
	}
	return f.shown[i].Event
}

// picture is the one at an address.
func (f *feed) picture(address string) (picture []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.shown {
		if picture, ok = s.pictures[address]; ok {
			return picture, true
		}
	}
	return nil, false
}

// tell passes e on. A reader who is too far behind is cut off. The caller holds
// mu.
func (f *feed) tell(e Event) {
	for r := range f.readers {
		select {
		case r <- e:
		default:
			delete(f.readers, r)
			close(r)
		}
	}
}

// read is what is shown, and the stream of what comes after it, which is closed
// when the reader falls behind. done ends it.
func (f *feed) read() (so []Event, next <-chan Event, done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := make(chan Event, maxBehind)
	f.readers[r] = true
	for _, s := range f.shown {
		so = append(so, s.Event)
	}
	return so, r, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.readers, r)
	}
}

// encoded is v as JSON; everything here can be encoded.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("webdemo: " + err.Error())
	}
	return raw
}
