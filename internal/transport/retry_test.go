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

func TestTheWaitGrowsToItsMaximumAndIsNeverTheSame(t *testing.T) {
	b := transport.Backoff{First: time.Second, Max: 30 * time.Second}
	for failures, longest := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 30 * time.Second, 1000: 30 * time.Second} {
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

func TestAnAttemptIsRepeatedWhileItMayAndThereIsTime(t *testing.T) {
	passing := errors.New("passing")
	for name, c := range map[string]struct {
		succeedsAt int // 0 is never
		final      bool
		asks       time.Duration
		until, end time.Duration // 0: no limit
		attempts   int
		retries    int           // calls of OnRetry
		took       time.Duration // at least, and less than a second more
	}{
		"until it succeeds":           {succeedsAt: 4, asks: 7 * time.Second, attempts: 4, retries: 3, took: 21 * time.Second},
		"with the backoff alone":      {succeedsAt: 3, attempts: 3, retries: 2, took: time.Second},
		"what cannot succeed":         {final: true, attempts: 1},
		"until it is too late":        {asks: 6 * time.Second, until: 10 * time.Second, attempts: 2, retries: 1, took: 6 * time.Second},
		"until the context has ended": {asks: time.Hour, end: time.Minute, attempts: 1, retries: 1, took: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, start, attempts, retries := t.Context(), time.Now(), 0, 0
			policy := transport.Policy{
				Backoff:     transport.Backoff{First: time.Second, Max: time.Second},
				ShouldRetry: func(error) (bool, time.Duration) { return !c.final, c.asks },
				OnRetry:     func(error) { retries++ },
			}
			if c.until > 0 {
				policy.Until = start.Add(c.until)
			}
			if c.end > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.end)
				defer cancel()
			}
			err := policy.Do(ctx, func(context.Context) error {
				if attempts++; attempts == c.succeedsAt {
					return nil
				}
				return passing
			})
			took := time.Since(start)
			if (err == nil) != (c.succeedsAt > 0) || attempts != c.attempts || retries != c.retries || took < c.took || took > c.took+time.Second {
				t.Errorf("%s: %v after %d attempts, %d retries and %v", name, err, attempts, retries, took)
			}
		})
	}
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
