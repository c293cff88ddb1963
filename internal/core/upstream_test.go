package core_test

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

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

func TestAPauseAfterFiveFailuresInARow(t *testing.T) {
	for _, test := range []struct{ ttl, retryAfter, want time.Duration }{
		{2 * time.Second, 0, 2 * time.Second}, {30 * time.Second, 0, 5 * time.Second}, {30 * time.Second, time.Minute, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newQueryTest(querySetup{ttl: test.ttl})
			w.price(func(ctx context.Context) (core.Quote, error) {
				if w.calls.Load() == 5 {
					return priced(7)(ctx)
				}
				return core.Quote{}, &core.Error{Service: market, Reason: core.Malformed, RetryAfter: test.retryAfter, Err: errors.New("no")}
			})
			for range 10 {
				time.Sleep(max(test.ttl, test.retryAfter))
				w.Quote(t.Context())
				if got := w.market.Health().PausedFor; w.calls.Load() == 6 && got != test.retryAfter {
					t.Errorf("%+v: paused for %v after one failure", test, got)
				}
			}
			if got := w.market.Health().PausedFor; got != test.want || w.calls.Load() != 10 {
				t.Errorf("%+v: paused for %v after %d calls", test, got, w.calls.Load())
			}
		})
	}
}

// A failure of every other call pauses the service at the tenth.
func TestOddAnswersAboutOnePersonNeitherPauseNorResetFailures(t *testing.T) {
	for other, calls := range map[core.Reason]int64{core.Malformed: 20, core.SlowAnswer: 10} {
		synctest.Test(t, func(t *testing.T) {
			w := newQueryTest(querySetup{})
			w.stake = func(context.Context) (core.Stake, error) {
				return core.Stake{}, chain.Fail([]core.Reason{other, core.Rejected}[w.calls.Load()%2], errors.New("odd"))
			}
			for i := range byte(20) {
				w.stakes.Get(t.Context(), common.Address{i})
			}
			h, fails := w.chain.Health(), other == core.SlowAnswer
			if n := w.calls.Load(); n != calls || h.FailingSince.IsZero() == fails || (h.PausedFor > 0) != fails || h.LastCall.IsZero() {
				t.Errorf("%s: %d calls for 20 wallets, want %d: %+v", other, n, calls, h)
			}
		})
	}
}

func TestDoObeysPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueryTest(querySetup{})
		for range 20 {
			err := w.chain.Do(t.Context(), func(context.Context) error {
				w.calls.Add(1)
				return &core.Error{Service: chain, Reason: core.Limited, RetryAfter: time.Second, Err: errors.New("429")}
			})
			if n := w.calls.Load(); n != 1 || reasonOf(err) != core.Limited {
				t.Fatalf("%v after %d calls", err, n)
			}
		}
	})
}

func TestDoEndsWithItsCallerItsTimeAndTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueryTest(querySetup{})
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(30*time.Second, w.cache.Close)
		for _, call := range []struct {
			ctx  context.Context
			took time.Duration
		}{{brief, time.Second}, {t.Context(), 20 * time.Second}, {t.Context(), 9 * time.Second}} {
			start := time.Now()
			err := w.chain.Do(call.ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			if took := time.Since(start); reasonOf(err) != core.SlowAnswer || took != call.took {
				t.Errorf("%v after %v, want %v", err, took, call.took)
			}
		}
	})
}

func TestCallsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueryTest(querySetup{})
		w.stake = func(ctx context.Context) (core.Stake, error) {
			<-ctx.Done()
			return core.Stake{}, ctx.Err()
		}
		var askers sync.WaitGroup
		for i := range byte(2 * core.MaxCalls) {
			askers.Go(func() { w.stakes.Get(t.Context(), common.Address{i}) })
		}
		synctest.Wait()
		if n := w.calls.Load(); n != core.MaxCalls {
			t.Errorf("%d calls are in flight, want %d", n, core.MaxCalls)
		}
		askers.Wait()
	})
}

func TestOnlyUnreachableIsRetried(t *testing.T) {
	for name, c := range map[string]struct {
		err   *core.Error
		calls int64
	}{
		"unreachable":        {chain.Fail(core.Unreachable, errors.New("502")), 2},
		"asked to wait":      {&core.Error{Service: chain, Reason: core.Unreachable, RetryAfter: time.Second, Err: errors.New("503")}, 1},
		"slow":               {chain.Fail(core.SlowAnswer, errors.New("slow")), 1},
		"limited":            {chain.Fail(core.Limited, errors.New("429")), 1},
		"an answer, no such": {chain.Fail(core.Rejected, errors.New("400")), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newQueryTest(querySetup{})
			w.stake = func(context.Context) (core.Stake, error) {
				if w.calls.Load()%2 == 0 {
					return core.Stake{Checked: 1}, nil
				}
				return core.Stake{}, c.err
			}
			start := time.Now()
			_, err := w.stakes.Get(t.Context(), common.Address{1})
			maxDelay := time.Duration(c.calls-1) * 300 * time.Millisecond
			if took := time.Since(start); w.calls.Load() != c.calls || (err == nil) != (c.calls == 2) || took > maxDelay {
				t.Errorf("%s: %v after %d calls and %v", name, err, w.calls.Load(), took)
			}
		})
	}
}

func TestRetryAfterIsObeyedUpToACap(t *testing.T) {
	const asked, want = 20 * 24 * time.Hour, 5 * time.Minute
	// A Budget knows more of a plan that is used up than this pause.
	for reason, told := range map[core.Reason]time.Duration{core.UsedUp: asked - want + time.Second, core.Limited: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := quoting(func(context.Context) (core.Quote, error) {
				return core.Quote{}, &core.Error{Service: market, Reason: reason, RetryAfter: asked, Err: errors.New("429")}
			})
			_, err := w.Quote(t.Context())
			if failed, _ := errors.AsType[*core.Error](err); failed.RetryAfter != told+want-time.Second {
				t.Errorf("%s: told to wait for %v", reason, failed.RetryAfter)
			}
			if h := w.market.Health(); h.PausedFor != want {
				t.Errorf("%s: paused for %v", reason, h.PausedFor)
			}
			w.price(priced(7))
			time.Sleep(want - time.Second)
			_, err = w.Quote(t.Context())
			if failed, _ := errors.AsType[*core.Error](err); reasonOf(err) != reason || w.calls.Load() != 1 || failed.RetryAfter != told {
				t.Errorf("%s, before the wait is over: %v", reason, err)
			}
			time.Sleep(2 * time.Second)
			if _, err := w.Quote(t.Context()); err != nil || w.market.Health().PausedFor != 0 {
				t.Errorf("%s, after it: %v", reason, err)
			}
		})
	}
}

func TestACallThatWeCancelIsNoFailureOfTheService(t *testing.T) {
	var log bytes.Buffer
	w := newQueryTest(querySetup{log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		err := w.chain.Do(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
		if reasonOf(err) != core.SlowAnswer {
			t.Error(err)
		}
	}
	if h := w.chain.Health(); h != (core.Health{Service: chain}) || log.Len() > 0 {
		t.Errorf("%+v, %s", h, &log)
	}
}

func TestHealthFailsUntilTheNextAnswer(t *testing.T) {
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
			step.want.Service, step.want.LastCall = market, at(minute)
			if h := w.market.Health(); h != step.want {
				t.Errorf("got  %+v\nwant %+v", h, step.want)
			}
			time.Sleep(time.Minute)
		}
		if h := w.chain.Health(); h != (core.Health{Service: chain}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

// However the reason changes, an outage is one warning. A service that fails every other
// call warns once a minute.
func TestAnOutageIsOneWarningAndItsEndOneLine(t *testing.T) {
	since := func(minute int64) string {
		return "since=" + time.Unix(946_684_800+60*minute, 0).Format("2006-01-02T15:04:05.000Z07:00")
	}
	for name, test := range map[string]struct {
		reason          func(second int) core.Reason // of the failure, or ""
		warns, recovers int
		want            string
	}{
		"healthy": {func(int) core.Reason { return "" }, 0, 0, ""},
		"ten minutes": {func(second int) core.Reason {
			switch {
			case second < 60 || second >= 660:
				return ""
			case second < 120:
				return core.Denied
			}
			return core.Behind
		}, 1, 1, `level=WARN msg="a service fails" service=chain reason=denied ` + since(1) + " err=no"},
		"not over yet": {func(int) core.Reason { return core.Behind }, 1, 0, "service=chain reason=behind " + since(0)},
		"every other second": {func(second int) core.Reason { return []core.Reason{core.Denied, ""}[second%2] }, 12, 12,
			`level=INFO msg="a service answers again" service=chain failed_for=1s`},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			w := newQueryTest(querySetup{log: slog.New(slog.NewTextHandler(&log, nil))})
			for second := range 720 {
				w.stake = func(context.Context) (core.Stake, error) {
					if reason := test.reason(second); reason != "" {
						return core.Stake{}, chain.Fail(reason, errors.New("no"))
					}
					return core.Stake{Checked: 1}, nil
				}
				w.stakes.Get(t.Context(), common.Address{byte(second >> 8), byte(second)})
				time.Sleep(time.Second)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != test.warns {
				t.Errorf("%s: %d warnings, want %d:\n%s", name, n, test.warns, &log)
			}
			if n := strings.Count(log.String(), "answers again"); n != test.recovers {
				t.Errorf("%s: answers again %d times, want %d:\n%s", name, n, test.recovers, &log)
			}
			if !strings.Contains(log.String(), test.want) {
				t.Errorf("%s: logged %s, want %s", name, &log, test.want)
			}
		})
	}
}
