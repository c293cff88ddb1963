package transport

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Backoff is the wait before a retry. It is First after one failure, doubles with each further failure in a row,
// and is at most Max.
type Backoff struct{ First, Max time.Duration }

// After returns the wait after a number of failures in a row, which must be at least 1. The wait is random, from half
// of the Backoff to the whole, so that replicas do not all retry at the same time.
//
// For example, if First is 1 s and Max is 1 min, After(3) is from 2 s to 4 s.
func (b Backoff) After(failures int) time.Duration {
	const maxShift = 20 // A longer shift could overflow.
	wait := min(b.First<<min(failures-1, maxShift), b.Max)
	return wait/2 + rand.N(wait/2+1)
}

// Sleep blocks for d, or until ctx is done. It reports whether ctx is still not done.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Policy decides which calls to a platform are retried, and for how long. (Package query retries calls to services.) A
// retry never comes before the time that the platform has asked for. Common libraries do not guarantee that: jitter
// shortens the wait, or there is a last attempt when the time is up.
type Policy struct {
	Backoff Backoff
	// Until is the latest time at which a retry may start. If it is zero, there is no limit.
	Until time.Time
	// ShouldRetry reports whether to retry after err, and returns the minimum wait before the retry.
	ShouldRetry func(err error) (retry bool, minWait time.Duration)
	// OnRetry is called before each wait with the error of the failed attempt. It may be nil.
	OnRetry func(error)
}

// Do calls attempt until it succeeds, and sleeps between attempts. If ShouldRetry returns false, if the next retry
// would start after Until, or if ctx is done, Do returns the error of the last attempt.
func (p Policy) Do(ctx context.Context, attempt func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		retry, minWait := p.ShouldRetry(err)
		wait := max(p.Backoff.After(failures), minWait)
		isTooLate := !p.Until.IsZero() && time.Now().Add(wait).After(p.Until)
		if !retry || isTooLate || ctx.Err() != nil {
			return err
		}
		if p.OnRetry != nil {
			p.OnRetry(err)
		}
		if !Sleep(ctx, wait) {
			return err
		}
	}
}

// maxRetryAfter is the maximum result of RetryAfter. The longest limits of services and platforms last a month.
const maxRetryAfter = 31 * 24 * time.Hour

// RetryAfter returns the wait in a response's Retry-After header, from 0 to maxRetryAfter. It returns 0 if there is
// no valid header. The header is a number of seconds or a date
// (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3). Discord sends fractions of a second.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	var wait time.Duration
	until, err := http.ParseTime(value)
	if err == nil {
		wait = until.Sub(responseTime(header))
	} else {
		seconds, _ := strconv.ParseFloat(value, 64)
		wait = time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	return min(max(wait, 0), maxRetryAfter)
}

// responseTime returns the time in a response's Date header, or this machine's time if there is no valid header.
func responseTime(header http.Header) time.Time {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Now()
	}
	return date
}
