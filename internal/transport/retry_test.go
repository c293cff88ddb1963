package transport_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/transport"
)

func TestTheWaitDoublesToItsMaximumAndVaries(t *testing.T) {
	b := transport.Backoff{First: time.Second, Max: 30 * time.Second}
	for failures, longest := range map[int]time.Duration{
		1:    time.Second,
		2:    2 * time.Second,
		6:    30 * time.Second,
		1000: 30 * time.Second,
	} {
		seen := map[time.Duration]bool{}
		for range 100 {
			seen[b.After(failures)] = true
		}
		waits := slices.Sorted(maps.Keys(seen))
		if waits[0] < longest/2 || waits[len(waits)-1] > longest || len(waits) < 50 {
			t.Errorf("after %d failures: %v, want %v to %v", failures, waits, longest/2, longest)
		}
	}
}

// outcome is what do observes of a Policy.
type outcome struct {
	err      error
	attempts int
	retries  int // calls of OnRetry
	took     time.Duration
}

var errFailed = errors.New("failed")

// do runs a policy in simulated time. Its backoff is half a second to a second. Only attempt number succeedsAt
// succeeds, or none if succeedsAt is 0.
func do(ctx context.Context, policy transport.Policy, succeedsAt int) (result outcome) {
	start := time.Now()
	policy.Backoff = transport.Backoff{First: time.Second, Max: time.Second}
	policy.OnRetry = func(error) { result.retries++ }
	result.err = policy.Do(ctx, func(context.Context) error {
		result.attempts++
		if result.attempts == succeedsAt {
			return nil
		}
		return errFailed
	})
	result.took = time.Since(start)
	return result
}

// alwaysAfter returns a function that always asks for another attempt after a wait.
func alwaysAfter(wait time.Duration) func(error) (bool, time.Duration) {
	return func(error) (bool, time.Duration) { return true, wait }
}

func TestAttemptsAreMadeUntilOneSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := do(t.Context(), transport.Policy{ShouldRetry: alwaysAfter(7 * time.Second)}, 4)
		if want := (outcome{attempts: 4, retries: 3, took: 21 * time.Second}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestTheBackoffIsTheMinimumWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := do(t.Context(), transport.Policy{ShouldRetry: alwaysAfter(0)}, 3)
		if got.err != nil || got.attempts != 3 || got.retries != 2 {
			t.Errorf("got %+v, want three attempts", got)
		}
		if got.took < time.Second || got.took > 2*time.Second {
			t.Errorf("the attempts took %v, want two waits of 0.5 s to 1 s", got.took)
		}
	})
}

func TestAFinalErrorIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		final := func(error) (bool, time.Duration) { return false, 0 }
		got := do(t.Context(), transport.Policy{ShouldRetry: final}, 0)
		if got.err == nil || got.attempts != 1 || got.retries != 0 || got.took != 0 {
			t.Errorf("got %+v, want one attempt", got)
		}
	})
}

func TestNoAttemptIsMadeAfterUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := do(t.Context(), transport.Policy{
			ShouldRetry: alwaysAfter(6 * time.Second),
			Until:       time.Now().Add(10 * time.Second),
		}, 0)
		if got.err == nil || got.attempts != 2 || got.retries != 1 || got.took != 6*time.Second {
			t.Errorf("got %+v, want two attempts within 6s", got)
		}
	})
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := do(ctx, transport.Policy{ShouldRetry: alwaysAfter(time.Hour)}, 0)
		if got.err == nil || got.attempts != 1 || got.retries != 1 || got.took != time.Minute {
			t.Errorf("got %+v, want one attempt and a minute", got)
		}
	})
}

func TestRetryAfterReadsSecondsAndDates(t *testing.T) {
	const month = 31 * 24 * time.Hour
	noon := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return noon.Add(d).Format(http.TimeFormat) }
	for value, want := range map[string]time.Duration{
		"":                     0,
		"7":                    7 * time.Second,
		"0.25":                 250 * time.Millisecond,
		"0":                    0,
		"-5":                   0,
		"3000000000":           month,
		"9999999999999":        month,
		"5m":                   0,
		"NaN":                  0,
		"soon":                 0,
		date(90 * time.Second): 90 * time.Second,
		date(-time.Hour):       0,
		date(20 * month):       month,
	} {
		header := http.Header{"Retry-After": {value}, "Date": {date(0)}}
		if got := transport.RetryAfter(header); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestRetryAfterReadsADateByThisMachinesClock(t *testing.T) {
	until := http.Header{"Retry-After": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}
	if got := transport.RetryAfter(until); got < 59*time.Minute || got > time.Hour {
		t.Errorf("without a Date, an hour from now is %v", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("12")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, value string) {
		after := transport.RetryAfter(http.Header{"Retry-After": {value}})
		if after < 0 || after > 31*24*time.Hour {
			t.Fatalf("%q: %v", value, after)
		}
	})
}
