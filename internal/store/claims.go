package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// done is the value of a claim whose work is done. The value of any other claim is its owner
// and a number.
const done = "answered"

// change is a change of a claim that this process has made.
type change struct {
	claim string    // the value that the claim has
	value string    // the value to set; empty: delete the claim
	until time.Time // when the new value expires
}

// newClaim is a claim to be made. The zero newClaim is none.
type newClaim struct{ key, value string }

// admit makes a claim, if there is one to make, and then reserves a slot. It returns the wait
// for the slot. If others have claimed the key, or its work is done, admit returns the value of
// their claim as holder, and reserves nothing. While Redis is away, the memory of this process
// reserves the slot. A slot of Redis is noted in the memory, which then never gives it out again.
func (r *Redis) admit(ctx context.Context, claim newClaim, within time.Duration, limits []ratelimit.Limit) (holder string, wait time.Duration) {
	if claim.value != "" {
		reply, answered := r.ask(ctx, run(claimScript, []string{claim.key}, claim.value, r.owner, r.claimTTL.Milliseconds()))
		if holder, _ = redis.String(reply, nil); answered && holder != "" {
			return holder, 0
		}
	}
	if len(limits) == 0 {
		return "", 0
	}
	var keys []string
	for _, l := range limits {
		keys = append(keys, r.key("rate", l.Key))
	}
	reply, answered := r.ask(ctx, run(limitScript, keys, ratelimit.Args(within, limits)...))
	if !answered {
		wait, _ = r.memory.Reserve(ctx, within, limits...)
		return "", wait
	}
	micros, _ := redis.Int64(reply, nil)
	return "", time.Duration(micros) * time.Microsecond
}

// Reserve implements ratelimit.Limiter.
func (r *Redis) Reserve(ctx context.Context, within time.Duration, limits ...ratelimit.Limit) (wait time.Duration, ok bool) {
	_, wait = r.admit(ctx, newClaim{}, within, limits)
	return wait, wait <= within
}

// Peek implements ratelimit.Limiter.
func (r *Redis) Peek(ctx context.Context, limits ...ratelimit.Limit) (wait time.Duration) {
	_, wait = r.admit(ctx, newClaim{}, -1, limits)
	return wait
}

// Claim implements chat.Dedup. It asks the memory of this process before Redis, because Redis
// does not know yet what was done while it was away.
func (r *Redis) Claim(ctx context.Context, key string, limits ...ratelimit.Limit) (p chat.Progress, wait time.Duration) {
	if known, _ := r.memory.Claim(ctx, key); known != chat.New {
		return known, 0
	}
	claim := newClaim{key: r.claimKey(key), value: fmt.Sprint(r.owner, r.claimed.Add(1))}
	holder, wait := r.admit(ctx, claim, 0, limits)
	switch holder {
	case "":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claims[claim.key] = claim.value
		return chat.New, wait
	case done:
		r.memory.MarkDone(key, time.Hour)
		return chat.Done, 0
	default:
		r.memory.Release(key)
		return chat.InFlight, 0
	}
}

// Release implements chat.Dedup.
func (r *Redis) Release(key string) { r.release(key, false, 0) }

// MarkDone implements chat.Dedup.
func (r *Redis) MarkDone(key string, lasts time.Duration) { r.release(key, true, lasts) }

// release ends a claim. maintain tells Redis, at once or when Redis is back. While
// maxDone releases wait for that, a further claim is not released there: it expires.
func (r *Redis) release(key string, isDone bool, ttl time.Duration) {
	sharedKey := r.claimKey(key)
	r.mu.Lock()
	released := change{claim: r.claims[sharedKey], until: time.Now().Add(ttl)}
	if isDone {
		released.value = done
	}
	delete(r.claims, sharedKey)
	if _, waits := r.released[sharedKey]; waits || len(r.released) < maxDone {
		r.released[sharedKey] = released
	}
	r.mu.Unlock()
	// Only now: earlier, this process could have claimed the key again before the change.
	if isDone {
		r.memory.MarkDone(key, ttl)
	} else {
		r.memory.Release(key)
	}
	select {
	case r.releasing <- struct{}{}:
	default:
	}
}

// claimKey returns the key of a claim in Redis. It says "update" for every kind of work.
func (r *Redis) claimKey(key string) string { return r.key("update", key) }

// changeClaims makes a change for each key. Three elements of ARGV belong to a key: claim, value,
// and the milliseconds until the value expires. If the claim has expired and the key has another,
// only "answered" replaces it.
var changeClaims = redis.NewScript(-1, get+`
for i, key in ipairs(KEYS) do
	local claim, value, lasts = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
	local holder = get(key)
	if holder == "" or holder == claim or value == "answered" then
		if value == "" then
			redis.call("DEL", key)
		else
			redis.call("SET", key, value, "PX", lasts)
		end
	end
end
return 1`)

// maxBatch bounds the changes of one call: Redis takes a millisecond for so many.
const maxBatch = 500

// apply makes the changes of claims, by key. It reports whether Redis answered.
func (r *Redis) apply(ctx context.Context, changes map[string]change) bool {
	for keys := range slices.Chunk(slices.Collect(maps.Keys(changes)), maxBatch) {
		var args []any
		for _, key := range keys {
			c := changes[key]
			args = append(args, c.claim, c.value, max(1, time.Until(c.until).Milliseconds()))
		}
		if _, answered := r.ask(ctx, run(changeClaims, keys, args...)); !answered {
			return false
		}
	}
	return true
}

// renew has every claim of this process last for another claimTTL. Only maintain calls renew and
// syncReleased: a claim that is released meanwhile is renewed first and then changed.
func (r *Redis) renew(ctx context.Context) {
	renewed, until := map[string]change{}, time.Now().Add(r.claimTTL)
	r.mu.Lock()
	for key, value := range r.claims {
		renewed[key] = change{claim: value, value: value, until: until}
	}
	r.mu.Unlock()
	r.apply(ctx, renewed)
}

// syncReleased tells Redis of the released claims. They wait on if Redis does not answer.
func (r *Redis) syncReleased(ctx context.Context) {
	r.mu.Lock()
	released := r.released
	r.released = map[string]change{}
	r.mu.Unlock()
	if !r.apply(ctx, released) {
		r.keepReleased(released)
	}
}

// keepReleased puts older changes back into released, up to maxDone. A newer change of the same
// claim stays.
func (r *Redis) keepReleased(older map[string]change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, c := range older {
		if _, newer := r.released[key]; !newer && len(r.released) < maxDone {
			r.released[key] = c
		}
	}
}

// claimScript makes a claim and returns "", or returns the value of the claim that holds the key.
var claimScript = redis.NewScript(-1, get+`
local value, owner, lasts, key = ARGV[1], ARGV[2], ARGV[3], KEYS[1]
local holder = get(key)
local own = string.sub(holder, 1, #owner) == owner
if holder ~= "" and not own and redis.call("PTTL", key) >= 0 then return holder end
redis.call("SET", key, value, "PX", lasts)
return ""`)

var limitScript = redis.NewScript(-1, ratelimit.Script)
