package ratelimit

import "time"

// Script is the Lua script that decides like Memory.Reserve, for Redis 5 and later. It has a key for each limit, and
// the arguments of Args. It returns the wait in microseconds. It takes the slots only if the wait is at most within.
//
// The value of a key is the time at which its bucket is full again, in microseconds of the server's clock, which all
// replicas share. If a key has no value, its bucket is full. The same holds if the value cannot be one of this script:
// it is not a number or not a string, because another program wrote it; or it is later than now + MaxAhead +
// Burst*Every, because the clock was ahead. The script overwrites such a value when it takes a slot.
const Script = `
-- ARGV is within, then burst and every of each key. All times are in microseconds.
local clock = redis.call("TIME")
local now = clock[1] * 1000000 + clock[2]
local within = tonumber(ARGV[1])
local maxAhead = 3600 * 1000000 -- MaxAhead
local longAgo = 0 -- a bucket that became full then is full

local due, fullAt = now, {}
for i, key in ipairs(KEYS) do
	local burst, every = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
	local value = redis.pcall("GET", key)
	if type(value) == "table" and value.err and not string.find(value.err, "^WRONGTYPE") then return value end
	fullAt[i] = type(value) == "string" and tonumber(value) or longAgo
	if fullAt[i] > now + burst * every + maxAhead then fullAt[i] = longAgo end
	local nextSlot = fullAt[i] - (burst - 1) * every
	due = math.max(due, nextSlot)
end
if due - now > within then return due - now end
for i, key in ipairs(KEYS) do
	fullAt[i] = math.max(due, fullAt[i]) + tonumber(ARGV[2 * i + 1])
	redis.call("SET", key, string.format("%.0f", fullAt[i]), "PX", math.ceil((fullAt[i] - now) / 1000))
end
return due - now`

// Args returns the arguments of Script for limits. If within is negative, Script takes no slot.
func Args(within time.Duration, limits []Limit) []any {
	args := []any{microseconds(min(within, MaxAhead))}
	for _, l := range limits {
		args = append(args, l.Burst, microseconds(l.Every))
	}
	return args
}

// microseconds returns d in microseconds. A negative d, however short, stays negative: as 0 it would take a slot.
func microseconds(d time.Duration) int64 {
	if d < 0 {
		return d.Microseconds() - 1
	}
	return d.Microseconds()
}
