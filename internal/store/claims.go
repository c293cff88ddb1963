package store

import (
	"context"
	"maps"
	"slices"
	"time"

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
	// setClaims sets what Redis holds of updates to ARGV[2], or frees them if that is
	// empty, unless another process holds them: it may have taken over a claim that
	// lapsed while Redis was away.
	setClaims = redis.NewScript(`
for _, key in ipairs(KEYS) do
	local holder = redis.pcall("GET", key)
	local ours = type(holder) ~= "string" or holder == ARGV[1]
	if ours and ARGV[2] == "" then
		redis.call("DEL", key)
	elseif ours then
		redis.call("SET", key, ARGV[2], "PX", ARGV[3])
	end
end
return 0`)
)

const (
	// maxRenewed bounds the claims renewed in one call, which keeps Redis busy for
	// about a millisecond.
	maxRenewed = 1000
	// maxUpdates bounds the updates, at some 100 bytes each, that Redis is told about
	// once it is back.
	maxUpdates = 10_000
)

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
	shared := r.key("update", key)
	r.mu.Lock()
	delete(r.updates, shared)
	r.mu.Unlock()
	r.memory.Release(ctx, key, isAnswered)
	reached := r.ask(ctx, func(ctx context.Context) error {
		if isAnswered {
			return r.client.Set(ctx, shared, answered, answeredFor).Err()
		}
		return setClaims.Run(ctx, r.client, []string{shared}, r.owner, "", 0).Err()
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if isAnswered && !reached && len(r.updates) < maxUpdates {
		r.updates[shared] = answered
	}
}

// renew makes the claims of this process last as long as new ones, and tells
// Redis what was answered while it was away.
func (r *Redis) renew(ctx context.Context) {
	for value, ttl := range map[string]time.Duration{r.owner: r.claim, answered: answeredFor} {
		r.mu.Lock()
		keys := slices.Collect(maps.Keys(r.updates))
		keys = slices.DeleteFunc(keys, func(key string) bool { return r.updates[key] != value })
		r.mu.Unlock()
		for some := range slices.Chunk(keys, maxRenewed) {
			if !r.ask(ctx, func(ctx context.Context) error {
				return setClaims.Run(ctx, r.client, some, r.owner, value, ttl.Milliseconds()).Err()
			}) {
				return
			}
			if value == answered {
				r.mu.Lock()
				for _, key := range some {
					delete(r.updates, key)
				}
				r.mu.Unlock()
			}
		}
	}
}
