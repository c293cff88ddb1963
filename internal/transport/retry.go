package transport

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// Backoff is how long to wait before another attempt: about First after the first
// failure, twice as long after each further one, and at most Max.
type Backoff struct{ First, Max time.Duration }

// After returns the wait after that many failures in a row, at least 1. A random
// half of it is left out, so that replicas do not all return at once.
func (b Backoff) After(failures int) time.Duration {
	d := min(b.First<<min(failures-1, 20), b.Max)
	return d/2 + rand.N(d/2+1)
}

// Sleep waits for d. It returns false if ctx ended first.
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

// Policy says what is retried, and for how long. It is for the chat adapters;
// package core retries the services. Libraries do not fit here: their jitter may
// shorten the wait that a platform asked for, and some make a last attempt when the
// time is up, however long they were asked to wait.
type Policy struct {
	Backoff Backoff
	// Until is when to give up; no attempt starts later. Zero is never.
	Until time.Time
	// Again reports whether another attempt may succeed after err, and how long to
	// wait for it at least.
	Again func(err error) (again bool, atLeast time.Duration)
	// Failed, unless nil, is called before each wait with the failures so far.
	Failed func(err error, failures int, wait time.Duration)
}

// Do calls attempt until it succeeds. It returns attempt's last error once that
// cannot be retried, it is too late to, or ctx is done.
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

// maxRetryAfter bounds what RetryAfter returns: no limit of a service or a platform
// here lasts longer than a month.
const maxRetryAfter = 31 * 24 * time.Hour

// RetryAfter returns how long a response asks to wait, from 0 to 31 days: seconds,
// which Discord writes with a fraction, or the time until a date
// (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3). It is 0 if the header has
// neither. A date is compared with the response's own Date, so that this machine's
// clock does not matter.
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
