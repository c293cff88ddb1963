package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// callTimeout is how long a call waits for Redis, unless the URL says otherwise. A healthy Redis takes far
	// less; the rest is for this machine's own delays under load.
	callTimeout = 50 * time.Millisecond
	// connectTimeout is how long a call waits for a connection, whether it is free or new.
	connectTimeout = time.Second
	// probePause is the time between two probes of a Redis that is unavailable.
	probePause = 500 * time.Millisecond
)

// errUnavailable is returned by ask if Redis does not answer or refuses.
var errUnavailable = errors.New("redis does not answer, or refuses")

// call makes a call on a connection and returns the reply.
type call func(redis.Conn) (reply any, err error)

// command returns the call of one command.
func command(name string, args ...any) call {
	return func(conn redis.Conn) (any, error) { return conn.Do(name, args...) }
}

// script returns the call of a script whose keyCount is -1.
func script(s *redis.Script, keys []string, args ...any) call {
	all := scriptArgs(keys, args)
	return func(conn redis.Conn) (any, error) { return s.Do(conn, all...) }
}

// scriptArgs returns the arguments of a script whose keyCount is -1.
func scriptArgs(keys []string, args []any) []any {
	return append(redis.Args{len(keys)}.AddFlat(keys), args...)
}

// ask makes a call and returns the reply. It makes no call while Redis is unavailable: from a failed call until
// watch reaches Redis again. Then it fails with errUnavailable. If the key has a value of another type, ask fails
// with the reply of Redis (isWrongType), and Redis stays available.
//
// ask ignores that ctx is cancelled: the result of a command must be saved even if the command's time is up. It
// retries a call once if the connection broke or Redis did not answer in time. The retry takes no connection that
// was idle: a restart of Redis breaks them all, and so may a server or a network that closes idle ones. ask blocks
// for three times the call's time limit at most, or for 2 seconds if it has to connect.
func (r *Redis) ask(ctx context.Context, c call) (reply any, err error) {
	if !r.Up() {
		r.fallbacks.Add(1)
		return nil, errUnavailable
	}
	ctx = context.WithoutCancel(ctx)
	reply, err = r.do(ctx, c)
	if err != nil && !isReply(err) {
		r.dropped.Store(new(time.Now()))
		reply, err = r.do(ctx, c)
	}
	if err == nil || isWrongType(err) {
		return reply, err
	}
	r.up.Store(false)
	r.fallbacks.Add(1)
	return nil, errUnavailable
}

// isReply reports whether err is an error that Redis returned.
func isReply(err error) bool {
	_, is := errors.AsType[redis.Error](err)
	return is
}

// isWrongType reports whether Redis refused a call because another program's value is under the key. Before
// version 7, the refusal of a script begins with other words.
func isWrongType(err error) bool {
	return isReply(err) && strings.Contains(err.Error(), "WRONGTYPE")
}

// do makes a call on a connection of the pool. It waits for a connection until ctx is done, for a second at most.
// The time limit of the call starts then, and ctx does not end it.
func (r *Redis) do(ctx context.Context, c call) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := r.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return c(conn)
}

// usable fails if the connection is idle since dropped or longer. The pool then closes it.
func (r *Redis) usable(_ redis.Conn, idleSince time.Time) error {
	dropped := r.dropped.Load()
	if dropped != nil && !idleSince.After(*dropped) {
		return errUnavailable
	}
	return nil
}

// watch blocks until ctx is done. While Redis is unavailable, it probes Redis. It logs the first failed probe and
// the end of the outage.
func (r *Redis) watch(ctx context.Context) {
	ticks := time.NewTicker(probePause)
	defer ticks.Stop()
	logged := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if r.Up() {
			continue
		}
		err := r.Probe(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !logged:
			r.log.Warn("redis cannot be used, using in-process state", "reason", err)
			logged = true
		case err == nil:
			r.up.Store(true)
			if logged {
				r.log.Info("redis can be used again")
			}
			logged = false
		}
	}
}
