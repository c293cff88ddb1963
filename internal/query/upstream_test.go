package query

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

func TestOnlyUnreachableIsRetried(t *testing.T) {
	withRetryAfter := chain.Fail(core.Unreachable, errors.New("503"))
	withRetryAfter.RetryAfter = time.Second
	for name, test := range map[string]struct {
		err       *core.Error
		wantCalls int64
	}{
		"unreachable":        {chain.Fail(core.Unreachable, errors.New("502")), 2},
		"asked to wait":      {withRetryAfter, 1},
		"slow":               {chain.Fail(core.SlowAnswer, errors.New("slow")), 1},
		"limited":            {chain.Fail(core.Limited, errors.New("429")), 1},
		"an answer, no such": {chain.Fail(core.Rejected, errors.New("400")), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, setup{})
			f.setStake(func(context.Context) (core.Stake, error) {
				if isRetry := f.calls.Load() == 2; isRetry {
					return core.Stake{Checked: 1}, nil
				}
				return core.Stake{}, test.err
			})
			start := time.Now()
			_, err := f.stakes.Get(t.Context(), wallet(1))
			if f.calls.Load() != test.wantCalls || (err == nil) != (test.wantCalls == 2) {
				t.Errorf("%s: %v after %d calls", name, err, f.calls.Load())
			}
			maxDelay := time.Duration(test.wantCalls-1) * maxRetryDelay
			if took := time.Since(start); took > maxDelay {
				t.Errorf("%s: it took %v", name, took)
			}
		})
	}
}

func TestAtMostMaxCallsAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{})
		f.setStake(func(ctx context.Context) (core.Stake, error) {
			<-ctx.Done()
			return core.Stake{}, ctx.Err()
		})
		var askers sync.WaitGroup
		for i := range 2 * MaxCalls {
			askers.Go(func() { f.stakes.Get(t.Context(), wallet(i)) })
		}
		synctest.Wait()
		if n := f.calls.Load(); n != MaxCalls {
			t.Errorf("%d calls are in flight, want %d", n, MaxCalls)
		}
		askers.Wait()
	})
}

func TestDoEndsWithItsCallerItsTimeoutAndTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{})
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(30*time.Second, f.cache.Close)
		for _, call := range []struct {
			ctx  context.Context
			want time.Duration
		}{
			{brief, time.Second},
			{t.Context(), 20 * time.Second},
			{t.Context(), 9 * time.Second},
		} {
			start := time.Now()
			err := f.chain.Do(call.ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			if took := time.Since(start); core.ReasonOf(err) != core.SlowAnswer || took != call.want {
				t.Errorf("%v after %v, want %v", err, took, call.want)
			}
		}
	})
}

func TestAPanicOfACallIsAnError(t *testing.T) {
	f := newFixture(t, setup{price: func(context.Context) (*core.Quote, error) { panic("boom") }})
	if _, err := f.askPrice(t.Context()); core.ReasonOf(err) != core.Malformed {
		t.Errorf("got %v", err)
	}
}

func TestACallThatWeCancelIsNotAFailureOfTheService(t *testing.T) {
	var log bytes.Buffer
	f := newFixture(t, setup{log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		err := f.chain.Do(ctx, func(ctx context.Context) error {
			cancel()
			return ctx.Err()
		})
		if core.ReasonOf(err) != core.SlowAnswer {
			t.Error(err)
		}
	}
	if h := f.chain.Health(); h != (Health{Service: chain}) || log.Len() > 0 {
		t.Errorf("%+v, %s", h, &log)
	}
}

func TestHealthFailsUntilTheNextAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
		f := newFixture(t, setup{})
		for minute, step := range []struct {
			price priceFunc
			want  Health
		}{
			{priced(1), Health{}},
			{failing(core.Denied), Health{FailingSince: at(1), Reason: core.Denied}},
			{failing(core.Malformed), Health{FailingSince: at(1), Reason: core.Malformed}},
			{priced(2), Health{}},
		} {
			f.setPrice(step.price)
			_, _ = f.askPrice(t.Context())
			step.want.Service = market
			step.want.LastCall = at(minute)
			if h := f.market.Health(); h != step.want {
				t.Errorf("got  %+v\nwant %+v", h, step.want)
			}
			time.Sleep(time.Minute)
		}
		if h := f.chain.Health(); h != (Health{Service: chain}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

func TestAHealthCheckAsksItsQuestion(t *testing.T) {
	f := newFixture(t, setup{price: priced(7)})
	check := NewHealthCheck(f.market, f.prices)
	pinged, err := check.Ping(t.Context())
	quote, _ := pinged.Value.(*core.Quote)
	if err != nil || quote.Price.IntPart() != 7 || check.Health().LastCall.IsZero() {
		t.Errorf("got %+v, %v; %+v", pinged, err, check.Health())
	}
}

// outage asks about one wallet a second for twelve minutes, while the chain fails for the reason of
// that second. It returns the log.
func outage(t *testing.T, reason func(second int) core.Reason) (log string) {
	var lines bytes.Buffer
	f := newFixture(t, setup{log: slog.New(slog.NewTextHandler(&lines, nil))})
	for second := range 720 {
		f.setStake(stakes())
		if failed := reason(second); failed != "" {
			f.setStake(stakesFail(failed))
		}
		_, _ = f.stakes.Get(t.Context(), wallet(second))
		time.Sleep(time.Second)
	}
	return lines.String()
}

// minuteOfBubble returns the nth minute of simulated time, which begins at midnight of 2000-01-01 in
// UTC, as it is logged.
func minuteOfBubble(n int) string {
	midnight := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Local()
	return midnight.Add(time.Duration(n) * time.Minute).Format("2006-01-02T15:04:05.000Z07:00")
}

// outages are rows of calls, and what is logged about them.
var outages = map[string]struct {
	reason func(second int) core.Reason // empty: the service answers

	wantWarnings   int
	wantRecoveries int
	want           string
}{
	"healthy": {
		reason: func(int) core.Reason { return "" },
	},
	"ten minutes": {
		reason: func(second int) core.Reason {
			switch {
			case second < 60 || second >= 660:
				return ""
			case second < 120:
				return core.Denied
			}
			return core.Behind
		},
		wantWarnings:   1,
		wantRecoveries: 1,
		want:           `level=WARN msg="a service fails" service=chain reason=denied since=` + minuteOfBubble(1) + " err=no",
	},
	"not over yet": {
		reason:       func(int) core.Reason { return core.Behind },
		wantWarnings: 1,
		want:         "service=chain reason=behind since=" + minuteOfBubble(0),
	},
	"every other second": {
		reason: func(second int) core.Reason {
			if second%2 == 0 {
				return core.Denied
			}
			return ""
		},
		wantWarnings:   12,
		wantRecoveries: 12,
		want:           `level=INFO msg="a service answers again" service=chain failed_for=1s`,
	},
}

// However the reason changes, an outage is one warning. A service that fails every other call warns
// once a minute.
func TestAnOutageIsOneWarningAndItsEndOneLine(t *testing.T) {
	for name, test := range outages {
		synctest.Test(t, func(t *testing.T) {
			log := outage(t, test.reason)
			if n := strings.Count(log, "level=WARN"); n != test.wantWarnings {
				t.Errorf("%s: %d warnings, want %d:\n%s", name, n, test.wantWarnings, log)
			}
			if n := strings.Count(log, "answers again"); n != test.wantRecoveries {
				t.Errorf("%s: answers again %d times, want %d:\n%s", name, n, test.wantRecoveries, log)
			}
			if !strings.Contains(log, test.want) {
				t.Errorf("%s: logged %s, want %s", name, log, test.want)
			}
		})
	}
}
