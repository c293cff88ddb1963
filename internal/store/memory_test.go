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

		time.Sleep(answeredFor - time.Minute)
		expect(t, "one answered nearly a day ago", m.Claim(ctx, "a"), chat.Answered)
		time.Sleep(answeredFor + time.Minute)
		expect(t, "one answered two days ago", m.Claim(ctx, "a"), chat.New)
		expect(t, "one in hand for more than a day", m.Claim(ctx, "b"), chat.InFlight)
	})
}

func TestTheOldestOfTooManyAreForgotten(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	for i := range 3 * maxAnswered {
		m.Release(ctx, fmt.Sprint(i), true)
		if n := len(m.young) + len(m.old); n > maxAnswered {
			t.Fatalf("%d are known of %d", n, maxAnswered)
		}
	}
	expect(t, "one of the last half", m.Claim(ctx, fmt.Sprint(5*maxAnswered/2+1)), chat.Answered)
	expect(t, "the first", m.Claim(ctx, "0"), chat.New)
}
