package ratelimit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// refused is what reserve returns if no slot was reserved.
const refused = time.Duration(-1)

// reserve reserves a slot from each limit, and returns how long to wait until the slots are due, or refused.
func reserve(t *testing.T, m *Memory, within time.Duration, limits ...Limit) time.Duration {
	wait, ok := m.Reserve(t.Context(), within, limits...)
	if !ok {
		return refused
	}
	return wait
}

func TestABurstAndThenOnePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		limit := Limit{Key: "chat", Burst: 3, Every: 10 * time.Second}
		for event, want := range []time.Duration{0, 0, 0, 10 * time.Second, 20 * time.Second} {
			if got := reserve(t, m, time.Minute, limit); got != want {
				t.Errorf("event %d waits %v, want %v", event, got, want)
			}
		}
	})
}

func TestABucketRefillsUpToItsBurst(t *testing.T) {
	for pause, want := range map[time.Duration]int{
		9 * time.Second:  0,
		10 * time.Second: 1,
		19 * time.Second: 1,
		20 * time.Second: 2,
		30 * time.Second: 3,
		24 * time.Hour:   3,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			limit := Limit{Key: "chat", Burst: 3, Every: 10 * time.Second}
			for range 3 {
				reserve(t, m, 0, limit)
			}
			time.Sleep(pause)
			slots := 0
			for reserve(t, m, 0, limit) == 0 {
				slots++
			}
			if slots != want {
				t.Errorf("%d slots after %v, want %d", slots, pause, want)
			}
		})
	}
}

// This is the example of Limit.
func TestAnyWindowOf61SecondsHasAtMost20Events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		limit := Limit{Key: "group", Burst: 4, Every: 3800 * time.Millisecond}
		var events []time.Time
		for range 60 {
			wait := reserve(t, m, time.Minute, limit)
			time.Sleep(wait)
			events = append(events, time.Now())
		}
		const allowed = 20
		for i := allowed; i < len(events); i++ {
			if window := events[i].Sub(events[i-allowed]); window < 61*time.Second {
				t.Fatalf("%d events within %v", allowed+1, window)
			}
		}
	})
}

func TestSeveralLimitsGiveASlotTogetherOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		user := Limit{Key: "user", Burst: 2, Every: time.Second}
		chat := Limit{Key: "chat", Burst: 1, Every: time.Minute}
		if wait := reserve(t, m, 0, user, chat); wait != 0 {
			t.Fatalf("the first event waits %v", wait)
		}
		if wait := reserve(t, m, time.Second, user, chat); wait != refused {
			t.Errorf("the chat gives another slot in %v", wait)
		}
		if wait := reserve(t, m, 0, user); wait != 0 {
			t.Errorf("the refusal took a slot of the user: the next is in %v", wait)
		}
	})
}

func TestASlotAheadIsTakenFromEachLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		user := Limit{Key: "user", Burst: 1, Every: time.Second}
		chat := Limit{Key: "chat", Burst: 1, Every: time.Minute}
		reserve(t, m, 0, chat)
		if wait := reserve(t, m, time.Hour, user, chat); wait != time.Minute {
			t.Fatalf("the slot of both is in %v, want a minute", wait)
		}
		if wait := m.Peek(t.Context(), user); wait != time.Minute+time.Second {
			t.Errorf("the user's next slot is in %v, want a second after that of both", wait)
		}
	})
}

func TestPeekTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		limit := Limit{Key: "chat", Burst: 1, Every: time.Minute}
		for range 3 {
			if wait := m.Peek(t.Context(), limit); wait != 0 {
				t.Fatalf("a full bucket has a slot in %v", wait)
			}
		}
		reserve(t, m, 0, limit)
		time.Sleep(time.Second)
		for range 3 {
			if wait := m.Peek(t.Context(), limit); wait != 59*time.Second {
				t.Fatalf("an empty bucket has a slot in %v, want 59s", wait)
			}
		}
	})
}

func TestNoSlotIsReservedMoreThanAnHourAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		limit := Limit{Key: "chat", Burst: 1, Every: time.Hour}
		for event, want := range []time.Duration{0, time.Hour, refused} {
			if got := reserve(t, m, 24*time.Hour, limit); got != want {
				t.Errorf("event %d waits %v, want %v", event, got, want)
			}
		}
	})
}

func TestKeysWithFullBucketsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		for i := range 1000 {
			reserve(t, m, 0, Limit{Key: fmt.Sprint("full by then ", i), Burst: 1, Every: time.Second})
		}
		empty := Limit{Key: "empty", Burst: 1, Every: time.Hour}
		reserve(t, m, 0, empty)
		time.Sleep(sweepEvery)
		reserve(t, m, 0, Limit{Key: "next", Burst: 1, Every: time.Second})
		if len(m.fullAt) != 2 {
			t.Errorf("%d keys are known, want those of two buckets that are not full", len(m.fullAt))
		}
		if wait := m.Peek(t.Context(), empty); wait != time.Hour-sweepEvery {
			t.Errorf("the empty bucket has a slot in %v", wait)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		for i := range 2*maxKeys + 1 {
			reserve(t, m, 0, Limit{Key: fmt.Sprint(i), Burst: 1, Every: time.Hour})
			if len(m.fullAt) > maxKeys {
				t.Fatalf("%d keys are known", len(m.fullAt))
			}
		}
	})
}

func TestASlotThatIsGivenBackCanBeReservedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		limit := Limit{Key: "calls", Burst: 2, Every: time.Minute}
		for range 100 {
			if wait := reserve(t, m, 0, limit); wait != 0 {
				t.Fatalf("the next slot is in %v", wait)
			}
			m.GiveBack(limit)
		}
		if slots := m.Slots(limit); slots != 2 {
			t.Errorf("%d slots, want 2", slots)
		}
	})
}

func TestABucketKeepsItsSlotsWhenItsLimitChanges(t *testing.T) {
	for _, test := range []struct {
		name      string
		taken     int // slots, of a burst of 4
		to        Limit
		wantSlots int
		wantWait  time.Duration // until the next slot
	}{
		{
			name:      "3 of 4 slots, the burst becomes 10",
			taken:     1,
			to:        Limit{Burst: 10, Every: time.Second},
			wantSlots: 3,
		},
		{
			name:      "3 of 4 slots, the burst becomes 2",
			taken:     1,
			to:        Limit{Burst: 2, Every: time.Second},
			wantSlots: 2,
		},
		{
			name:     "an empty bucket, the interval becomes shorter",
			taken:    4,
			to:       Limit{Burst: 4, Every: time.Second},
			wantWait: time.Second,
		},
		{
			name:     "an empty bucket, the interval becomes longer",
			taken:    4,
			to:       Limit{Burst: 1, Every: time.Hour},
			wantWait: time.Hour,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			from := Limit{Key: "calls", Burst: 4, Every: time.Minute}
			for range test.taken {
				reserve(t, m, 0, from)
			}
			test.to.Key = from.Key
			m.Change(from, test.to)
			if slots := m.Slots(test.to); slots != test.wantSlots {
				t.Errorf("%s: %d slots, want %d", test.name, slots, test.wantSlots)
			}
			if wait := m.Peek(t.Context(), test.to); wait != test.wantWait {
				t.Errorf("%s: the next slot is in %v, want %v", test.name, wait, test.wantWait)
			}
		})
	}
}

func TestAChangeKeepsThePartOfASlotThatHasComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		limit := Limit{Key: "calls", Burst: 1, Every: time.Minute}
		reserve(t, m, 0, limit)
		time.Sleep(45 * time.Second)
		faster := Limit{Key: "calls", Burst: 1, Every: 20 * time.Second}
		m.Change(limit, faster)
		if wait := m.Peek(t.Context(), faster); wait != 5*time.Second {
			t.Errorf("a slot of which three quarters are back is due in %v, want 5s", wait)
		}
	})
}
