package telegram

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fill enters n updates, for which there must be room.
func fill(t *testing.T, f *inFlight, n int) (flights []*flight) {
	t.Helper()
	for range n {
		entered := f.tryEnter()
		if entered == nil {
			t.Fatal("there is no room")
		}
		flights = append(flights, entered)
	}
	return flights
}

func TestAnUpdateEntersWhileAnotherMayRun(t *testing.T) {
	type test struct {
		running int  // how many updates run
		waiting int  // how many updates are in flight and do not run
		enters  bool // whether another update may enter
	}
	inBubble(t, map[string]test{
		"none is in flight":              {running: 0, waiting: 0, enters: true},
		"one less than the maximum runs": {running: 2, waiting: 0, enters: true},
		"the maximum runs":               {running: 3, waiting: 0, enters: false},
		"those that wait do not run":     {running: 2, waiting: 7, enters: true},
		"the maximum is in flight":       {running: 0, waiting: 10, enters: false},
		"some run, the others wait":      {running: 2, waiting: 8, enters: false},
		"the maximum runs, others wait":  {running: 3, waiting: 5, enters: false},
	}, func(t *testing.T, tt test) {
		const maxRunning, maxHeld = 3, 10
		f := newInFlight(maxRunning, maxHeld)
		for range tt.waiting {
			fill(t, f, 1)[0].stopRunning()
		}
		fill(t, f, tt.running)
		entered := f.tryEnter()
		check(t, "enters at once", entered != nil, tt.enters)
		if entered != nil {
			entered.leave()
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check(t, "enters within a second", f.enter(soon) != nil, tt.enters)
		check(t, "in flight", f.count() > tt.running+tt.waiting, tt.enters)
	})
}

func TestAPlaceIsGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInFlight(3, 10)
		for _, waiting := range fill(t, f, 3) {
			var calls sync.WaitGroup
			for range 3 {
				calls.Go(waiting.stopRunning)
			}
			calls.Wait()
		}
		check(t, "running while all wait", len(f.running), 0)
		check(t, "in flight while all wait", f.count(), 3)
		further := fill(t, f, 3)
		further[0].stopRunning()
		for _, update := range further {
			update.leave()
		}
		check(t, "running in the end", len(f.running), 0)
		check(t, "in flight in the end", f.count(), 3)
	})
}

func TestABlockedUpdateEntersOnceAnotherLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInFlight(1, 10)
		first := fill(t, f, 1)[0]
		time.AfterFunc(time.Minute, first.leave)
		start := time.Now()
		second := f.enter(t.Context())
		check(t, "entered after", time.Since(start), time.Minute)
		second.leave()
		check(t, "in flight in the end", f.count(), 0)
	})
}
