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
	silent, connections := mute(t)
	for _, test := range []struct {
		what, addr, reason string
		callTimeout        time.Duration
	}{
		{"nobody listens", nobody, "no connection", patient.callTimeout},
		{"nobody answers", silent, "no answer in time", callTimeout},
		{"the password is wrong", refused.Addr(), "refused with WRONGPASS", patient.callTimeout},
	} {
		t.Run(test.what, func(t *testing.T) {
			ctx := t.Context()
			r, log := replicaThatWaits(t, test.addr, timings{claim: time.Hour, callTimeout: test.callTimeout, downFor: time.Hour})
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
			// One call waits; those that follow do not.
			if n := connections.Load(); test.addr == silent && n != 1 {
				t.Errorf("it was tried %d times", n)
			}
			if r.Fallbacks() != 6 {
				t.Errorf("%d calls were counted, want 6", r.Fallbacks())
			}
			if err := r.Probe(ctx); err == nil || err.Error() != "ping redis: "+test.reason {
				t.Errorf("a probe fails with %v", err)
			}
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

	s.SetError("")
	s.FastForward(2 * time.Hour) // past the claim that is left on the server
	r.downUntil.Store(0)
	expect(t, "the first", r.Begin(ctx, "a"), chat.Answered)
	expect(t, "the second", r.Begin(ctx, "b"), chat.Answered)
	expect(t, "a third", r.Begin(ctx, "c"), chat.Fresh)
	if !s.Exists(r.key("update", "c")) {
		t.Error("the server is not asked again")
	}

	s.SetError("LOADING " + password)
	r.Begin(ctx, "d")
	s.SetError("")
	if err := r.Probe(ctx); err != nil {
		t.Errorf("a probe after the outage: %v", err)
	}
	got := log.String()
	for text, want := range map[string]int{"redis does not answer": 2, "redis answers again": 1, "LOADING": 2, password: 0} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is logged %d times, want %d: %s", text, n, want, got)
		}
	}
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
