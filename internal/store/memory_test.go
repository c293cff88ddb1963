package store

import (
	"fmt"
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
		expect(t, "a new update", m.Claim(ctx, "a"), chat.New)
		expect(t, "a repeated one", m.Claim(ctx, "a"), chat.InFlight)
		expect(t, "another", m.Claim(ctx, "b"), chat.New)
		m.Release(ctx, "a", true)
		m.Release(ctx, "b", false)
		expect(t, "an answered one", m.Claim(ctx, "a"), chat.Answered)
		expect(t, "one given up", m.Claim(ctx, "b"), chat.New)

		time.Sleep(remembered - time.Minute)
		expect(t, "one answered nearly a day ago", m.Claim(ctx, "a"), chat.Answered)
		time.Sleep(remembered + time.Minute)
		expect(t, "one answered two days ago", m.Claim(ctx, "a"), chat.New)
		expect(t, "one in hand for more than a day", m.Claim(ctx, "b"), chat.InFlight)
	})
}

func TestTheOldestOfTooManyAreForgotten(t *testing.T) {
	r := newRecent[int](time.Hour, 10)
	for i := range 100 {
		r.set(fmt.Sprint(i), i)
		if n := len(r.young) + len(r.old); n > 10 {
			t.Fatalf("%d are kept of 10", n)
		}
		for newer := max(0, i-4); newer <= i; newer++ {
			if value, known := r.get(fmt.Sprint(newer)); !known || value != newer {
				t.Fatalf("after %d, %d is forgotten", i, newer)
			}
		}
	}
}
