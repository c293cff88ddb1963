package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
)

// What Redis holds of an update. While it is in hand, that is the owner of the
// claim; a claim that is not renewed lapses, and the update is free again.
const (
	answered = "answered"
	// givenUp leaves the update free. It is there so that a renewal on its way
	// does not take the claim again, as it does with one that has lapsed.
	givenUp = "given up"
)

var (
	claimUpdate = redis.NewScript(`
local holder = redis.call("GET", KEYS[1])
if holder and holder ~= "` + givenUp + `" then return holder end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return ""`)
	// setClaims sets what Redis holds of updates to ARGV[2], unless it is of
	// another process: a claim that has lapsed may have been taken by it, as
	// Redis may have been away for longer than a claim lasts.
	setClaims = redis.NewScript(`
for _, key in ipairs(KEYS) do
	local holder = redis.call("GET", key)
	if not holder or holder == ARGV[1] then redis.call("SET", key, ARGV[2], "PX", ARGV[3]) end
end
return 0`)
)

const (
	// mostRenewed bounds the claims renewed in one call, which keeps Redis busy
	// for about a millisecond.
	mostRenewed = 1000
	// mostUntold bounds the answered updates, at some 100 bytes each, of which
	// Redis is told once it is back.
	mostUntold = 10_000
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
		r.held[shared] = true
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
	delete(r.held, shared)
	r.mu.Unlock()
	r.memory.Release(ctx, key, isAnswered)
	told := r.ask(ctx, func(ctx context.Context) error {
		if isAnswered {
			return r.client.Set(ctx, shared, answered, remembered).Err()
		}
		// Not if another process took it over meanwhile.
		return setClaims.Run(ctx, r.client, []string{shared}, r.owner, givenUp, r.claim.Milliseconds()).Err()
	})
	if told || !isAnswered {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answered) < mostUntold {
		r.answered[shared] = true
	}
}

// renew makes the claims of this process last as long as new ones, and tells
// Redis what was answered while it was away.
func (r *Redis) renew(ctx context.Context) {
	r.set(ctx, r.held, r.owner, r.claim)
	for _, told := range r.set(ctx, r.answered, answered, remembered) {
		r.mu.Lock()
		delete(r.answered, told)
		r.mu.Unlock()
	}
}

// set has Redis hold value for ttl under these keys, and returns those for which
// that was done.
func (r *Redis) set(ctx context.Context, keys map[string]bool, value string, ttl time.Duration) (done []string) {
	r.mu.Lock()
	all := slices.Collect(maps.Keys(keys))
	r.mu.Unlock()
	for some := range slices.Chunk(all, mostRenewed) {
		if r.ask(ctx, func(ctx context.Context) error {
			return setClaims.Run(ctx, r.client, some, r.owner, value, ttl.Milliseconds()).Err()
		}) {
			done = append(done, some...)
		}
	}
	return done
}
