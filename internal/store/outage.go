package store

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// callTimeout bounds the wait for an answer of Redis unless the URL says otherwise. A
	// healthy Redis takes far less; the rest is for this machine's own delays under load.
	callTimeout = 50 * time.Millisecond
	// connectTimeout bounds the wait for a connection, whether it is free or new.
	connectTimeout = time.Second
	// checkPause is the time between two checks of a Redis that is down.
	checkPause = 500 * time.Millisecond
)

// ask makes a call and returns the reply, if Redis answered. It ignores that ctx is cancelled:
// what a command did must be saved even if the command's time is up. It makes no call and
// returns nil and false while Redis is down: from a failed call until maintain reaches Redis again.
//
// ask retries a call once if the connection broke or Redis did not answer in time. The retry
// takes no connection that was idle: a restart of Redis breaks them all, and so may a
// server or a network that closes what is idle. ask blocks for three times the call's time
// limit at most, or for 2 seconds if it has to connect.
func (r *Redis) ask(ctx context.Context, c call) (reply any, answered bool) {
	if r.Up() {
		ctx = context.WithoutCancel(ctx)
		reply, err := r.do(ctx, c)
		if _, replied := errors.AsType[redis.Error](err); err != nil && !replied {
			r.dropped.Store(new(time.Now()))
			reply, err = r.do(ctx, c)
		}
		if err == nil {
			return reply, true
		}
		r.up.Store(false)
	}
	r.fallbacks.Add(1)
	return nil, false
}

// maintain blocks until ctx is done. While Redis is up, it renews claims and tells Redis of
// released ones. While Redis is down, it checks Redis, and logs the first failed check and the
// end of the outage.
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
