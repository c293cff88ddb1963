package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// callTimeout bounds the wait for an answer of Redis unless the URL says otherwise. It
	// bounds Redis, and has to leave room for a busy processor of this machine.
	callTimeout = 50 * time.Millisecond
	// connectTimeout bounds the wait for a connection, and the making of one.
	connectTimeout = time.Second
	// checkPause is how often a Redis that is away is tried.
	checkPause = 500 * time.Millisecond
)

// ask makes a call and reports whether Redis answered it. It does so also when ctx is
// cancelled: what a command did must be saved although its time is up. After a failed call
// ask returns false at once, until maintain has found that Redis answers again. So a Redis
// that is away costs one command one call: three timeouts, or two seconds if it has to
// connect and nobody refuses.
//
// ask makes a call once more if its connection breaks or Redis does not answer in time.
// It pings before, which drops dead connections: a restart of Redis leaves only those.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	if r.Up() {
		ctx = context.WithoutCancel(ctx)
		err := call(ctx)
		if _, replied := errors.AsType[redis.Error](err); err != nil && !replied {
			r.pingIdle(ctx)
			err = call(ctx)
		}
		if err == nil {
			return true
		}
		r.up.Store(false)
	}
	r.fallbacks.Add(1)
	return false
}

// pingIdle pings on all idle connections at once, so that the server closes none. Dead
// ones are replaced. It blocks until all have answered or failed; simultaneous callers
// share the pings.
func (r *Redis) pingIdle(ctx context.Context) {
	_, _, _ = r.pings.Do("", func() (any, error) {
		var pings sync.WaitGroup
		for range r.client.PoolStats().IdleConns {
			pings.Go(func() { _ = r.client.Ping(ctx).Err() })
		}
		pings.Wait()
		return nil, nil
	})
}

// maintain renews the claims and the connections, and checks a Redis that is away, until
// ctx is done. It logs an outage that lasts until a check, and its end.
func (r *Redis) maintain(ctx context.Context) {
	renewal, check := time.NewTicker(r.claim/3), time.NewTicker(checkPause)
	defer renewal.Stop()
	defer check.Stop()
	logged := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
			if r.Up() {
				r.pingIdle(ctx)
				r.renew(ctx)
			}
		case <-check.C:
			if r.Up() {
				continue
			}
			switch err := r.Probe(ctx); {
			case err != nil && !logged && ctx.Err() == nil:
				r.log.Warn("redis does not answer, using in-process state", "reason", err)
				logged = true
			case err == nil:
				if logged {
					r.log.Info("redis answers again")
				}
				logged = false
				r.up.Store(true)
				r.renew(ctx)
			}
		}
	}
}

// Probe runs a script that writes a key, which expires. So it fails on a replica that
// only reads and for a user who may not run scripts. Then nobody asks Redis until a later
// Probe succeeds. The error says what is wrong, without the URL and the server's text. It
// blocks for 4 seconds at most.
func (r *Redis) Probe(ctx context.Context) error {
	r.pingIdle(ctx)
	err := reserve.Run(ctx, r.client, []string{r.key("probe", r.owner)}, 0, 1, 1000, 0).Err()
	if err != nil {
		r.up.Store(false)
		return fmt.Errorf("write to redis: %s", reason(err))
	}
	return nil
}

// reason returns what err is about: the server's error code, without the rest of its text.
func reason(err error) string {
	var reply redis.Error
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &reply):
		if code, _, _ := strings.Cut(reply.Error(), " "); code == strings.ToUpper(code) {
			return "refused with " + code
		}
		return "refused"
	}
	return "no connection"
}
