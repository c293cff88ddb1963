package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// callTimeout bounds the wait for an answer of Redis unless the URL says otherwise. A
	// healthy Redis takes far less; the rest is for this machine's own delays under load.
	callTimeout = 50 * time.Millisecond
	// connectTimeout bounds the wait for a free connection, and also that for a new one.
	connectTimeout = time.Second
	// checkPause is the time between two checks of a Redis that is down.
	checkPause = 500 * time.Millisecond
)

// ask makes a call and reports whether Redis answered it. It ignores that ctx is cancelled:
// what a command did must be saved even if the command's time is up. It makes no call and
// returns false while Redis is down: from a failed call until maintain reaches Redis again.
//
// ask retries a call once if the connection broke or Redis did not answer in time. Before
// the retry, ask pings the idle connections: a restart of Redis breaks them all, and so may a
// server or a network that closes what is idle. ask blocks for three times the call's time
// limit at most, or for 2 seconds if it has to connect.
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

// pingIdle pings on all idle connections at once, so that the client replaces broken ones. It
// blocks until all pings have ended; simultaneous callers share them.
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

// maintain blocks until ctx is done. While Redis is up, it renews claims, tells Redis of
// released ones and pings the connections. While Redis is down, it checks Redis, and logs the
// first failed check and the end of the outage.
func (r *Redis) maintain(ctx context.Context) {
	renewal, check := time.NewTicker(r.claimTTL/3), time.NewTicker(checkPause)
	defer renewal.Stop()
	defer check.Stop()
	logged := false
	for {
		select {
		case <-ctx.Done():
			r.syncReleased(ctx)
			return
		case <-r.releasing:
			if r.Up() {
				r.syncReleased(ctx)
			}
		case <-renewal.C:
			if r.Up() {
				r.renew(ctx)
			}
		case <-check.C:
			if r.Up() {
				continue
			}
			switch err := r.Probe(ctx); {
			case err != nil && !logged && ctx.Err() == nil:
				r.log.Warn("redis cannot be used, using in-process state", "reason", err)
				logged = true
			case err == nil:
				if logged {
					r.log.Info("redis can be used again")
				}
				logged = false
				r.up.Store(true)
				r.syncReleased(ctx)
				r.renew(ctx)
			}
		}
	}
}
