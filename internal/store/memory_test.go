package store

import (
	"fmt"
	"testing"

	"herald/internal/chat"
)

func expect(t *testing.T, what string, got, want chat.Delivery) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %d, want %d", what, got, want)
	}
}

func TestMemoryKnowsUpdates(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	expect(t, "a new update", m.Claim(ctx, "a"), chat.New)
	expect(t, "a repeated one", m.Claim(ctx, "a"), chat.InFlight)
	expect(t, "another", m.Claim(ctx, "b"), chat.New)
	m.Release(ctx, "a", true)
	m.Release(ctx, "b", false)
	expect(t, "an answered one", m.Claim(ctx, "a"), chat.Answered)
	expect(t, "one given up", m.Claim(ctx, "b"), chat.New)

	for i := range maxAnswered {
		expect(t, "while there is room", m.Claim(ctx, "a"), chat.Answered)
		m.Release(ctx, fmt.Sprint(i), true)
	}
	expect(t, "the oldest of too many", m.Claim(ctx, "a"), chat.New)
	expect(t, "the next", m.Claim(ctx, "0"), chat.Answered)
	expect(t, "one in flight all the while", m.Claim(ctx, "b"), chat.InFlight)
	if len(m.updates) != maxAnswered+2 {
		t.Errorf("%d updates are known", len(m.updates))
	}
}
