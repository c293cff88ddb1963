package state

import (
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// wantWait checks how long a key has to wait, to within the rounding of a bucket.
func wantWait(t *testing.T, l chat.Limiter, key string, want time.Duration) {
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
	s.SetTime(now)
	r := replica(t, s)
	one, two := r.Limiter(3), replica(t, s).Limiter(3)
	wantWait(t, one, "a", 0)
	wantWait(t, two, "a", 0)
	wantWait(t, one, "a", 0)
	wantWait(t, one, "b", 0)
	wantWait(t, two, "a", 20*time.Second)
	s.SetTime(now.Add(19 * time.Second))
	wantWait(t, one, "a", time.Second) // the refused one was not counted
	s.SetTime(now.Add(20 * time.Second))
	wantWait(t, two, "a", 0)
	wantWait(t, r.Limiter(0), "a", 0)
	wantWait(t, r.Limiter(1<<30), "a", 0)
	if n := r.Fallbacks(); n != 0 {
		t.Errorf("%d were decided without Redis", n)
	}
}
