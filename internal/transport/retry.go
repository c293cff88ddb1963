package transport

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Backoff is the wait before another attempt: First after one failure, doubled by each
// further failure in a row, at most Max.
type Backoff struct{ First, Max time.Duration }

// After returns a random wait between half of the Backoff and all of it, so that replicas do
// not all retry at once. failures counts the failures in a row and must be at least 1.
func (b Backoff) After(failures int) time.Duration {
	d := min(b.First<<min(failures-1, 20), b.Max) // a longer shift could overflow
	return d/2 + rand.N(d/2+1)
}

// Sleep blocks for d or until ctx is done. It reports whether d passed first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Policy decides what the chat adapters retry, and for how long. Calls to services are
// retried by package query. No library fits, because a retry must never come before the wait
// that a platform asked for: one library's jitter shortens that wait, and another library
// makes a last attempt when its time is up.
type Policy struct {
	Backoff Backoff
	// Until is the latest time at which a retry may start; zero: no limit.
	Until time.Time
	// Again reports whether to retry after err, and returns the shortest wait before that.
	Again func(err error) (again bool, atLeast time.Duration)
	// OnRetry, unless nil, is called before each wait, with the error of the last attempt.
	OnRetry func(error)
}

// Do calls attempt until it succeeds, and sleeps between attempts. It returns the last
// error if Again returns false, if the next retry would start after Until, or once ctx is done.
func (p Policy) Do(ctx context.Context, attempt func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		again, atLeast := p.Again(err)
		wait := max(p.Backoff.After(failures), atLeast)
		if !again || ctx.Err() != nil || !p.Until.IsZero() && time.Now().Add(wait).After(p.Until) {
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

// maxRetryAfter is the largest result of RetryAfter. The longest limits of services and
// platforms last a month.
const maxRetryAfter = 31 * 24 * time.Hour

// RetryAfter returns the wait in a response's Retry-After header, at most maxRetryAfter, or 0
// without a valid header. The header holds seconds or a date
// (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3); Discord writes fractions of a
// second. A date is compared with the response's Date header, or else with this machine's
// clock.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	seconds, _ := strconv.ParseFloat(value, 64)
	wait := time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	if until, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(header.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		wait = until.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
