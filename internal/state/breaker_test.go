package state

import (
	"context"
	"errors"
	"fmt"
	"herald/internal/redact/logtest"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowRedis answers calls and probes after latency.
type slowRedis struct {
	*breaker
	latency func() time.Duration
	probes  int
}

func newSlowRedis(log *slog.Logger) *slowRedis {
	r := &slowRedis{}
	r.breaker = newBreaker(callTimeout, func(context.Context) error {
		r.probes++
		return r.answer(probeCallTimeout)
	}, log)
	return r
}

func (r *slowRedis) answer(timeout time.Duration) error {
	latency := r.latency()
	time.Sleep(min(latency, timeout)) // simulated time
	if latency > timeout {
		return context.DeadlineExceeded
	}
	return nil
}

// command makes so many calls, one after the other, and returns how long it
// waited for them.
func (r *slowRedis) command(calls int) time.Duration {
	began := time.Now()
	for range calls {
		if r.open.Load() {
			continue
		}
		start := time.Now()
		err := r.answer(r.timeout)
		r.record(time.Since(start), err)
	}
	return time.Since(began)
}

// always is a latency that does not change.
func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestACommandWaitsForRedisNoLongerThanItMay(t *testing.T) {
	const most = 50 * time.Millisecond
	latencies := map[string]func() time.Duration{
		// What costs the most: a call as long as may be, and then all at the
		// longest average, but for the last.
		"the worst": func() func() time.Duration {
			call := 0
			return func() time.Duration {
				call++
				switch call {
				case 1:
					return callTimeout
				case mostCalls:
					return time.Hour
				}
				return callTimeout / slowShare
			}
		}(),
	}
	for _, d := range []time.Duration{0, 1, 2, 3, 4, 5, 9, 10, 11, 20, 50, 200, 5000} {
		latencies[fmt.Sprintf("always %d ms", d)] = always(d * time.Millisecond)
		random := rand.New(rand.NewPCG(1, uint64(d)))
		latencies[fmt.Sprintf("%d ms with jitter", d)] = func() time.Duration {
			return time.Duration(random.ExpFloat64() * float64(d) * float64(time.Millisecond))
		}
	}
	for name, latency := range latencies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 200 {
					r := newSlowRedis(slog.New(slog.DiscardHandler))
					r.latency = latency
					if took := r.command(mostCalls); took > most {
						t.Fatalf("it waits %v", took)
					}
				}
			})
		})
	}
}

func TestRedisIsAskedWhileItIsQuickOnAverage(t *testing.T) {
	average := callTimeout / slowShare
	for name, test := range map[string]struct {
		latency func() time.Duration
		asked   bool
	}{
		"at once":             {always(0), true},
		"at the average":      {always(average), true},
		"above the average":   {always(average + time.Millisecond), false},
		"in no time":          {always(time.Hour), false},
		"slow once in twenty": {once(20, callTimeout*9/10), true},
		"lost once in twenty": {once(20, time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSlowRedis(slog.New(slog.DiscardHandler))
				r.latency = test.latency
				r.command(100)
				if asked := !r.open.Load(); asked != test.asked {
					t.Errorf("asked %v, want %v", asked, test.asked)
				}
			})
		})
	}
}

// once in n calls takes d, the others nothing.
func once(n int, d time.Duration) func() time.Duration {
	calls := 0
	return func() time.Duration {
		calls++
		if calls%n == 0 {
			return d
		}
		return 0
	}
}

func TestASlowRedisIsAskedAgainOnceItIsQuick(t *testing.T) {
	for _, outage := range []time.Duration{10 * time.Millisecond, time.Second, time.Minute} {
		for _, latency := range []time.Duration{2 * callTimeout, 50 * time.Millisecond, time.Hour} {
			t.Run(fmt.Sprint(outage, " of ", latency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log logtest.Buffer
					r := newSlowRedis(slog.New(slog.NewTextHandler(&log, nil)))
					start := time.Now()
					r.latency = func() time.Duration {
						if time.Since(start) < outage {
							return latency
						}
						return time.Millisecond
					}
					r.command(mostCalls)
					if !r.awaitClosed(t.Context(), <-r.opened) {
						t.Fatal("it gives up")
					}
					longest := outage + probeCallTimeout + mostProbePause + quickProbes*(probePause+time.Millisecond)
					if took := time.Since(start); took > longest || took < outage || r.open.Load() {
						t.Errorf("it is asked again after %v, want %v at most", took, longest)
					}
					if most := 20 * int(1+outage/time.Second); r.probes > most {
						t.Errorf("it is probed %d times, more than %d", r.probes, most)
					}
					lines := 0
					if time.Since(start) > loggedAfter {
						lines = 2
					}
					if n := strings.Count(log.String(), "\n"); n != lines {
						t.Errorf("%d lines are logged, want %d: %s", n, lines, &log)
					}
					if r.command(mostCalls) != mostCalls*time.Millisecond {
						t.Error("a command does not ask it")
					}
				})
			})
		}
	}
}

func TestTheBreakerStaysOpenWhileProbesFailOrAreSlow(t *testing.T) {
	for name, probe := range map[string]func() error{
		"refused": func() error { return errors.New("refused") },
		"slow":    func() error { time.Sleep(callTimeout/slowShare + time.Millisecond); return nil }, // simulated time
		"every third fails": func() func() error {
			n := 0
			return func() error {
				if n++; n%quickProbes == 0 {
					return errors.New("refused")
				}
				return nil
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				probes := 0
				b := newBreaker(callTimeout, func(context.Context) error { probes++; return probe() }, slog.New(slog.DiscardHandler))
				b.record(0, errors.New("gone"))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if b.awaitClosed(ctx, <-b.opened) || !b.open.Load() {
					t.Error("it closed")
				}
				if most := int(time.Hour / mostProbePause); name == "refused" && probes > most+10 {
					t.Errorf("it is probed %d times in an hour, want about %d", probes, most)
				}
			})
		})
	}
}
