package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// callTimeout is how long a call waits for Redis, unless the URL has a read_timeout. A healthy Redis answers within a
	// few milliseconds. The rest is for delays of this machine under load.
	callTimeout = 50 * time.Millisecond
	// connectTimeout is how long a call waits for a free connection or a new one.
	connectTimeout = time.Second
	// probePause is the time between two probes of a Redis that is unavailable.
	probePause = 500 * time.Millisecond
)

// errUnavailable is returned by ask if Redis does not answer, or refuses a call.
var errUnavailable = errors.New("redis does not answer, or refuses")

// call sends commands to Redis on a connection, and returns the reply.
type call func(redis.Conn) (reply any, err error)

// command returns the call of one command.
func command(name string, args ...any) call {
	return func(conn redis.Conn) (any, error) { return conn.Do(name, args...) }
}

// script returns the call of a script. The script was made by redis.NewScript(-1, …), so its first argument is the
// number of keys.
func script(s *redis.Script, keys []string, args ...any) call {
	all := scriptArgs(keys, args)
	return func(conn redis.Conn) (any, error) { return s.Do(conn, all...) }
}

// scriptArgs returns the arguments of a script: the number of keys, the keys, and args.
func scriptArgs(keys []string, args []any) []any {
	return append(redis.Args{len(keys)}.AddFlat(keys), args...)
}

// ask makes a call and returns the reply. If the call fails, ask returns errUnavailable, and Redis counts as
// unavailable until a probe of watch succeeds. Until then, ask makes no call, and always returns errUnavailable. If the
// key has a value of another type, ask returns an error that isWrongType reports, and Redis stays available.
//
// If the connection breaks or Redis does not answer in time, ask retries the call once. The retry does not use a
// connection that was idle, because a restart of Redis breaks all connections at once. ask ignores cancellation of ctx,
// because a command's results must be saved even after the command has timed out. It blocks for at most three times the
// call's time limit, or 2 seconds if it has to connect.
func (r *Redis) ask(ctx context.Context, c call) (reply any, err error) {
	if !r.Up() {
		r.fallbacks.Add(1)
		return nil, errUnavailable
	}
	ctx = context.WithoutCancel(ctx)
	reply, err = r.do(ctx, c)
	if err != nil && !isReply(err) {
		r.dropIdle()
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

// isWrongType reports whether Redis refused a call because another program's value is under the key. It searches the
// whole text, because before version 7, the refusal of a script begins with other words.
func isWrongType(err error) bool {
	return isReply(err) && strings.Contains(err.Error(), "WRONGTYPE")
}

// do makes a call on a connection of the pool, even while Redis counts as unavailable. It waits for a connection until
// ctx is done, but for at most connectTimeout. Then the call has its own time limit, and ctx does not end it.
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

// dropIdle makes later calls use other connections than those that are idle now.
func (r *Redis) dropIdle() { r.dropped.Store(new(time.Now())) }

// usable returns an error if the connection was already idle when dropIdle was last called. The pool then closes it.
func (r *Redis) usable(_ redis.Conn, idleSince time.Time) error {
	dropped := r.dropped.Load()
	if dropped != nil && !idleSince.After(*dropped) {
		return errUnavailable
	}
	return nil
}

// watch ends outages. While Redis counts as unavailable, it probes Redis once per probePause, until a probe succeeds.
// It logs the first failed probe and the end of the outage. It blocks until ctx is done.
func (r *Redis) watch(ctx context.Context) {
	ticks := time.NewTicker(probePause)
	defer ticks.Stop()
	isLoggedOutage := false
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
		case err != nil && !isLoggedOutage:
			r.log.Warn("redis cannot be used, using in-process state", "reason", err)
			isLoggedOutage = true
		case err == nil:
			r.up.Store(true)
			if isLoggedOutage {
				r.log.Info("redis can be used again")
			}
			isLoggedOutage = false
		}
	}
}
