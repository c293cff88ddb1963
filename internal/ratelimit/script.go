package ratelimit

import "time"

// Script is the Lua script that decides like Memory, for Redis 5 and later. It has a key for each limit, and the
// arguments of Args. It returns the wait in microseconds. It takes the slots only if the wait is at most within.
//
// The value of a key is the time at which its bucket is full again, in microseconds of the server's clock,
// which all replicas share. A key without a value stands for a full bucket. So does a value that is not a
// number, and one later than now + MaxAhead + Burst*Every, the latest that a call can write: the clock was ahead, or
// another program wrote it.
const Script = `
local clock = redis.call("TIME")
local now = clock[1] * 1000000 + clock[2]
local within = tonumber(ARGV[1])
local maxAhead = 3600 * 1000000 -- MaxAhead

local start, full = now, {}
for i, key in ipairs(KEYS) do
	local burst, every = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
	local value = redis.pcall("GET", key)
	if type(value) == "table" and value.err and not string.find(value.err, "^WRONGTYPE") then return value end
	full[i] = type(value) == "string" and tonumber(value) or 0
	if full[i] > now + burst * every + maxAhead then full[i] = 0 end
	start = math.max(start, full[i] - (burst - 1) * every)
end
if start - now > within then return start - now end
for i, key in ipairs(KEYS) do
	full[i] = math.max(start, full[i]) + tonumber(ARGV[2 * i + 1])
	redis.call("SET", key, string.format("%.0f", full[i]), "PX", math.ceil((full[i] - now) / 1000))
end
return start - now`

// Args returns the arguments of Script for limits. A negative within only asks.
func Args(within time.Duration, limits []Limit) []any {
	args := []any{microseconds(min(within, MaxAhead))}
	for _, l := range limits {
		args = append(args, l.Burst, microseconds(l.Every))
	}
	return args
}

// microseconds returns a negative number for a negative duration, however short.
func microseconds(d time.Duration) int64 {
	if d < 0 {
		return d.Microseconds() - 1
	}
	return d.Microseconds()
}
