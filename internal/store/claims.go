package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
)

// done is the value of a claim whose work is done. Any other begins with its owner.
const done = "answered"

// change is what becomes of a claim.
type change struct {
	claim string    // the value of the claim
	value string    // its new value; empty: the claim is deleted
	until time.Time // when it expires
}

// admit claims sharedKey with value, unless value is empty, and then reserves a slot. holder is
// the value of a claim by somebody else, or done, and nothing is reserved then. admit notes
// each slot that Redis gives out in the memory of this process, so that a fallback does not
// give out the slot again.
func (r *Redis) admit(ctx context.Context, sharedKey, value string, within time.Duration, limits []chat.Limit) (holder string, wait time.Duration) {
	args := []any{within.Microseconds(), value, r.owner, r.claimTTL.Milliseconds()}
	var keys []string
	for _, l := range limits {
		every := int64(0)
		if l.Refill {
			every = l.Every().Microseconds()
		}
		keys = append(keys, r.key("limit", l.Key))
		args = append(args, l.Count, l.Window.Microseconds(), every)
	}
	if value != "" {
		keys = append(keys, sharedKey)
	}
	var reply []any
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		reply, err = claimAndReserve.Run(ctx, r.client, keys, args...).Slice()
		return err
	})
	if !reached {
		wait, _ = r.memory.Reserve(ctx, within, limits...)
		return "", wait
	}
	holder, _ = reply[0].(string)
	micros, _ := reply[1].(int64)
	if wait = time.Duration(micros) * time.Microsecond; holder == "" && wait <= within {
		r.memory.note(wait, limits)
	}
	return holder, wait
}

// Reserve implements chat.Limiter.
func (r *Redis) Reserve(ctx context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	_, wait = r.admit(ctx, "", "", within, limits)
	return wait, wait <= within
}

// Claim implements chat.Dedup. It asks the memory of this process before Redis, because
// Redis may not know yet of work that was done while it was away.
func (r *Redis) Claim(ctx context.Context, key string, limits ...chat.Limit) (p chat.Progress, wait time.Duration) {
	if known, _ := r.memory.Claim(ctx, key); known != chat.New {
		return known, 0
	}
	sharedKey, value := r.claimKey(key), fmt.Sprint(r.owner, r.claimed.Add(1))
	switch holder, wait := r.admit(ctx, sharedKey, value, 0, limits); holder {
	case "":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claims[sharedKey] = value
		return chat.New, wait
	case done:
		r.memory.Release(key, true, 0)
		return chat.Done, 0
	}
	r.memory.Release(key, false, 0)
	return chat.InFlight, 0
}

// Release implements chat.Dedup. Redis is told within one call, or once it is back. While more
// releases than maxDone wait for that, further claims only expire.
func (r *Redis) Release(key string, isDone bool, ttl time.Duration) {
	sharedKey := r.claimKey(key)
	r.mu.Lock()
	ended := change{claim: r.claims[sharedKey], until: time.Now().Add(ttl)}
	if isDone {
		ended.value = done
	}
	delete(r.claims, sharedKey)
	if len(r.released) < maxDone {
		r.released[sharedKey] = ended
	}
	r.mu.Unlock()
	r.memory.Release(key, isDone, ttl) // Not before: then this process could claim it anew.
	select {
	case r.releasing <- struct{}{}:
	default:
	}
}

// claimKey returns the key of a claim in Redis. Its kind is update, also if the work is another.
func (r *Redis) claimKey(key string) string { return r.key("update", key) }

// changeClaims changes claims: for each key, ARGV holds the members of a change, with the time
// until it expires in milliseconds. If another claim holds the key, because this one expired,
// only "answered" replaces it.
var changeClaims = redis.NewScript(get + `
for i, key in ipairs(KEYS) do
	local claim, value, holder = ARGV[3 * i - 2], ARGV[3 * i - 1], get(key)
	if holder == "" or holder == claim or value == "answered" then
		if value == "" then
			redis.call("DEL", key)
		else
			redis.call("SET", key, value, "PX", ARGV[3 * i])
		end
	end
end
return 1`)

// maxBatch bounds the changes of one call: Redis takes a millisecond for so many.
const maxBatch = 500

// change makes the changes, by key. It reports whether Redis answered.
func (r *Redis) change(ctx context.Context, changes map[string]change) bool {
	for keys := range slices.Chunk(slices.Collect(maps.Keys(changes)), maxBatch) {
		var args []any
		for _, key := range keys {
			c := changes[key]
			args = append(args, c.claim, c.value, max(1, time.Until(c.until).Milliseconds()))
		}
		if !r.ask(ctx, func(ctx context.Context) error { return changeClaims.Run(ctx, r.client, keys, args...).Err() }) {
			return false
		}
	}
	return true
}

// renew renews the claims of this process.
func (r *Redis) renew(ctx context.Context) {
	renewed, until := map[string]change{}, time.Now().Add(r.claimTTL)
	r.mu.Lock()
	for key, value := range r.claims {
		renewed[key] = change{value, value, until}
	}
	r.mu.Unlock()
	r.change(ctx, renewed)
}

// syncReleased tells Redis of the released claims, and keeps them if Redis does not answer.
func (r *Redis) syncReleased(ctx context.Context) {
	r.mu.Lock()
	released := r.released
	r.released = map[string]change{}
	r.mu.Unlock()
	if r.change(ctx, released) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(released, r.released) // The newer change of a claim stays.
	r.released = released
}

// claimAndReserve makes a claim and then reserves a slot. It returns the holder of the claim
// and the wait for the slot. The last key is that of the claim, if there is one to make:
// ARGV[2] is then its value, ARGV[3] the owner, which begins the value, and ARGV[4] how long
// the claim lasts in milliseconds. The holder is "" if the claim was made: there was none, it
// was this owner's, or it would never have expired. Otherwise nothing is reserved.
//
// For the slot it does what MemoryLimiter.Reserve does, in microseconds of the server's clock,
// which all replicas share. ARGV[1] is within. From ARGV[5] on, ARGV holds for each other key
// the limit's Count, Window and, if the limit refills, Every, else 0. Nothing is reserved if
// the wait is longer than within.
//
// The value of a limit's key is the time of the last call and then times relative to the last
// call: the slots in the window, or the time at which the bucket is full again. Relative
// times stand still while the server's clock is set back. A value of another form is replaced,
// and one with a time that is months ahead.
var claimAndReserve = redis.NewScript(get + `
local limited = (#ARGV - 4) / 3
local key, owner = KEYS[limited + 1], ARGV[3]
if key then
	local holder = get(key)
	local own = string.sub(holder, 1, #owner) == owner
	if holder ~= "" and not own and redis.call("PTTL", key) >= 0 then return {holder, 0} end
	redis.call("SET", key, ARGV[2], "PX", ARGV[4])
end
local clock = redis.call("TIME")
local now, slot, limits = clock[1] * 1000000 + clock[2], 0, {}
for i = 1, limited do
	local count, window, every = tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3]), tonumber(ARGV[3 * i + 4])
	local used, text, passed = {}, get(KEYS[i]), nil
	if string.find(text, "^%d+[%d -]*$") and not string.find(text, " " .. string.rep("%d", 14)) then
		for number in string.gmatch(text, "-?%d+") do
			local at = tonumber(number)
			if not passed then
				passed = math.max(0, now - at)
			elseif at - passed > -window then
				table.insert(used, at - passed)
			end
		end
	end
	local first = used[#used] or 0
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
	if slot <= tonumber(ARGV[1]) then
		if l.every > 0 then
			used = {math.max(used[1] or 0, slot) + l.every}
		else
			table.insert(used, slot)
		end
	end
	local needed = used[#used] or 0
	if l.every == 0 then needed = needed + l.window end
	redis.call("SET", KEYS[i], string.format("%.0f ", now) .. table.concat(used, " "), "PX", math.max(1, math.ceil(needed / 1000)))
end
return {"", slot}`)
