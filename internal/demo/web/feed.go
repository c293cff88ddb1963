package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
)

const (
	// maxShown messages are kept for the page; the oldest go.
	maxShown = 400
	// maxBehind events may wait for a reader. One who is further behind is cut off
	// and comes again.
	maxBehind = 1024
)

// feed is what is shown, and who is told of it.
type feed struct {
	mu      sync.Mutex
	shown   []Event // in the order in which they were first shown
	readers map[chan Event]bool
}

// put shows an event, in place of the one with its ID or as the newest.
func (f *feed) put(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(e.Side, e.ID); i >= 0 {
		f.shown[i] = e
	} else {
		f.shown = append(f.shown, e)
	}
	f.tell(e)
	if len(f.shown) > maxShown {
		f.remove(0)
	}
}

// remove takes the message at i away. The caller holds mu.
func (f *feed) remove(i int) {
	gone := f.shown[i]
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

// reveal shows everybody in the group what one alone saw so far.
func (f *feed) reveal(side, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(side, id); i >= 0 && f.shown[i].For != "" && f.shown[i].Chat == Group {
		f.shown[i].For = ""
		f.tell(f.shown[i])
	}
}

// find returns where the message of an ID is, or -1. The caller holds mu.
func (f *feed) find(side, id string) int {
	return slices.IndexFunc(f.shown, func(e Event) bool { return e.Side == side && e.ID == id })
}

// seen returns the message that an act is about: the one it presses, or replies to.
// It has no Kind if the asker does not see it there.
func (f *feed) seen(a Act) Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(a.Side, cmp.Or(a.Message, a.ReplyTo))
	if i < 0 || f.shown[i].Chat != a.Chat || f.shown[i].For != "" && f.shown[i].For != a.As {
		return Event{}
	}
	return f.shown[i]
}

// picture returns the picture at an address, or nil.
func (f *feed) picture(address string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.shown {
		if e.picture != nil && e.address == address {
			return e.picture
		}
	}
	return nil
}

// tell passes e on. A reader who is too far behind is cut off. The caller holds mu.
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

// read returns what is shown, and a stream of what comes after it, which is closed
// when the reader falls behind. done ends it.
func (f *feed) read() (shown []Event, next <-chan Event, done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := make(chan Event, maxBehind)
	f.readers[r] = true
	return slices.Clone(f.shown), r, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.readers, r)
	}
}

// encoded returns v as JSON; everything here can be encoded.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error())
	}
	return raw
}
