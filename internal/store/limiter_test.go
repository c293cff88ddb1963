package store

import (
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// wantWait checks how long a key has to wait, to within the rounding of a bucket.
func wantWait(t *testing.T, l chat.KeyLimiter, key string, want time.Duration) {
	t.Helper()
	if got := l.Allow(t.Context(), key); (got-want).Abs() > 2*time.Millisecond || (got > 0) != (want > 0) {
		t.Errorf("%s waits %v, want %v", key, got, want)
	}
}

func TestMemoryAllowsTheLimitAtOnceAndAsManyAgainInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory().Limiter(3)
		for range 3 {
			wantWait(t, l, "a", 0)
		}
		wantWait(t, l, "b", 0)
		wantWait(t, l, "a", 20*time.Second)
		wantWait(t, l, "a", 20*time.Second) // the refused one was not counted
		time.Sleep(20*time.Second + time.Millisecond)
		wantWait(t, l, "a", 0)
		time.Sleep(10 * time.Minute)
		for range 3 {
			wantWait(t, l, "a", 0)
		}
		wantWait(t, l, "a", 20*time.Second)
	})
}

func TestEveryLimitWorksWithManyEventsAtOneTime(t *testing.T) {
	for perMinute, want := range map[int]int{0: 2000, 1: 1, 120: 120, 1 << 30: 2000} {
		synctest.Test(t, func(t *testing.T) {
			l := NewMemory().Limiter(perMinute)
			allowed := 0
			for range 2000 {
				if l.Allow(t.Context(), "a") == 0 {
					allowed++
				}
			}
			if allowed != want {
				t.Errorf("limit %d: %d events are allowed, want %d", perMinute, allowed, want)
			}
		})
	}
}

func TestReplicasShareLimits(t *testing.T) {
	s := server(t)
	now := time.Unix(1_800_000_000, 0)
	at := func(seconds int) { s.SetTime(now.Add(time.Duration(seconds) * time.Second)) }
	at(0)
	r := replica(t, s)
	one, two := r.Limiter(3), replica(t, s).Limiter(3)
	wantWait(t, one, "a", 0)
	at(10)
	wantWait(t, two, "a", 0)
	wantWait(t, one, "a", 0)
	wantWait(t, one, "b", 0)
	wantWait(t, two, "a", 50*time.Second)
	at(59)
	wantWait(t, one, "a", time.Second) // the refused one was not counted
	at(60)
	wantWait(t, two, "a", 0)
	wantWait(t, one, "a", 10*time.Second)
	wantWait(t, r.Limiter(0), "a", 0)
	s.FastForward(window)
	if keys := s.Keys(); len(keys) != 0 || r.Fallbacks() != 0 {
		t.Errorf("after an idle minute the server has %v; %d were decided without it", keys, r.Fallbacks())
	}
}
