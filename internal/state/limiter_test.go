package state

import (
	"fmt"
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
	for _, perMinute := range []int{0, 1, 2, 120, 10_000, 1 << 30} {
		synctest.Test(t, func(t *testing.T) {
			l := NewMemory().Limiter(perMinute)
			allowed := 0
			for range 20_000 {
				if l.Allow(t.Context(), "a") == 0 {
					allowed++
				}
			}
			want := min(perMinute, 20_000)
			if perMinute == 0 {
				want = 20_000
			}
			if allowed != want {
				t.Errorf("limit %d: %d events are allowed, want %d", perMinute, allowed, want)
			}
		})
	}
}

func TestMemoryLimitersAreApart(t *testing.T) {
	m := NewMemory()
	users, chats := m.Limiter(1), m.Limiter(1)
	users.Allow(t.Context(), "a")
	if wait := chats.Allow(t.Context(), "a"); wait != 0 {
		t.Errorf("one limiter's event made another wait %v", wait)
	}
}

func TestMemoryForgetsIdleKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1)
		l.most = 10
		for i := range 9 {
			l.Allow(t.Context(), fmt.Sprint(i))
		}
		time.Sleep(30 * time.Second)
		l.Allow(t.Context(), "busy")
		time.Sleep(31 * time.Second)
		l.Allow(t.Context(), "new")
		if len(l.buckets) != 2 {
			t.Errorf("%d keys are kept, want the busy and the new one", len(l.buckets))
		}
		time.Sleep(2 * window)
		l.Allow(t.Context(), "new")
		if len(l.buckets) != 1 {
			t.Errorf("%d keys are kept although there is room, want the one in use", len(l.buckets))
		}
		for i := range 100 {
			l.Allow(t.Context(), fmt.Sprint("flood ", i))
		}
		if len(l.buckets) != 10 {
			t.Errorf("%d keys are kept, want the bound of 10", len(l.buckets))
		}
	})
}
