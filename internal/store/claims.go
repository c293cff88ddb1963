package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/chat"
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
func (r *Redis) admit(ctx context.Context, claim newClaim, within time.Duration, limits []chat.Limit) (holder string, wait time.Duration) {
	latest := within.Microseconds()
	if within < 0 {
		latest = -1 // Microseconds may have rounded it to 0.
	}
	args := []any{latest, claim.value, r.owner, r.claimTTL.Milliseconds()}
	var keys []string
	for _, l := range limits {
		every := int64(0)
		if l.Refill {
			every = l.Every().Microseconds()
		}
		keys = append(keys, r.key("limit", l.Key))
		args = append(args, l.Count, l.Window.Microseconds(), every)
	}
	if claim.value != "" {
		keys = append(keys, claim.key)
	}
	reply, answered := r.ask(ctx, run(claimAndReserve, keys, args...))
	if !answered {
		wait, _ = r.memory.Reserve(ctx, within, limits...)
		return "", wait
	}
	var micros int64
	values, _ := redis.Values(reply, nil)
	_, _ = redis.Scan(values, &holder, &micros)
	if wait = time.Duration(micros) * time.Microsecond; holder == "" && wait <= within {
		r.memory.note(wait, limits)
	}
	return holder, wait
}

// Reserve implements chat.Limiter.
func (r *Redis) Reserve(ctx context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	_, wait = r.admit(ctx, newClaim{}, within, limits)
	return wait, wait <= within
}

// Claim implements chat.Dedup. It asks the memory of this process before Redis, because Redis
// does not know yet what was done while it was away.
func (r *Redis) Claim(ctx context.Context, key string, limits ...chat.Limit) (p chat.Progress, wait time.Duration) {
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
		r.memory.Release(key, true, 0)
		return chat.Done, 0
	default:
		r.memory.Release(key, false, 0)
		return chat.InFlight, 0
	}
}

// Release implements chat.Dedup. maintain tells Redis, at once or when Redis is back. While
// maxDone releases wait for that, a further claim is not released there: it expires.
func (r *Redis) Release(key string, isDone bool, ttl time.Duration) {
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
	r.memory.Release(key, isDone, ttl)
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

// claimAndReserve makes a claim, if there is one to make, and then reserves a slot.
//
//	KEYS       the keys of the limits; then the key of the claim, if there is one to make
//	ARGV[1]    within, in microseconds; if negative, no slot is reserved
//	ARGV[2]    the value of the claim
//	ARGV[3]    the owner, with which the value begins
//	ARGV[4]    how long the claim lasts, in milliseconds
//	ARGV[5...] for each limit its Count, its Window, and its Every if it refills, else 0; both
//	           times in microseconds
//
// It returns the holder of the claim and the wait for the slot in microseconds. The holder is ""
// if the claim was made, or there was none to make. A claim is made if the key has no claim, one
// of this owner, or one that never expires. Otherwise the holder is the value of the other claim,
// and nothing is reserved.
//
// For the slot it does what MemoryLimiter.Reserve does, by the server's clock, which all replicas
// share. Nothing is reserved if the wait is longer than within.
//
// The value of a limit's key is the time of the last call and then times relative to the last
// call: the slots in the window, or the time at which the bucket is full again. Relative
// times stand still while the server's clock is set back. A value of another form is replaced,
// and one with a time that is months ahead.
var claimAndReserve = redis.NewScript(-1, get+`
local limited = (#ARGV - 4) / 3
local within, value, owner, lasts = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

local key = KEYS[limited + 1]
if key then
	local holder = get(key)
	local own = string.sub(holder, 1, #owner) == owner
	if holder ~= "" and not own and redis.call("PTTL", key) >= 0 then return {holder, 0} end
	redis.call("SET", key, value, "PX", lasts)
end

local clock = redis.call("TIME")
local now = clock[1] * 1000000 + clock[2]

-- parse returns the times of a limit's value that still count, relative to now.
local function parse(text, window)
	local times = {}
	if not string.find(text, "^%d+[%d -]*$") or string.find(text, " " .. string.rep("%d", 14)) then return times end
	local passed -- since the last call
	for number in string.gmatch(text, "-?%d+") do
		local at = tonumber(number)
		if not passed then
			passed = math.max(0, now - at)
		elseif at - passed > -window then
			table.insert(times, at - passed)
		end
	end
	return times
end

local slot, limits = 0, {}
for i = 1, limited do
	local count, window, every = tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3]), tonumber(ARGV[3 * i + 4])
	local used = parse(get(KEYS[i]), window)
	local first = used[#used] or 0 -- the first slot that keeps this limit
	if every > 0 then
		first = first - window + every
	elseif #used >= count then
		first = math.max(first, used[#used - count + 1] + window)
	end
	slot = math.max(slot, first)
	limits[i] = {used = used, window = window, every = every}
end

for i, l in ipairs(limits) do
	local used = l.used
	if slot <= within then
		if l.every > 0 then
			used = {math.max(used[1] or 0, slot) + l.every}
		else
			table.insert(used, slot)
		end
	end
	local needed = used[#used] or 0 -- how long the value still counts
	if l.every == 0 then needed = needed + l.window end
	redis.call("SET", KEYS[i], string.format("%.0f ", now) .. table.concat(used, " "), "PX", math.max(1, math.ceil(needed / 1000)))
end
return {"", slot}`)
