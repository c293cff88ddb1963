package state

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// limits is what every limiter must do; pass lets time go by.
func limits(t *testing.T, l chat.Limiter, pass func(time.Duration)) {
	t.Helper()
	ctx := t.Context()
	allow := func(key string, want time.Duration) {
		t.Helper()
		if got := l.Allow(ctx, key); got != want {
			t.Errorf("%s waits %v, want %v", key, got, want)
		}
	}
	allow("a", 0)
	pass(10 * time.Second)
	allow("a", 0)
	allow("a", 0)
	allow("b", 0)
	allow("a", 50*time.Second)
	pass(49 * time.Second)
	allow("a", time.Second) // the refused one was not counted
	pass(time.Second)
	allow("a", 0)
	allow("a", 10*time.Second)
	pass(10 * time.Second)
	allow("a", 0)
	allow("a", 0)
	allow("a", 50*time.Second)
}

func TestMemoryLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits(t, NewMemory(time.Minute).Limiter(3), time.Sleep)
	})
}

func TestMemoryLimitersAreApart(t *testing.T) {
	m := NewMemory(time.Minute)
	users, chats := m.Limiter(1), m.Limiter(1)
	users.Allow(t.Context(), "a")
	if wait := chats.Allow(t.Context(), "a"); wait != 0 {
		t.Errorf("one limiter's event made another wait %v", wait)
	}
}

func TestMemoryForgetsIdleKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindows(1)
		w.most = 10
		for i := range 9 {
			w.Allow(t.Context(), fmt.Sprint(i))
		}
		time.Sleep(30 * time.Second)
		w.Allow(t.Context(), "busy")
		time.Sleep(31 * time.Second)
		w.Allow(t.Context(), "new")
		if len(w.events) != 2 {
			t.Errorf("%d keys are kept, want the busy and the new one", len(w.events))
		}
		time.Sleep(2 * window)
		w.Allow(t.Context(), "new")
		if len(w.events) != 1 {
			t.Errorf("%d keys are kept although there is room, want the one in use", len(w.events))
		}
		for i := range 100 {
			w.Allow(t.Context(), fmt.Sprint("flood ", i))
		}
		if len(w.events) != 10 {
			t.Errorf("%d keys are kept, want the bound of 10", len(w.events))
		}
	})
}
