package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Load implements query.Store. It fails if the value has more than maxValue bytes, or if Redis is unavailable. If there
// is no value, Load returns the value that a version up to commit b7a8be84 saved. A value of another type, which
// another program wrote, counts as no value.
func (r *Redis) Load(ctx context.Context, key string) ([]byte, error) {
	value, err := r.get(ctx, r.key("answer", key))
	if err == nil && value == nil {
		value, err = r.get(ctx, r.keyWithoutBot("answer", key))
	}
	if isWrongType(err) {
		return nil, nil
	}
	return value, err
}

// Save implements query.Store. It does nothing while Redis is unavailable. ttl is at least 1 ms. value must not be
// empty.
func (r *Redis) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	_, _ = r.ask(ctx, command("SET", r.key("answer", key), value, "PX", ttl.Milliseconds()))
}

// get returns the string under a key of Redis, as value does.
func (r *Redis) get(ctx context.Context, redisKey string) ([]byte, error) {
	return value(r.ask(ctx, command("GET", redisKey)))
}

// value returns the value in a reply, or nil if the reply says that there is none. It fails if the value has more than
// maxValue bytes.
func value(reply any, err error) ([]byte, error) {
	found, err := redis.Bytes(reply, err)
	switch {
	case errors.Is(err, redis.ErrNil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read a value in Redis: %w", err)
	case len(found) > maxValue:
		return nil, errTooLarge
	}
	return found, nil
}
