package telegram

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// batchSize is the largest number of updates that one getUpdates returns,
// https://core.telegram.org/bots/api#getupdates.
const batchSize = 100

// hangsAfter is how long an update runs before it may be acknowledged unanswered.
const hangsAfter = time.Second

// fromEarliest is the offset of a getUpdates that acknowledges nothing, and returns updates from the
// earliest one on, https://core.telegram.org/bots/api#getupdates.
const fromEarliest = 0

// updateState is how far a polled update is. An update's state only advances.
type updateState int

const (
	// stateRunning: the update is being answered.
	stateRunning updateState = iota
	// stateWaiting: its answer waits for the rate of its chat, the end of a 429, or another message.
	stateWaiting
	// stateDone: it is answered, or the bot owes no answer to it.
	stateDone
)

// polledUpdate is an update that was polled and is not acknowledged.
type polledUpdate struct {
	id    int64
	state updateState
	begun time.Time
}

// isDone reports whether the bot owes nothing more to the update.
func (u *polledUpdate) isDone() bool { return u.state == stateDone }

// mayBePassed reports whether the update may be acknowledged if it hides others: it is done, waits or hangs.
func (u *polledUpdate) mayBePassed() bool {
	return u.state != stateRunning || time.Since(u.begun) > hangsAfter
}

// tracker knows which polled updates are done, and with which offset to ask for further ones. A getUpdates
// acknowledges all updates with IDs below its offset, and returns the first batchSize of the others. It is safe
// for concurrent use.
//
// While fewer than batchSize updates are polled and not acknowledged, the offset passes only updates that are
// done, so that Telegram still has the others if the process is killed. Once there are batchSize, they hide all
// others behind them. The offset then also passes those at the head that wait or hang. That is not so while
// saturated returns true: only the global rate delays answers then, and updates are safest in Telegram's queue.
type tracker struct {
	saturated func() bool
	// changed holds a token if the state of an update has changed since the last receive.
	changed chan struct{}

	mu sync.Mutex
	// acknowledged is the offset of the last getUpdates: all updates with lower IDs are acknowledged. It is
	// fromEarliest while no ID is known.
	acknowledged int64
	// polled holds the updates that are not acknowledged, by ascending IDs.
	polled []polledUpdate
}

func newTracker(saturated func() bool) *tracker {
	return &tracker{saturated: saturated, changed: make(chan struct{}, 1)}
}

// isKnown reports whether an update was polled or acknowledged before.
func (t *tracker) isKnown(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.knows(id)
}

// knows is isKnown for a caller who holds mu.
func (t *tracker) knows(id int64) bool {
	_, polled := t.find(id)
	return polled || id != 0 && id < t.acknowledged
}

// begin adds an update, which is running. It returns false if the update is known.
func (t *tracker) begin(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.knows(id) {
		return false
	}
	i, _ := t.find(id)
	t.polled = slices.Insert(t.polled, i, polledUpdate{id: id, begun: time.Now()})
	return true
}

// find returns the index of an update in polled, or the one at which it would be inserted. The caller holds mu.
func (t *tracker) find(id int64) (i int, found bool) {
	return slices.BinarySearchFunc(t.polled, id, func(u polledUpdate, id int64) int { return cmp.Compare(u.id, id) })
}

// advance changes the state of an update, unless the update is acknowledged or further already.
func (t *tracker) advance(id int64, to updateState) {
	t.mu.Lock()
	i, known := t.find(id)
	if known {
		t.polled[i].state = max(t.polled[i].state, to)
	}
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default: // It holds a token.
	}
}

// next returns the offset of the next getUpdates, and how many known updates that would return again.
func (t *tracker) next() (offset int64, again int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.polled) >= batchSize && !t.saturated() {
		return t.offset((*polledUpdate).mayBePassed)
	}
	return t.offset((*polledUpdate).isDone)
}

// last returns the offset of the last getUpdates of a session: it passes only updates that are done.
func (t *tracker) last() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	offset, _ := t.offset((*polledUpdate).isDone)
	return offset
}

// offset returns the ID of the first polled update that is not passed, or the ID after the last one. It also
// returns how many updates are polled from there on. The caller holds mu.
func (t *tracker) offset(passed func(*polledUpdate) bool) (offset int64, further int) {
	offset = t.acknowledged
	for i := range t.polled {
		if !passed(&t.polled[i]) {
			return t.polled[i].id, len(t.polled) - i
		}
		offset = t.polled[i].id + 1
	}
	return offset, 0
}

// acknowledge drops the updates below the offset of a getUpdates that succeeded.
func (t *tracker) acknowledge(offset int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acknowledged = offset
	i, _ := t.find(offset)
	t.polled = slices.Delete(t.polled, 0, i)
}

// forgetIDs makes IDs of any size new, unless updates are polled and not acknowledged. poller calls it while
// Telegram's queue is empty: after a week without an update the next ID is random, and may be lower,
// https://core.telegram.org/bots/api#update.
func (t *tracker) forgetIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.polled) == 0 {
		t.acknowledged = fromEarliest
	}
}
