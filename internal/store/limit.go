package store

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
)

// reserve does what Slots does, in microseconds of the server's clock, which all
// replicas share. ARGV are within, and for each key its Count, its Window, 0 or
// how long its bucket takes to get an event back, and its Start. It returns the
// wait, and takes no slot if that is longer than within.
//
// A key holds the time of the last call, and relative to that the slots of its
// window, or when its bucket will be full again. So a clock that is set back only
// makes no time pass. What is not of this form is replaced.
var reserve = redis.NewScript(`
local clock = redis.call("TIME")
local now, slot, limits = clock[1] * 1000000 + clock[2], 0, {}
for i, key in ipairs(KEYS) do
	local count, window, every, start = tonumber(ARGV[4 * i - 2]), tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
	local used, text, passed = {}, redis.pcall("GET", key), nil
	if type(text) == "string" and string.find(text, "^%d+[%d -]*$") then
		for number in string.gmatch(text, "-?%d+") do
			local at = tonumber(number)
			if not passed then
				passed = math.max(0, now - at)
			elseif at - passed > -window then
				table.insert(used, at - passed)
			end
		end
	elseif start > 0 then
		used = {(count - start) * every}
	end
	local first = used[#used] or 0
	if every > 0 then
		first = first - window + every
	elseif #used >= count then
		first = math.max(first, used[#used - count + 1] + window)
	end
	slot = math.max(slot, first)
	limits[i] = {used = used, window = window, every = every, start = start}
end
for i, key in ipairs(KEYS) do
	local used, l = limits[i].used, limits[i]
	if slot <= tonumber(ARGV[1]) then
		if l.every > 0 then
			used = {math.max(used[1] or 0, slot) + l.every}
		else
			table.insert(used, slot)
		end
	end
	local needed = used[#used] or 0
	if l.every == 0 then needed = needed + l.window end
	if l.start > 0 then needed = needed + 31 * 24 * 3600 * 1000000 end
	redis.call("SET", key, string.format("%.0f ", now) .. table.concat(used, " "), "PX", math.max(1, math.ceil(needed / 1000)))
end
return slot`)

// Reserve implements chat.Limiter. It takes note in this process of what Redis gives
// out, so that losing Redis gives nobody as much again.
func (r *Redis) Reserve(ctx context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	keys, args := make([]string, len(limits)), []any{within.Microseconds()}
	for i, l := range limits {
		keys[i] = r.key("limit", l.Key)
		every := int64(0)
		if l.Refill {
			every = l.Every().Microseconds()
		}
		args = append(args, l.Count, l.Window.Microseconds(), every, l.Start)
	}
	var micros int64
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		micros, err = reserve.Run(ctx, r.client, keys, args...).Int64()
		return err
	})
	kept := slices.ContainsFunc(limits, func(l chat.Limit) bool { return l.Start > 0 })
	switch wait = time.Duration(micros) * time.Microsecond; {
	case !reached && kept:
		return checkPause, false
	case !reached:
		return r.memory.Reserve(ctx, within, limits...)
	case wait > within:
		return wait, false
	case !kept:
		r.memory.reserve(ctx, wait, math.MaxInt64, limits)
	}
	return wait, true
}
