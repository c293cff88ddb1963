package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// valueKey returns the key of a value in Redis. The rows of members have a kind of their own,
// so that an operator can tell what must not be evicted.
func (r *Redis) valueKey(key string) string {
	if strings.HasPrefix(key, "members ") {
		return r.key("members", key)
	}
	return r.key("answer", key)
}

var (
	// errAway is the error of Load and Replace while Redis is down.
	errAway = errors.New("redis does not answer, or refuses")
	// errTooLarge is the error of Load and Replace for a value of more than maxValue bytes.
	errTooLarge = errors.New("the value in redis is too large")
)

// Load returns the value that a replica saved under key, or nil if there is none. It fails if
// the value is larger than 256 KiB, or if Redis does not answer.
func (r *Redis) Load(ctx context.Context, key string) (value []byte, err error) {
	reply, answered := r.ask(ctx, func(conn redis.Conn) (any, error) {
		reply, err := conn.Do("GETRANGE", r.valueKey(key), 0, maxValue)
		if err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return nil, nil // Another program's; the next Save replaces it.
		}
		return reply, err
	})
	value, _ = redis.Bytes(reply, nil)
	switch {
	case !answered:
		return nil, errAway
	case len(value) > maxValue:
		return nil, errTooLarge
	case len(value) == 0:
		return nil, nil
	}
	return value, nil
}

// Save sets the value of key for all replicas, if Redis answers. ttl is at least 1 ms.
// value must not be empty.
func (r *Redis) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	r.ask(ctx, command("SET", r.valueKey(key), value, "PX", ttl.Milliseconds()))
}

// get is the function of the scripts that returns the string under a key, or "" if there is
// none or a value of another type. It fails on any other error, so that no refusal passes for
// a missing value. The bot writes no values of another type, and replaces them.
const get = `
local function get(key)
	local held = redis.pcall("GET", key)
	if type(held) == "table" and not string.find(held.err, "^WRONGTYPE") then redis.call("GET", key) end
	return type(held) == "string" and held or ""
end`

// replace sets a key to ARGV[2] if the key holds ARGV[1]. An empty ARGV[2] deletes the key.
var replace = redis.NewScript(-1, get+`
if get(KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == "" then
	redis.call("DEL", KEYS[1])
else
	redis.call("SET", KEYS[1], ARGV[2])
end
return 1`)

// Replace saves value without an expiry and returns true if old is the value of key; an empty
// old stands for no value, and an empty value deletes. It returns false for another value. It
// fails if value is larger than 256 KiB, or if Redis does not answer: then either value may be
// saved.
func (r *Redis) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	if len(value) > maxValue {
		return false, errTooLarge
	}
	calls, script := 0, run(replace, []string{r.valueKey(key)}, old, value)
	reply, answered := r.ask(ctx, func(conn redis.Conn) (any, error) {
		calls++
		return script(conn)
	})
	replaced, _ = redis.Bool(reply, nil)
	if !answered || calls > 1 && !replaced {
		// The first call may have replaced the value without an answer.
		return false, errAway
	}
	return replaced, nil
}
