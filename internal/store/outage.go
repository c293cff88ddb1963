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
	// callTimeout bounds one call to Redis unless the URL says otherwise.
	callTimeout = 10 * time.Millisecond
	// turnTimeout is how long a call waits for a connection.
	turnTimeout = 500 * time.Millisecond
	// checkPause is how often a Redis that is away is tried.
	checkPause = 500 * time.Millisecond
	// connectTimeout bounds the making of connections, which are ready before a call.
	connectTimeout = 3 * time.Second
)

// ask makes a call and reports whether Redis answered it. After a call that failed
// or took too long nobody asks, until check has found that Redis answers again. So
// a Redis that is away costs one command one call.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
		if r.Up() {
			if r.try(ctx, call) == nil {
				return true
			}
			r.up.Store(false)
		}
	case <-time.After(turnTimeout):
	}
	r.fallbacks.Add(1)
	return false
}

// try makes a call. It goes on when ctx is cancelled: what a command did must be
// written down also when its time is up.
func (r *Redis) try(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	return call(ctx)
}

// Connect makes the connections for later calls, so that no command waits for a
// handshake. It holds each until all are made. It takes at most 3 seconds.
func (r *Redis) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	r.useAll(ctx)
	if err := r.client.Ping(ctx).Err(); err != nil {
		return err
	}
	var pings sync.WaitGroup
	for range r.client.Options().PoolSize {
		conn := r.client.Conn()
		defer func() { _ = conn.Close() }()
		pings.Go(func() { _ = conn.Ping(ctx).Err() })
	}
	pings.Wait()
	return nil
}

// useAll uses all connections that there are, so that the server closes none. Those
// that are dead are dropped.
func (r *Redis) useAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout/3)
	defer cancel()
	var pings sync.WaitGroup
	for range r.client.PoolStats().IdleConns {
		pings.Go(func() { _ = r.client.Ping(ctx).Err() })
	}
	pings.Wait()
}

// maintain renews the claims and the connections, and looks after a Redis that is
// away, until ctx is done. It logs an outage that a check has seen, and its end.
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
				r.useAll(ctx)
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

// Probe does with Redis what the bot does, whatever came of earlier calls: it runs a
// script that writes a key, which lapses. So it fails on a replica that only reads,
// for a user who may not run scripts, and if three calls each take longer than a call
// may. After that nobody asks Redis until a check succeeds. Its error says what is
// wrong and nothing of the URL or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) error {
	err := r.Connect(ctx)
	if err == nil {
		for range 3 {
			if err = r.try(ctx, r.write); err == nil {
				return nil
			}
		}
	}
	r.up.Store(false)
	return fmt.Errorf("write to redis: %s", reason(err))
}

func (r *Redis) write(ctx context.Context) error {
	return reserve.Run(ctx, r.client, []string{r.key("probe", r.owner)}, 0, 1, 1000, 0).Err()
}

// reason words err with the server's error code, but without the rest of its text.
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
