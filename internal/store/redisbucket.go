package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// pageSize is about how many values Each reads in one call.
	pageSize = 500
	// pageTimeout is how long Each waits for the answer to one call.
	pageTimeout = 2 * time.Second
)

// redisBucket is a Bucket that is one hash in Redis: a key with a value for each of its fields. It never expires.
type redisBucket struct {
	redis *Redis
	name  string
	key   string // of the hash
}

// Bucket returns the bucket of this name, such as "members/telegram-7000000001". The key of its hash shows the part
// of the name before the slash, so that an operator sees which keys must not be evicted. The key does not depend on
// r.bot, because the name already names the bot.
func (r *Redis) Bucket(name string) Bucket {
	kind, _, _ := strings.Cut(name, "/")
	return redisBucket{redis: r, name: name, key: r.keyWithoutBot(kind, name)}
}

// field returns the name of the field for a key of the bucket. It is hashed, because key may name a user.
func (b redisBucket) field(key string) string {
	return b.redis.hash(b.name + " " + key)
}

// Load implements Bucket.
func (b redisBucket) Load(ctx context.Context, key string) ([]byte, error) {
	saved, err := value(b.redis.ask(ctx, b.loadCall(key)))
	return saved, asUnreadable(err)
}

// loadCall returns the call that reads a value.
func (b redisBucket) loadCall(key string) call {
	return command("HGET", b.key, b.field(key))
}

// asUnreadable returns an *UnreadableError if err says that a value is too large. Otherwise it returns err.
func asUnreadable(err error) error {
	if errors.Is(err, errTooLarge) {
		return &UnreadableError{Values: 1, Err: err}
	}
	return err
}

// replaceFieldScript sets the field ARGV[1] of a hash to ARGV[3] if its value is ARGV[2]. An empty ARGV[2] means that
// there is no such field, and an empty ARGV[3] deletes it. The script returns 1 if it did that, and otherwise 0.
var replaceFieldScript = redis.NewScript(-1, `
local field, old, new = ARGV[1], ARGV[2], ARGV[3]
local saved = redis.call("HGET", KEYS[1], field) or ""
if saved ~= old then
	return 0
end
if new == "" then
	redis.call("HDEL", KEYS[1], field)
else
	redis.call("HSET", KEYS[1], field, new)
end
return 1`)

// replaceScript sets a key to ARGV[2], without an expiry, if its value is ARGV[1]. An empty ARGV[1] means that there is
// no such key, and an empty ARGV[2] deletes it. The script returns 1 if it did that, and otherwise 0.
var replaceScript = redis.NewScript(-1, `
local old, new = ARGV[1], ARGV[2]
local saved = redis.call("GET", KEYS[1]) or ""
if saved ~= old then
	return 0
end
if new == "" then
	redis.call("DEL", KEYS[1])
else
	redis.call("SET", KEYS[1], new)
end
return 1`)

// deleteCall returns the call that deletes a key of Redis if its value is value.
func deleteCall(redisKey, value string) call {
	const deletes = "" // in place of a new value
	return script(replaceScript, []string{redisKey}, value, deletes)
}

// Replace implements Bucket.
func (b redisBucket) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	return b.redis.replace(ctx, value, b.replaceCall(key, old, value))
}

// replaceCall returns the call that replaces a value.
func (b redisBucket) replaceCall(key string, old, value []byte) call {
	return script(replaceFieldScript, []string{b.key}, b.field(key), old, value)
}

// replace makes a call of replaceScript or replaceFieldScript whose new value is value, and reports whether it replaced
// the old one.
func (r *Redis) replace(ctx context.Context, value []byte, replaceCall call) (replaced bool, err error) {
	if len(value) > maxValue {
		return false, errTooLarge
	}
	attempts := 0
	replaced, err = redis.Bool(r.ask(ctx, func(conn redis.Conn) (any, error) {
		attempts++
		return replaceCall(conn)
	}))
	if err != nil {
		return false, fmt.Errorf("replace a value in Redis: %w", err)
	}
	if attempts > 1 && !replaced {
		// The first attempt may have replaced the value, although its answer was lost. So the caller must not learn that
		// another value was there.
		return false, errUnavailable
	}
	return replaced, nil
}

// Each implements Bucket.
func (b redisBucket) Each(ctx context.Context, f func(value []byte)) error {
	var unreadable UnreadableError
	seen := map[string]bool{} // fields that HSCAN has returned; it may return a field twice
	cursor := "0"
	for ctx.Err() == nil {
		next, page, err := b.scan(ctx, cursor)
		if err != nil {
			return err
		}
		for pair := range slices.Chunk(page, 2) {
			field, value := string(pair[0]), pair[1]
			if seen[field] {
				continue
			}
			seen[field] = true
			if len(value) > maxValue {
				unreadable.Values++
				unreadable.Err = errTooLarge
				continue
			}
			f(value)
		}
		if next == "0" {
			break
		}
		cursor = next
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if unreadable.Values > 0 {
		return &unreadable
	}
	return nil
}

// scan returns a page: fields, each followed by its value. It also returns the cursor of the next page. The cursor of
// the first page is "0", and next is "0" if there is no further page.
func (b redisBucket) scan(ctx context.Context, cursor string) (next string, page [][]byte, err error) {
	reply, err := redis.Values(b.redis.ask(ctx, b.scanCall(cursor)))
	if err == nil {
		_, err = redis.Scan(reply, &next, &page)
	}
	if err != nil {
		return "", nil, fmt.Errorf("list the values in Redis: %w", err)
	}
	return next, page, nil
}

// scanCall returns the call that reads a page.
func (b redisBucket) scanCall(cursor string) call {
	return func(conn redis.Conn) (any, error) {
		return redis.DoWithTimeout(conn, pageTimeout, "HSCAN", b.key, cursor, "COUNT", pageSize)
	}
}

// formerRedis is a Bucket that has each value under a key of its own, as versions up to commit b7a8be84 did.
type formerRedis struct{ redis *Redis }

// Former returns a Bucket of the addresses that versions up to commit b7a8be84 saved. Their keys do not depend on the
// bot. Its Each fails.
func (r *Redis) Former() Bucket { return formerRedis{r} }

// key returns the key of a value in Redis.
func (f formerRedis) key(key string) string { return f.redis.keyWithoutBot("members", key) }

// Load implements Bucket.
func (f formerRedis) Load(ctx context.Context, key string) ([]byte, error) {
	saved, err := f.redis.get(ctx, f.key(key))
	return saved, asUnreadable(err)
}

// Replace implements Bucket.
func (f formerRedis) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	return f.redis.replace(ctx, value, script(replaceScript, []string{f.key(key)}, old, value))
}

// Each implements Bucket. It always fails.
func (f formerRedis) Each(context.Context, func(value []byte)) error { return errNotListed }
