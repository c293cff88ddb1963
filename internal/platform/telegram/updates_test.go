package telegram

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// newTestTracker returns an empty tracker whose outbox is not saturated.
func newTestTracker() *tracker { return newTracker(func() bool { return false }) }

// trackerWith returns a tracker of these updates, whose outbox is not saturated. The IDs of the updates are 1, 2, 3 and
// so on.
func trackerWith(updates ...polledUpdate) *tracker {
	t := newTestTracker()
	for i, u := range updates {
		u.id = int64(i + 1)
		t.polled = append(t.polled, u)
	}
	return t
}

// saturatedTrackerWith is like trackerWith, but the outbox is saturated: the global limit delays answers.
func saturatedTrackerWith(updates ...polledUpdate) *tracker {
	t := trackerWith(updates...)
	t.isSaturated = func() bool { return true }
	return t
}

// polledIn returns an update in a state, which began to be answered some time ago.
func polledIn(state updateState, ago time.Duration) polledUpdate {
	return polledUpdate{state: state, begun: time.Now().Add(-ago)}
}

// offsetCase is what was polled, and what nextOffset then returns.
type offsetCase struct {
	updates []polledUpdate
	offset  int64
	again   int // how many of the updates the next call returns again
}

// checkOffsets checks each of the cases with a tracker that newTracker returns.
func checkOffsets(
	t *testing.T, newTracker func(...polledUpdate) *tracker, cases map[string]offsetCase,
) {
	t.Helper()
	for name, tt := range cases {
		offset, again := newTracker(tt.updates...).nextOffset()
		check(t, name+": offset", offset, tt.offset)
		check(t, name+": returned again", again, tt.again)
	}
}

// updatesInEachState returns an update that is answered, one that runs for as long as it may, one that hangs and one
// that waits. It must be called in simulated time, and so must fullBatch.
func updatesInEachState() (answered, running, hanging, waiting polledUpdate) {
	answered = polledIn(stateDone, 0)
	running = polledIn(stateRunning, hangsAfter)
	hanging = polledIn(stateRunning, hangsAfter+1)
	waiting = polledIn(stateWaiting, 0)
	return answered, running, hanging, waiting
}

// fullBatch returns as many updates as one batch has: the given ones, and then running ones.
func fullBatch(first ...polledUpdate) []polledUpdate {
	_, running, _, _ := updatesInEachState()
	return append(first, slices.Repeat([]polledUpdate{running}, batchSize-len(first))...)
}

func TestTheOffsetPassesAnsweredUpdatesOfAPartBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered, running, hanging, waiting := updatesInEachState()
		checkOffsets(t, trackerWith, map[string]offsetCase{
			"nothing is polled": {
				offset: fromEarliest,
			},
			"all are answered": {
				updates: []polledUpdate{answered, answered},
				offset:  3,
			},
			"those before the first that runs are answered": {
				updates: []polledUpdate{answered, answered, running, answered},
				offset:  3,
				again:   2,
			},
			"one hangs": {
				updates: []polledUpdate{hanging, answered},
				offset:  1,
				again:   2,
			},
			"one waits": {
				updates: []polledUpdate{waiting, answered},
				offset:  1,
				again:   2,
			},
			"one less than a batch, all wait": {
				updates: slices.Repeat([]polledUpdate{waiting}, batchSize-1),
				offset:  1,
				again:   batchSize - 1,
			},
		})
	})
}

// A full batch hides later updates, so the offset also passes updates that wait or hang.
func TestTheOffsetPassesWaitingUpdatesOfAFullBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered, running, hanging, waiting := updatesInEachState()
		checkOffsets(t, trackerWith, map[string]offsetCase{
			"the first runs": {
				updates: fullBatch(running, waiting, hanging),
				offset:  1,
				again:   batchSize,
			},
			"the first wait, hang or are answered": {
				updates: fullBatch(waiting, hanging, answered, waiting),
				offset:  5,
				again:   batchSize - 4,
			},
			"all hang": {
				updates: slices.Repeat([]polledUpdate{hanging}, batchSize),
				offset:  batchSize + 1,
			},
		})
	})
}

// While the global limit delays all answers, the answers to later updates would also wait.
func TestTheOffsetPassesOnlyAnsweredUpdatesWhileSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered, _, hanging, waiting := updatesInEachState()
		checkOffsets(t, saturatedTrackerWith, map[string]offsetCase{
			"the first waits": {
				updates: fullBatch(waiting, hanging),
				offset:  1,
				again:   batchSize,
			},
			"the first is answered": {
				updates: fullBatch(answered, hanging),
				offset:  2,
				again:   batchSize - 1,
			},
		})
	})
}

// Updates that are left when a session ends come again, even if they hide others.
func TestTheLastOffsetPassesOnlyWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := polledIn(stateWaiting, time.Hour)
		all := slices.Repeat([]polledUpdate{waiting}, batchSize)
		check(t, "all wait", trackerWith(all...).finalOffset(), 1)
		all[0].state = stateDone
		check(t, "the first is answered", trackerWith(all...).finalOffset(), 2)
		check(t, "nothing was polled", trackerWith().finalOffset(), fromEarliest)
	})
}

func TestAStateOnlyAdvances(t *testing.T) {
	for from, to := range map[updateState]map[updateState]updateState{
		stateRunning: {stateRunning: stateRunning, stateWaiting: stateWaiting, stateDone: stateDone},
		stateWaiting: {stateRunning: stateWaiting, stateWaiting: stateWaiting, stateDone: stateDone},
		stateDone:    {stateRunning: stateDone, stateWaiting: stateDone, stateDone: stateDone},
	} {
		for given, want := range to {
			tracker := trackerWith(polledIn(from, 0))
			tracker.advance(1, given)
			if got := tracker.polled[0].state; got != want {
				t.Errorf("from %d, advance to %d sets %d, want %d", from, given, got, want)
			}
		}
	}
}

// An update that is acknowledged early is still answered. Its tracker then ignores that it is done.
func TestAnAcknowledgedUpdateIsForgotten(t *testing.T) {
	tracker := trackerWith(polledIn(stateWaiting, 0), polledIn(stateRunning, 0))
	tracker.acknowledge(2)
	tracker.advance(1, stateDone)
	offset, again := tracker.nextOffset()
	check(t, "offset", offset, 2)
	check(t, "returned again", again, 1)
}

func TestAnUpdateBeginsOnce(t *testing.T) {
	tracker := newTestTracker()
	for _, tt := range []struct {
		id   int64
		want bool
	}{
		{id: 4, want: true},
		{id: 4, want: false},
		{id: 7, want: true},
		{id: 6, want: true}, // out of order
		{id: 7, want: false},
	} {
		check(t, "begin", tracker.begin(tt.id), tt.want)
	}
	tracker.advance(4, stateDone)
	check(t, "an answered one", tracker.begin(4), false)
	tracker.acknowledge(6)
	check(t, "an acknowledged one", tracker.begin(4), false)
	offset, again := tracker.nextOffset()
	check(t, "offset", offset, 6)
	check(t, "returned again", again, 2)
}

// After its queue was empty for a week, Telegram may continue with lower IDs.
func TestAfterAnEmptyQueueAnyIDIsNew(t *testing.T) {
	tracker := newTestTracker()
	tracker.begin(4000)
	tracker.forgetIDs()
	check(t, "a lower ID while one is not acknowledged", tracker.finalOffset(), 4000)
	tracker.advance(4000, stateDone)
	tracker.acknowledge(4001)
	check(t, "a lower ID before the queue is empty", tracker.begin(3), false)
	tracker.forgetIDs()
	check(t, "offset of an empty queue", tracker.finalOffset(), fromEarliest)
	check(t, "a lower ID", tracker.begin(3), true)
	check(t, "offset", tracker.finalOffset(), 3)
}
