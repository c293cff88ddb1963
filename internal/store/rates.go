package store

import (
	"context"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/ratelimit"
)

// limitScript reserves slots of limits. See ratelimit.Script.
var limitScript = redis.NewScript(-1, ratelimit.Script)

// Reserve implements ratelimit.Limiter.
func (r *Redis) Reserve(
	ctx context.Context, within time.Duration, limits ...ratelimit.Limit,
) (wait time.Duration, ok bool) {
	wait, err := r.runLimitScript(ctx, within, limits)
	if err != nil {
		return r.memory.Reserve(ctx, within, limits...)
	}
	return wait, wait <= min(within, ratelimit.MaxAhead)
}

// Peek implements ratelimit.Limiter.
func (r *Redis) Peek(ctx context.Context, limits ...ratelimit.Limit) (wait time.Duration) {
	const takeNone = -1 // No slot is due within a negative time.
	wait, err := r.runLimitScript(ctx, takeNone, limits)
	if err != nil {
		return r.memory.Peek(ctx, limits...)
	}
	return wait
}

// runLimitScript takes a slot from each limit if all are due within a time, and returns the wait until they are due.
func (r *Redis) runLimitScript(
	ctx context.Context, within time.Duration, limits []ratelimit.Limit,
) (wait time.Duration, err error) {
	if len(limits) == 0 {
		return 0, nil
	}
	return waitIn(r.ask(ctx, limitCall(r.limitArgs(within, limits))))
}

// limitCall returns the call of limitScript with arguments of limitArgs.
func limitCall(args []any) call {
	return func(conn redis.Conn) (any, error) { return limitScript.Do(conn, args...) }
}

// limitArgs returns the arguments of limitScript, with a key for each limit.
func (r *Redis) limitArgs(within time.Duration, limits []ratelimit.Limit) []any {
	var keys []string
	for _, l := range limits {
		keys = append(keys, r.key("limit", l.Key))
	}
	return scriptArgs(keys, ratelimit.Args(within, limits))
}

// waitIn returns the wait in a reply of limitScript.
func waitIn(reply any, err error) (time.Duration, error) {
	microseconds, err := redis.Int64(reply, err)
	return time.Duration(microseconds) * time.Microsecond, err
}

// isNoScript reports whether a reply says that Redis does not know the script yet.
func isNoScript(reply any) bool {
	err, is := reply.(redis.Error)
	return is && strings.HasPrefix(err.Error(), "NOSCRIPT")
}
