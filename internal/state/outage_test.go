package state

import (
	"context"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
)

func TestAReplicaAloneDecidesByItself(t *testing.T) {
	refused := server(t)
	refused.RequireAuth("another " + password)
	closed := server(t)
	nobody := closed.Addr()
	closed.Close()
	for _, test := range []struct{ what, addr, options, reason string }{
		{"nobody listens", nobody, patient, "no connection"},
		{"nobody answers", mute(t), impatient, "no answer in time"},
		{"the password is wrong", refused.Addr(), patient, "refused with WRONGPASS"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			r, log := replica(t, test.addr, test.options)
			limiter := r.Limiter(1)
			expect(t, "a new update", r.Begin(ctx, "a"), chat.Fresh)
			expect(t, "a repeated one", r.Begin(ctx, "a"), chat.InHand)
			r.End(ctx, "a", true)
			expect(t, "an answered one", r.Begin(ctx, "a"), chat.Answered)
			if limiter.Allow(ctx, "k") != 0 || limiter.Allow(ctx, "k") < 50*time.Second {
				t.Error("the limit does not hold")
			}
			r.Save(ctx, "price", []byte("1"), time.Minute)
			if _, found := r.Load(ctx, "price"); found {
				t.Error("loaded from nowhere")
			}
			if r.Fallbacks() != 6 {
				t.Errorf("%d calls were counted, want 6", r.Fallbacks())
			}
			if _, err := r.Probe(ctx); err == nil || err.Error() != "ping redis: "+test.reason {
				t.Errorf("a probe fails with %v", err)
			}
			eventually(t, "the outage is logged", func() bool { return log.String() != "" })
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, test.reason) || strings.Contains(got, password) {
				t.Errorf("logged %s", got)
			}
		})
	}
}

func TestWhatWasAnsweredDuringAnOutageStaysAnswered(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	r, log := replica(t, s.Addr())
	expect(t, "a new update", r.Begin(ctx, "a"), chat.Fresh)
	s.SetError("LOADING " + password)
	r.End(ctx, "a", true)
	expect(t, "one that came meanwhile", r.Begin(ctx, "b"), chat.Fresh)
	r.End(ctx, "b", true)

	eventually(t, "the outage is logged", func() bool { return log.String() != "" })
	s.FastForward(2 * time.Hour) // past the claim that is left on the server
	s.SetError("")
	awaitBack(t, r)
	expect(t, "the first", r.Begin(ctx, "a"), chat.Answered)
	expect(t, "a third", r.Begin(ctx, "c"), chat.Fresh)
	if !s.Exists(r.key("update", "c")) {
		t.Error("the server is not asked again")
	}
	two, _ := replica(t, s.Addr())
	for _, key := range []string{"a", "b"} {
		eventually(t, "Redis is told of "+key, func() bool {
			held, err := s.Get(r.key("update", key))
			return err == nil && held == answered
		})
		expect(t, key+" at another replica", two.Begin(ctx, key), chat.Answered)
	}
	eventually(t, "the end is logged", func() bool { return strings.Count(log.String(), "\n") == 2 })
	got := log.String()
	for text, want := range map[string]int{"redis does not answer": 1, "redis answers again": 1, "LOADING": 1, password: 0} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is logged %d times, want %d: %s", text, n, want, got)
		}
	}
	eventually(t, "nothing is left to be told", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.answered) == 0
	})
}

// A limit that is used up stays so when Redis is lost.
func TestLosingRedisGivesNobodyMore(t *testing.T) {
	s := server(t)
	r, _ := replica(t, s.Addr())
	l := r.Limiter(3)
	for range 3 {
		wantWait(t, l, "a", 0)
	}
	s.SetError("LOADING")
	if wait := l.Allow(t.Context(), "a"); wait == 0 {
		t.Error("without Redis a fourth is allowed")
	}
	wantWait(t, l, "b", 0)
}

func TestACancelledCommandIsStillWrittenDown(t *testing.T) {
	s := server(t)
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	one.Begin(ctx, "a")
	cancel()
	one.End(ctx, "a", true)
	expect(t, "the same at another replica", two.Begin(t.Context(), "a"), chat.Answered)
}
