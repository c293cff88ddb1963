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
	withRetryAfter := chainService.Fail(core.Unreachable, errors.New("503"))
	withRetryAfter.RetryAfter = time.Second
	for name, test := range map[string]struct {
		err       *core.Error
		wantRetry bool
	}{
		"unreachable": {
			err:       chainService.Fail(core.Unreachable, errors.New("502")),
			wantRetry: true,
		},
		"unreachable, asks to wait": {
			err: withRetryAfter,
		},
		"slow": {
			err: chainService.Fail(core.SlowAnswer, errors.New("slow")),
		},
		"limited": {
			err: chainService.Fail(core.Limited, errors.New("429")),
		},
		"rejected": {
			err: chainService.Fail(core.Rejected, errors.New("400")),
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, setup{})
			f.setStake(func(context.Context) (core.Stake, error) {
				if isRetry := f.calls.Load() == 2; isRetry {
					return core.Stake{Checked: 1}, nil
				}
				return core.Stake{}, test.err
			})
			wantCalls := int64(1)
			maxDelay := time.Duration(0)
			if test.wantRetry {
				wantCalls = 2
				maxDelay = maxRetryDelay
			}
			start := time.Now()
			_, err := f.stakes.Get(t.Context(), wallet(1))
			if calls := f.calls.Load(); calls != wantCalls {
				t.Errorf("%s: %d calls, want %d", name, calls, wantCalls)
			}
			if isOK := err == nil; isOK != test.wantRetry { // The retry succeeds.
				t.Errorf("%s: %v", name, err)
			}
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
			endsWith string
			ctx      context.Context
			want     time.Duration
		}{
			{
				endsWith: "its caller",
				ctx:      brief,
				want:     time.Second,
			},
			{
				endsWith: "the Timeout",
				ctx:      t.Context(),
				want:     20 * time.Second,
			},
			{
				endsWith: "the Cache",
				ctx:      t.Context(),
				want:     9 * time.Second, // after the two calls before: the Cache is closed at 30 s = 1 + 20 + 9
			},
		} {
			start := time.Now()
			err := f.chain.Do(call.ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			if took := time.Since(start); core.ReasonOf(err) != core.SlowAnswer || took != call.want {
				t.Errorf("%s: %v after %v, want %v", call.endsWith, err, took, call.want)
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

func TestACancelledCallIsNotAFailureOfTheService(t *testing.T) {
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
	if h := f.chain.Health(); h != (Health{Service: chainService}) || log.Len() > 0 {
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
			{price: priced(1), want: Health{}},
			{price: failing(core.Denied), want: Health{FailingSince: at(1), Reason: core.Denied}},
			{price: failing(core.Malformed), want: Health{FailingSince: at(1), Reason: core.Malformed}},
			{price: priced(2), want: Health{}},
		} {
			f.setPrice(step.price)
			_, _ = f.askPrice(t.Context())
			step.want.Service = marketService
			step.want.LastCall = at(minute)
			if h := f.market.Health(); h != step.want {
				t.Errorf("got  %+v\nwant %+v", h, step.want)
			}
			time.Sleep(time.Minute)
		}
		if h := f.chain.Health(); h != (Health{Service: chainService}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

func TestPingAsksForThePrice(t *testing.T) {
	f := newFixture(t, setup{price: priced(7)})
	check := NewHealthCheck(f.market, f.prices)
	pinged, err := check.Ping(t.Context())
	quote, _ := pinged.Value.(*core.Quote)
	if err != nil || quote == nil || quote.Price.IntPart() != 7 {
		t.Errorf("got %+v, %v", pinged, err)
	}
	if check.Health().LastCall.IsZero() {
		t.Error("Health shows no call")
	}
}

// askForTwelveMinutes asks the chain about one wallet a second for twelve minutes, and returns the log. A call fails
// for the reason of its second. If the reason is empty, the chain answers.
func askForTwelveMinutes(t *testing.T, reason func(second int) core.Reason) (log string) {
	var lines bytes.Buffer
	f := newFixture(t, setup{log: slog.New(slog.NewTextHandler(&lines, nil))})
	for second := range 720 {
		f.setStake(stakesComplete)
		if failed := reason(second); failed != "" {
			f.setStake(failingStakes(failed))
		}
		_, _ = f.stakes.Get(t.Context(), wallet(second))
		time.Sleep(time.Second)
	}
	return lines.String()
}

// loggedMinute returns minute n of a test as it is logged. In simulated time, minute 0 is midnight of 2000-01-01 in
// UTC.
func loggedMinute(n int) string {
	midnight := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Local()
	return midnight.Add(time.Duration(n) * time.Minute).Format("2006-01-02T15:04:05.000Z07:00")
}

// outages are services that fail at some times, and what is logged about them.
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
		want: `level=WARN msg="a service fails" service=chain reason=denied since=` +
			loggedMinute(1) + " err=down",
	},
	"not over yet": {
		reason:       func(int) core.Reason { return core.Behind },
		wantWarnings: 1,
		want:         "service=chain reason=behind since=" + loggedMinute(0),
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

// An outage is one warning, even if its reason changes. A service that fails every other call is warned about once a
// minute.
func TestAnOutageIsOneWarningAndItsEndOneLine(t *testing.T) {
	for name, test := range outages {
		synctest.Test(t, func(t *testing.T) {
			log := askForTwelveMinutes(t, test.reason)
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
