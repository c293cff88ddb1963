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
		time.Sleep(19 * time.Second)
		wantWait(t, l, "a", time.Second)
		time.Sleep(time.Second + time.Millisecond)
		wantWait(t, l, "a", 0)
		wantWait(t, l, "a", 20*time.Second)
		time.Sleep(10 * time.Minute)
		for range 3 {
			wantWait(t, l, "a", 0)
		}
		wantWait(t, l, "a", 20*time.Second)
	})
}

func TestEveryLimitWorksWithManyEventsAtOneTime(t *testing.T) {
	for _, perMinute := range []int{0, 1, 120, 1 << 30} {
		synctest.Test(t, func(t *testing.T) {
			l := NewMemory().Limiter(perMinute)
			allowed := 0
			for range 2_000 {
				if l.Allow(t.Context(), "a") == 0 {
					allowed++
				}
			}
			want := min(perMinute, 2_000)
			if perMinute == 0 {
				want = 2_000
			}
			if allowed != want {
				t.Errorf("limit %d: %d events are allowed, want %d", perMinute, allowed, want)
			}
		})
	}
}
