package transport

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// Backoff is the wait before another attempt: about First after the first failure, twice
// as long after each further one, at most Max.
type Backoff struct{ First, Max time.Duration }

// After returns the wait after that many failures in a row, at least 1. It varies by half,
// at random, so that replicas do not all retry at once.
func (b Backoff) After(failures int) time.Duration {
	d := min(b.First<<min(failures-1, 20), b.Max)
	return d/2 + rand.N(d/2+1)
}

// Sleep blocks for d and returns true, or returns false once ctx is done.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Policy decides what the chat adapters retry, and for how long; package core retries the
// services. No library fits: the jitter of one shortens the wait that a platform asked
// for, and another makes a last attempt when the time is up, in spite of that wait.
type Policy struct {
	Backoff Backoff
	// Until is the latest start of an attempt; zero: no limit.
	Until time.Time
	// Again reports whether to retry after err, and the shortest wait before it.
	Again func(err error) (again bool, atLeast time.Duration)
	// Failed, unless nil, is called before each wait with the failures so far.
	Failed func(err error, failures int, wait time.Duration)
}

// Do calls attempt until it succeeds, and blocks meanwhile. It returns attempt's last error
// if Again says no, after Until, or once ctx is done.
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
		if p.Failed != nil {
			p.Failed(err, failures, wait)
		}
		if !Sleep(ctx, wait) {
			return err
		}
	}
}

// maxRetryAfter bounds RetryAfter's result: no service or platform has a limit that lasts
// longer than a month.
const maxRetryAfter = 31 * 24 * time.Hour

// RetryAfter returns the wait that a response asks for, from 0 to 31 days; 0 if it asks for
// none. The header has seconds, which Discord writes with a fraction, or a date
// (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3). A date is compared with the
// response's Date, so that this machine's clock does not matter.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	wait, _ := time.ParseDuration(value + "s")
	if until, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(header.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		wait = until.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
