package state

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

func expect(t *testing.T, what string, got, want chat.Delivery) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %d, want %d", what, got, want)
	}
}

func TestMemoryKnowsUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := NewMemory()
		expect(t, "a new update", m.Begin(ctx, "a"), chat.Fresh)
		expect(t, "a repeated one", m.Begin(ctx, "a"), chat.InHand)
		expect(t, "another", m.Begin(ctx, "b"), chat.Fresh)
		m.End(ctx, "a", true)
		m.End(ctx, "b", false)
		expect(t, "an answered one", m.Begin(ctx, "a"), chat.Answered)
		expect(t, "one given up", m.Begin(ctx, "b"), chat.Fresh)

		time.Sleep(remembered - time.Minute)
		expect(t, "one answered nearly a day ago", m.Begin(ctx, "a"), chat.Answered)
		time.Sleep(2 * time.Minute)
		expect(t, "one answered a day ago", m.Begin(ctx, "a"), chat.Fresh)
		expect(t, "one in hand for more than a day", m.Begin(ctx, "b"), chat.InHand)
	})
}

func TestMemoryGivesAnUpdateToOneOfMany(t *testing.T) {
	m := NewMemory()
	var fresh atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if m.Begin(t.Context(), "a") == chat.Fresh {
				fresh.Add(1)
			}
		})
	}
	all.Wait()
	if fresh.Load() != 1 {
		t.Errorf("%d were told that it is fresh", fresh.Load())
	}
}

func TestMemoryForgetsTheOldestAnsweredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := NewMemory()
		m.most = 11
		m.Begin(ctx, "in hand")
		for i := range 10 {
			time.Sleep(time.Second)
			m.Begin(ctx, fmt.Sprint(i))
			m.End(ctx, fmt.Sprint(i), true)
		}
		m.Begin(ctx, "one more")
		if n := m.updates.ItemCount(); n != 7 {
			t.Errorf("%d updates are known, want 5 answered ones and 2 in hand", n)
		}
		expect(t, "the one in hand", m.Begin(ctx, "in hand"), chat.InHand)
		expect(t, "the newest", m.Begin(ctx, "9"), chat.Answered)
		expect(t, "the newest of the kept", m.Begin(ctx, "5"), chat.Answered)
		expect(t, "the oldest", m.Begin(ctx, "4"), chat.Fresh)
	})
}

func TestMemoryForgetsExpiredBeforeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := NewMemory()
		m.most = 2
		for _, key := range []string{"expired", "answered"} {
			m.Begin(ctx, key)
			m.End(ctx, key, true)
			time.Sleep(time.Hour)
		}
		time.Sleep(remembered - 2*time.Hour)
		m.Begin(ctx, "new")
		expect(t, "the answered one", m.Begin(ctx, "answered"), chat.Answered)
	})
}
