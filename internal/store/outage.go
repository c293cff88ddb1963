package store

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// callTimeout bounds one call to Redis unless the URL says otherwise.
	callTimeout = 10 * time.Millisecond
	// retryPause is how long nobody asks Redis after a call that failed.
	retryPause = 500 * time.Millisecond
	// connectTimeout bounds the making of connections, which is no part of a call.
	connectTimeout = 3 * time.Second
	// loggedAfter is how long an outage lasts before it is logged. A shorter one
	// is only counted.
	loggedAfter = time.Second
)

// ask makes a call and reports whether Redis answered it. After a call that
// failed or took too long, the circuit is open: nobody asks for a while, and then
// one call is let through.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	answered := r.circuit.TryAcquirePermit() && r.try(ctx, call)
	if !answered {
		r.fallbacks.Add(1)
	}
	return answered
}

// try makes a call for which there is a permit. It goes on when ctx is cancelled:
// what a command did must be written down also when its time is up.
func (r *Redis) try(ctx context.Context, call func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	err := call(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.circuit.RecordFailure()
		r.noteOutage(err)
		return false
	}
	r.circuit.RecordSuccess()
	r.noteAnswer()
	return true
}

// noteOutage has the outage logged unless it ends soon. mu is held.
func (r *Redis) noteOutage(err error) {
	if r.outage != nil {
		return
	}
	r.outage = time.AfterFunc(loggedAfter, func() {
		r.log.Warn("redis does not answer, this process decides alone", slog.String("reason", reason(err)))
	})
}

// noteAnswer ends the outage, if there is one and this is not the answer to a
// call from before it. mu is held.
func (r *Redis) noteAnswer() {
	if r.outage == nil || !r.circuit.IsClosed() {
		return
	}
	if logged := !r.outage.Stop(); logged {
		r.log.Info("redis answers again")
	}
	r.outage = nil
	select {
	case r.back <- struct{}{}:
	default:
	}
}

// Connect makes the connections for later calls, so that no command waits for a
// handshake. It takes at most 3 seconds; what fails then is tried again in the
// background.
func (r *Redis) Connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if r.client.Ping(ctx).Err() != nil {
		return
	}
	var pings sync.WaitGroup
	for range r.client.Options().PoolSize {
		pings.Go(func() { _ = r.client.Ping(ctx).Err() })
	}
	pings.Wait()
}

// maintain renews the claims, and looks for a Redis that is away, until ctx is
// done.
func (r *Redis) maintain(ctx context.Context) {
	renewal, retry := time.NewTicker(r.claim/3), time.NewTicker(retryPause)
	defer renewal.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
			r.renew(ctx)
		case <-r.back:
			r.renew(ctx)
		case <-retry.C:
			if r.Up() {
				continue
			}
			r.Connect(ctx)
			if r.circuit.TryAcquirePermit() {
				r.try(ctx, r.write)
			}
		}
	}
}

// write does what other calls do, so that it fails where they would: it runs a
// script that writes a key, which lapses.
func (r *Redis) write(ctx context.Context) error {
	return setClaims.Run(ctx, r.client, []string{r.key("probe", r.owner)}, r.owner, r.owner, probeTTL.Milliseconds()).Err()
}

var errorCode = regexp.MustCompile(`^[A-Z]{2,20}$`)

// reason words err without the server's text, of which it keeps the code.
func reason(err error) string {
	var reply redis.Error
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &reply):
		if code, _, _ := strings.Cut(reply.Error(), " "); errorCode.MatchString(code) {
			return "refused with " + code
		}
		return "refused"
	}
	return "no connection"
}
