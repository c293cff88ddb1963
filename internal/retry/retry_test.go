package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/retry"
)

var errPassing = errors.New("passing")

func passing(error) (bool, time.Duration) { return true, 0 }

func TestTheWaitGrowsToItsMostAndIsNeverTheSame(t *testing.T) {
	b := retry.Backoff{First: time.Second, Most: 30 * time.Second}
	for failures, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 1000: 30 * time.Second} {
		seen := map[time.Duration]bool{}
		for range 100 {
			d := b.After(failures)
			if d < most/2 || d > most {
				t.Fatalf("after %d failures: %v, want %v to %v", failures, d, most/2, most)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("after %d failures only %d different waits", failures, len(seen))
		}
	}
}

func TestAnAttemptIsRepeatedUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts, told int
		policy := retry.Policy{Backoff: retry.Backoff{First: time.Second, Most: time.Minute}, Again: passing,
			Failed: func(err error, failures int, wait time.Duration) {
				if told++; err != errPassing || failures != told || wait <= 0 {
					t.Errorf("told %v, %d, %v", err, failures, wait)
				}
			}}
		err := policy.Do(t.Context(), func(context.Context) error {
			if attempts++; attempts < 4 {
				return errPassing
			}
			return nil
		})
		if err != nil || attempts != 4 || told != 3 {
			t.Errorf("%v after %d attempts, of which %d told", err, attempts, told)
		}
	})
}

func TestAWaitIsNeverShorterThanAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Time
		policy := retry.Policy{Backoff: retry.Backoff{First: time.Millisecond, Most: time.Second},
			Again: func(error) (bool, time.Duration) { return len(times) < 2, 7 * time.Second }}
		_ = policy.Do(t.Context(), func(context.Context) error { times = append(times, time.Now()); return errPassing })
		if len(times) != 2 || times[1].Sub(times[0]) != 7*time.Second {
			t.Errorf("attempts at %v", times)
		}
	})
}

func TestNoAttemptBeginsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts, start := 0, time.Now()
		policy := retry.Policy{Backoff: retry.Backoff{First: time.Second, Most: time.Second}, Until: start.Add(10 * time.Second),
			Again: func(error) (bool, time.Duration) { return true, 6 * time.Second }}
		err := policy.Do(t.Context(), func(context.Context) error { attempts++; return errPassing })
		if err != errPassing || attempts != 2 || time.Since(start) != 6*time.Second {
			t.Errorf("%v after %d attempts and %v", err, attempts, time.Since(start))
		}
	})
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		policy := retry.Policy{Backoff: retry.Backoff{First: time.Hour, Most: time.Hour}, Again: passing}
		if err := policy.Do(ctx, func(context.Context) error { return errPassing }); err != errPassing || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWhatCannotSucceedIsNotRepeated(t *testing.T) {
	attempts := 0
	policy := retry.Policy{Backoff: retry.Backoff{First: time.Hour, Most: time.Hour}, Again: func(error) (bool, time.Duration) { return false, 0 }}
	if err := policy.Do(t.Context(), func(context.Context) error { attempts++; return errPassing }); err != errPassing || attempts != 1 {
		t.Errorf("%v after %d attempts", err, attempts)
	}
}
