package core_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

func TestAServiceFailsFromItsFirstFailureToItsNextAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
		w := quoting(nil)
		for minute, step := range []struct {
			answer func(context.Context) (core.Quote, error)
			want   core.Health
		}{
			{priced(1), core.Health{}},
			{failing(core.Denied), core.Health{FailingSince: at(1), Reason: core.Denied}},
			{failing(core.Malformed), core.Health{FailingSince: at(1), Reason: core.Malformed}},
			{priced(2), core.Health{}},
		} {
			w.price(step.answer)
			_, _ = w.Quote(t.Context())
			step.want.Service, step.want.Circuit, step.want.Asked = market, "closed", at(minute)
			if h := w.market.Health(); h != step.want {
				t.Errorf("got  %+v\nwant %+v", h, step.want)
			}
			time.Sleep(time.Minute)
		}
		if h := w.chain.Health(); h != (core.Health{Service: chain, Circuit: "closed"}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

func failing(reason core.Reason) func(context.Context) (core.Quote, error) {
	return func(context.Context) (core.Quote, error) { return core.Quote{}, market.Fail(reason, errors.New("no")) }
}

func TestAnOldPriceThatStandsInIsLoggedOnceAMinuteWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newWorldOf(core.CacheConfig{Log: slog.New(slog.NewTextHandler(&log, nil))}, "USD")
		w.price(priced(7))
		w.Quote(t.Context())
		w.price(failing(core.Denied))
		time.Sleep(31 * time.Second)
		for range 119 { // two minutes
			if q, err := w.Quote(t.Context()); err != nil || !q.Stale {
				t.Fatalf("%+v, %v", q, err)
			}
			time.Sleep(time.Second)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 || strings.Count(log.String(), "level=WARN") != 2 ||
			strings.Count(log.String(), "outcome=stale reason=denied") != 2 {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
	})
}

func TestPingGivesTheAnswerOfItsSource(t *testing.T) {
	w := quoting(priced(7))
	core.PingWith(w.market, w.prices)
	for range 2 {
		s, err := w.market.Ping(t.Context())
		if quote, ok := s.Value.(core.Quote); !ok || err != nil || quote.Price.IntPart() != 7 || s.At.IsZero() || w.calls.Load() != 1 {
			t.Errorf("got %+v, %v after %d calls", s, err, w.calls.Load())
		}
	}
}
