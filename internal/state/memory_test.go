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
		time.Sleep(remembered + time.Minute)
		expect(t, "one answered two days ago", m.Begin(ctx, "a"), chat.Fresh)
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

func TestAFloodForgetsNoUpdateInHand(t *testing.T) {
	ctx := t.Context()
	m := NewMemory()
	m.answered.most = 10
	m.Begin(ctx, "in hand")
	for i := range 100 {
		m.Begin(ctx, fmt.Sprint(i))
		m.End(ctx, fmt.Sprint(i), true)
	}
	expect(t, "the one in hand", m.Begin(ctx, "in hand"), chat.InHand)
	expect(t, "the newest", m.Begin(ctx, "99"), chat.Answered)
	expect(t, "the oldest", m.Begin(ctx, "0"), chat.Fresh)
}
