package store

import (
	"context"
	"maps"

	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
)

// answered is what Redis holds of an answered update. Of one in flight it holds the
// owner of the claim. A claim that is not renewed lapses, and the update is free
// again.
const answered = "answered"

// A value of another type, or one that would never lapse, is not the bot's: it
// is replaced.
var (
	claimUpdate = redis.NewScript(`
local holder = redis.pcall("GET", KEYS[1])
if type(holder) == "string" and redis.call("PTTL", KEYS[1]) >= 0 then return holder end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return ""`)
	// setClaim sets what Redis holds of an update to ARGV[2], or frees it if that is
	// empty, unless another process holds it: it may have taken over a claim that
	// lapsed while Redis was away.
	setClaim = redis.NewScript(`
local holder = redis.pcall("GET", KEYS[1])
if type(holder) == "string" and holder ~= ARGV[1] then return 0 end
if ARGV[2] == "" then return redis.call("DEL", KEYS[1]) end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1`)
)

// maxUpdates bounds the updates, at some 100 bytes each, that Redis is told about
// once it is back.
const maxUpdates = 10_000

// Claim implements chat.Dedup. What this process knows by itself counts first:
// it may have answered while Redis was away.
func (r *Redis) Claim(ctx context.Context, key string) chat.Delivery {
	if known := r.memory.Claim(ctx, key); known != chat.New {
		return known
	}
	var holder string
	shared := r.key("update", key)
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		holder, err = claimUpdate.Run(ctx, r.client, []string{shared}, r.owner, r.claim.Milliseconds()).Text()
		return err
	})
	switch {
	case !reached, holder == "":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.updates[shared] = r.owner
		return chat.New
	case holder == answered:
		r.memory.Release(ctx, key, true)
		return chat.Answered
	}
	r.memory.Release(ctx, key, false)
	return chat.InFlight
}

// Release implements chat.Dedup.
func (r *Redis) Release(ctx context.Context, key string, isAnswered bool) {
	shared, value := r.key("update", key), ""
	if isAnswered {
		value = answered
	}
	r.mu.Lock()
	delete(r.updates, shared)
	r.mu.Unlock()
	r.memory.Release(ctx, key, isAnswered)
	told := r.tell(ctx, shared, value)
	r.mu.Lock()
	defer r.mu.Unlock()
	if isAnswered && !told && len(r.updates) < maxUpdates {
		r.updates[shared] = answered
	}
}

// tell has Redis hold value for an update: the owner, answered, or nothing if it is
// empty.
func (r *Redis) tell(ctx context.Context, shared, value string) bool {
	return r.ask(ctx, func(ctx context.Context) error {
		if value == answered {
			return r.client.Set(ctx, shared, answered, answeredFor).Err()
		}
		return setClaim.Run(ctx, r.client, []string{shared}, r.owner, value, r.claim.Milliseconds()).Err()
	})
}

// renew makes the claims of this process last as long as new ones, and tells
// Redis what was answered while it was away.
func (r *Redis) renew(ctx context.Context) {
	r.mu.Lock()
	updates := maps.Clone(r.updates)
	r.mu.Unlock()
	for shared, value := range updates {
		if !r.tell(ctx, shared, value) {
			return
		}
		if value == answered {
			r.mu.Lock()
			delete(r.updates, shared)
			r.mu.Unlock()
		}
	}
}
