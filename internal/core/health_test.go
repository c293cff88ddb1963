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

func TestAServiceFailsFromItsFirstFailureToItsNextAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(1))
		var first, began, last, again time.Time
		for _, step := range []struct {
			answer func(context.Context) (core.Quote, error)
			at     *time.Time
			want   func() core.Health
		}{
			{priced(1), &first, func() core.Health { return core.Health{Asked: first, Answered: first} }},
			{failing(core.Denied), &began, func() core.Health {
				return core.Health{Asked: began, Answered: first, FailingSince: began, Reason: core.Denied}
			}},
			{failing(core.Malformed), &last, func() core.Health {
				return core.Health{Asked: last, Answered: first, FailingSince: began, Reason: core.Malformed}
			}},
			{priced(2), &again, func() core.Health { return core.Health{Asked: again, Answered: again} }},
		} {
			time.Sleep(time.Minute)
			w.price(step.answer)
			_, _ = w.Quote(t.Context())
			*step.at = time.Now()
			want := step.want()
			want.Service, want.Circuit = market, "closed"
			if h := w.healthOf(t, market); h != want {
				t.Errorf("got  %+v\nwant %+v", h, want)
			}
		}
		if h := w.healthOf(t, chain); h != (core.Health{Service: chain, Circuit: "closed"}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

func failing(reason core.Reason) func(context.Context) (core.Quote, error) {
	return func(context.Context) (core.Quote, error) { return core.Quote{}, market.Fail(reason, errors.New("no")) }
}
