package state

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
	giveUp = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("SET", KEYS[1], "` + givenUp + `", "PX", ARGV[2]) end
return 0`)
	// renewClaims takes a claim that has lapsed again, unless somebody else
	// did: Redis may have been away for longer than a claim lasts.
	renewClaims = redis.NewScript(`
for _, key in ipairs(KEYS) do
	local holder = redis.call("GET", key)
	if not holder or holder == ARGV[1] then redis.call("SET", key, ARGV[1], "PX", ARGV[2]) end
end
return 0`)
)

// mostRenewed bounds the claims renewed in one call, which keeps Redis busy for
// about a millisecond.
const mostRenewed = 1000

// Begin implements chat.Dedup. What this process knows by itself counts first:
// it may have answered while Redis was away.
func (r *Redis) Begin(ctx context.Context, key string) chat.Delivery {
	if known := r.memory.Begin(ctx, key); known != chat.Fresh {
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
		return chat.Fresh
	case holder == answered:
		r.memory.End(ctx, key, true)
		return chat.Answered
	}
	r.memory.End(ctx, key, false)
	return chat.InHand
}

// End implements chat.Dedup.
func (r *Redis) End(ctx context.Context, key string, isAnswered bool) {
	shared := r.key("update", key)
	r.mu.Lock()
	delete(r.held, shared)
	r.mu.Unlock()
	r.memory.End(ctx, key, isAnswered)
	r.ask(ctx, func(ctx context.Context) error {
		if isAnswered {
			return r.client.Set(ctx, shared, answered, remembered).Err()
		}
		// Not if another process took it over meanwhile.
		return giveUp.Run(ctx, r.client, []string{shared}, r.owner, r.claim.Milliseconds()).Err()
	})
}

// renewUntil renews the claims of this process until ctx is done, three times
// in the time that a claim lasts.
func (r *Redis) renewUntil(ctx context.Context) {
	tick := time.NewTicker(r.claim / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.renew(ctx)
		}
	}
}

// renew makes the claims of this process last as long as new ones.
func (r *Redis) renew(ctx context.Context) {
	r.mu.Lock()
	held := slices.Collect(maps.Keys(r.held))
	r.mu.Unlock()
	for keys := range slices.Chunk(held, mostRenewed) {
		r.ask(ctx, func(ctx context.Context) error {
			return renewClaims.Run(ctx, r.client, keys, r.owner, r.claim.Milliseconds()).Err()
		})
	}
}
