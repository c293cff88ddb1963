package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// healthOf is that of the world's service.
func (w *world) healthOf(t *testing.T, service *core.Service) core.Health {
	t.Helper()
	for _, h := range w.cache.Health() {
		if h.Service == service {
			return h
		}
	}
	t.Fatalf("nothing is known of %s", service.Name)
	return core.Health{}
}

func TestAServiceFailsFromItsFirstFailureToItsNextAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(1))
		if h := w.healthOf(t, market); h != (core.Health{Service: market, Circuit: "closed"}) {
			t.Errorf("before any call: %+v", h)
		}
		ask := func() time.Time {
			t.Helper()
			time.Sleep(time.Minute)
			_, _ = w.Quote(t.Context())
			return time.Now()
		}
		first := ask()
		if h := w.healthOf(t, market); !h.Asked.Equal(first) || !h.Answered.Equal(first) || !h.FailingSince.IsZero() {
			t.Errorf("after an answer at %v: %+v", first, h)
		}
		failing := func(reason core.Reason) {
			w.price(func(context.Context) (core.Quote, error) { return core.Quote{}, market.Fail(reason, errors.New("no")) })
		}
		failing(core.Denied)
		began := ask()
		failing(core.Malformed)
		last := ask()
		h := w.healthOf(t, market)
		if !h.FailingSince.Equal(began) || h.Reason != core.Malformed || !h.Asked.Equal(last) || !h.Answered.Equal(first) {
			t.Errorf("failing from %v to %v: %+v", began, last, h)
		}
		w.price(priced(2))
		again := ask()
		if h := w.healthOf(t, market); !h.FailingSince.IsZero() || h.Reason != "" || !h.Answered.Equal(again) {
			t.Errorf("after it answered again at %v: %+v", again, h)
		}
		if h := w.healthOf(t, chain); !h.Asked.IsZero() {
			t.Errorf("another service: %+v", h)
		}
	})
}

func TestAnOddAnswerAboutOneWalletIsNoFailureOfTheService(t *testing.T) {
	for _, reason := range core.Reasons() {
		synctest.Test(t, func(t *testing.T) {
			w := staking(func(context.Context) (core.Stake, error) { return core.Stake{}, chain.Fail(reason, errors.New("no")) })
			_, _ = w.stakes.Get(t.Context(), wallet(1))
			own := reason != core.Rejected && reason != core.Malformed
			if h := w.healthOf(t, chain); h.FailingSince.IsZero() == own || h.Asked.IsZero() || !h.Answered.IsZero() {
				t.Errorf("%s: %+v", reason, h)
			}
		})
	}
}

func TestHealthShowsWhyAServiceIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(func(context.Context) (core.Quote, error) {
			return core.Quote{}, &core.Error{Service: market, Reason: core.Limited, RetryAfter: time.Minute, Err: errors.New("no")}
		})
		_, _ = w.Quote(t.Context())
		time.Sleep(20 * time.Second)
		if h := w.healthOf(t, market); h.PausedFor != 40*time.Second || h.Circuit != "closed" {
			t.Errorf("asked to wait: %+v", h)
		}
		time.Sleep(time.Minute)
		if h := w.healthOf(t, market); h.PausedFor != 0 {
			t.Errorf("after the wait: %+v", h)
		}
		w.price(down)
		for range 5 {
			_, _ = w.Quote(t.Context())
		}
		if h := w.healthOf(t, market); h.Circuit != "open" {
			t.Errorf("after five failures: %+v", h)
		}
	})
}
