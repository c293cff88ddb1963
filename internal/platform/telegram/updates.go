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

// hangsAfter is how long an update may run before it counts as hanging.
const hangsAfter = time.Second

// fromEarliest is the offset of a getUpdates that acknowledges nothing, and returns updates from the
// earliest one on, https://core.telegram.org/bots/api#getupdates.
const fromEarliest = 0

// updateState is how far a polled update is. It only advances.
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

// isDoneOrStuck reports whether the update is done, waits or hangs.
func (u *polledUpdate) isDoneOrStuck() bool {
	switch u.state {
	case stateDone, stateWaiting:
		return true
	case stateRunning:
		return time.Since(u.begun) > hangsAfter
	}
	return false
}

// tracker knows which polled updates are done, and chooses the offset of the next getUpdates. That call acknowledges
// all updates with IDs below its offset, and returns the first batchSize of the others. A tracker is safe for
// concurrent use.
//
// The offset is the ID of the first update that may not be acknowledged. For example, if updates 5, 6 and 8 are done
// and 7 is not, the offset is 7. These are the rules:
//
//   - An update that is done may always be acknowledged. If the process is killed, Telegram still has the others.
//   - If batchSize updates are not acknowledged, a getUpdates returns only these, and they hide all newer ones. Then an
//     update that waits or hangs may be acknowledged early.
//   - While the outbox is saturated, no update may be acknowledged early. The global limit then delays all answers, and
//     updates are safest in Telegram's queue.
type tracker struct {
	// isSaturated is Outbox.Saturated.
	isSaturated func() bool
	// changed holds a token if the state of an update has changed since the last receive.
	changed chan struct{}

	mu sync.Mutex
	// acknowledged is the offset of the last getUpdates: all updates with lower IDs are acknowledged. It is
	// fromEarliest while no ID is known.
	acknowledged int64
	// polled holds the updates that are not acknowledged, by ascending IDs.
	polled []polledUpdate
}

func newTracker(isSaturated func() bool) *tracker {
	return &tracker{isSaturated: isSaturated, changed: make(chan struct{}, 1)}
}

// isKnown reports whether an update was polled or acknowledged before.
func (t *tracker) isKnown(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.knows(id)
}

// knows is isKnown for a caller that holds mu. It does not know the ID 0: leadingID returns 0 if it finds no ID.
func (t *tracker) knows(id int64) bool {
	_, isPolled := t.find(id)
	isAcknowledged := id != 0 && id < t.acknowledged
	return isPolled || isAcknowledged
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
	default: // changed holds a token already.
	}
}

// nextOffset returns the offset of the next getUpdates, and how many known updates that call would return again.
func (t *tracker) nextOffset() (offset int64, known int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hidesNewer := len(t.polled) >= batchSize
	if hidesNewer && !t.isSaturated() {
		return t.offset((*polledUpdate).isDoneOrStuck)
	}
	return t.offset((*polledUpdate).isDone)
}

// finalOffset returns the offset of the last getUpdates of a session. That call acknowledges no update early.
func (t *tracker) finalOffset() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	offset, _ := t.offset((*polledUpdate).isDone)
	return offset
}

// offset returns the ID of the first polled update that may not be acknowledged, or the ID after the last one. It also
// returns how many polled updates are left from there on. The caller holds mu.
func (t *tracker) offset(mayBeAcknowledged func(*polledUpdate) bool) (offset int64, left int) {
	offset = t.acknowledged
	for i := range t.polled {
		if !mayBeAcknowledged(&t.polled[i]) {
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

// forgetIDs forgets which updates are acknowledged, so that an update with a lower ID counts as new. The poller calls
// it while Telegram's queue is empty: after a week without updates the next ID is random,
// https://core.telegram.org/bots/api#update. forgetIDs does nothing while a polled update is not acknowledged.
func (t *tracker) forgetIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.polled) == 0 {
		t.acknowledged = fromEarliest
	}
}
