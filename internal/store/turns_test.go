package store

import (
	"math"
	"slices"
	"testing"
	"time"

	"herald/internal/chat"
)

func TestReplicasShareTurns(t *testing.T) {
	s := server(t)
	s.SetTime(time.Unix(1_800_000_000, 0))
	replicas := []*Redis{replica(t, s), replica(t, s)}
	fast := chat.Rate{Key: "fast", Every: time.Second, Burst: 3}
	slow := chat.Rate{Key: "slow", Every: 6 * time.Second, Burst: 5}
	take := func(within time.Duration, rates ...chat.Rate) time.Duration {
		t.Helper()
		replicas[0], replicas[1] = replicas[1], replicas[0]
		wait, known := replicas[0].Take(t.Context(), within, rates...)
		if !known {
			t.Error("Redis is not asked")
		}
		return wait.Round(time.Millisecond)
	}
	var waits []time.Duration
	for range 8 {
		waits = append(waits, take(math.MaxInt64, fast, slow))
	}
	const second = time.Second
	// Three at once, one a second, and one in six seconds once five are used.
	if want := []time.Duration{0, 0, 0, second, 2 * second, 6 * second, 12 * second, 18 * second}; !slices.Equal(waits, want) {
		t.Errorf("the waits are %v, want %v", waits, want)
	}
	for range 3 {
		if wait := take(20*second, fast, slow); wait != 24*second {
			t.Errorf("a turn that comes too late is in %v, want 24 s", wait)
		}
	}
	if wait := take(math.MaxInt64, chat.Rate{Key: "another", Every: time.Second, Burst: 1}); wait != 0 {
		t.Errorf("another key's turn is in %v", wait)
	}
	s.FastForward(time.Hour)
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("an hour later the server still has %v", keys)
	}
}
