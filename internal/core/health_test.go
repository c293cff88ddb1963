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
		start := time.Now()
		at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
		w := quoting(nil)
		for minute, step := range []struct {
			answer func(context.Context) (core.Quote, error)
			want   core.Health
		}{
			{priced(1), core.Health{Answered: at(0)}},
			{failing(core.Denied), core.Health{Answered: at(0), FailingSince: at(1), Reason: core.Denied}},
			{failing(core.Malformed), core.Health{Answered: at(0), FailingSince: at(1), Reason: core.Malformed}},
			{priced(2), core.Health{Answered: at(3)}},
		} {
			w.price(step.answer)
			_, _ = w.Quote(t.Context())
			step.want.Service, step.want.Circuit, step.want.Asked = market, "closed", at(minute)
			if h := w.healthOf(t, market); h != step.want {
				t.Errorf("got  %+v\nwant %+v", h, step.want)
			}
			time.Sleep(time.Minute)
		}
		if h := w.healthOf(t, chain); h != (core.Health{Service: chain, Circuit: "closed"}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

func failing(reason core.Reason) func(context.Context) (core.Quote, error) {
	return func(context.Context) (core.Quote, error) { return core.Quote{}, market.Fail(reason, errors.New("no")) }
}
