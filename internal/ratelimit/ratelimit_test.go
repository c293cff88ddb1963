package ratelimit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// reserve reserves at once, and returns how long the caller has to wait or, if there is no slot, -1.
func reserve(t *testing.T, m *Memory, within time.Duration, limits ...Limit) time.Duration {
	wait, ok := m.Reserve(t.Context(), within, limits...)
	if !ok {
		return -1
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
	for _, test := range []struct {
		pause time.Duration
		slots int
	}{
		{9 * time.Second, 0},
		{10 * time.Second, 1},
		{19 * time.Second, 1},
		{20 * time.Second, 2},
		{30 * time.Second, 3},
		{24 * time.Hour, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			limit := Limit{Key: "chat", Burst: 3, Every: 10 * time.Second}
			for range 3 {
				reserve(t, m, 0, limit)
			}
			time.Sleep(test.pause)
			slots := 0
			for reserve(t, m, 0, limit) == 0 {
				slots++
			}
			if slots != test.slots {
				t.Errorf("%d slots after %v, want %d", slots, test.pause, test.slots)
			}
		})
	}
}

func TestAWindowHasAtMostItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		group := Limit{Key: "group", Burst: 4, Every: 3800 * time.Millisecond}
		var sent []time.Time
		for range 60 {
			wait := reserve(t, m, time.Minute, group)
			time.Sleep(wait)
			sent = append(sent, time.Now())
		}
		const most = 20
		for i := most; i < len(sent); i++ {
			if window := sent[i].Sub(sent[i-most]); window < 61*time.Second {
				t.Fatalf("%d events within %v", most+1, window)
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
		if wait := reserve(t, m, time.Second, user, chat); wait != -1 {
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
		for event, want := range []time.Duration{0, time.Hour, -1} {
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

func TestASlotThatIsGivenBackIsThereAgain(t *testing.T) {
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
		name         string
		taken        int
		to           Limit
		slots        int
		untilTheNext time.Duration
	}{
		{"a larger one", 1, Limit{Burst: 10, Every: time.Second}, 3, 0},
		{"a smaller one", 1, Limit{Burst: 2, Every: time.Second}, 2, 0},
		{"an empty one becomes faster", 4, Limit{Burst: 4, Every: time.Second}, 0, time.Second},
		{"an empty one becomes slower", 4, Limit{Burst: 1, Every: time.Hour}, 0, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			from := Limit{Key: "calls", Burst: 4, Every: time.Minute}
			for range test.taken {
				reserve(t, m, 0, from)
			}
			test.to.Key = from.Key
			m.Change(from, test.to)
			if slots := m.Slots(test.to); slots != test.slots {
				t.Errorf("%s: %d slots, want %d", test.name, slots, test.slots)
			}
			if wait := m.Peek(t.Context(), test.to); wait != test.untilTheNext {
				t.Errorf("%s: the next slot is in %v, want %v", test.name, wait, test.untilTheNext)
			}
		})
	}
}

func TestPartOfASlotOutlivesAChange(t *testing.T) {
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
