package store

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
)

// takeTurn is the generic cell rate algorithm
// (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm) over several
// rates at once: each key holds when its bucket will be full again, on the
// server's clock, which all replicas share. ARGV are the longest wait, and each
// key's time between turns and its burst, all times in microseconds. It answers
// the microseconds to wait, and takes no turn if they are too many.
//
// The library redis_rate can say only whether a turn is there now, of one key:
// messages that wait would have to ask again and again.
var takeTurn = redis.NewScript(`
local clock = redis.call("TIME")
local now = clock[1] * 1000000 + clock[2]
local turn, full = now, {}
for i, key in ipairs(KEYS) do
  full[i] = tonumber(redis.call("GET", key) or 0)
  turn = math.max(turn, full[i] - ARGV[2 * i] * (ARGV[2 * i + 1] - 1))
end
if turn - now > tonumber(ARGV[1]) then return turn - now end
for i, key in ipairs(KEYS) do
  full[i] = math.max(full[i], turn) + ARGV[2 * i]
  redis.call("SET", key, string.format("%.0f", full[i]), "PX", math.ceil((full[i] - now) / 1000))
end
return turn - now`)

var _ chat.Turns = (*Redis)(nil)

// Take implements chat.Turns. It is not known whose turn it is while Redis does
// not answer.
func (r *Redis) Take(ctx context.Context, within time.Duration, rates ...chat.Rate) (wait time.Duration, known bool) {
	keys, args := make([]string, len(rates)), []any{within.Microseconds()}
	for i, rate := range rates {
		keys[i] = r.key("turn", rate.Key)
		args = append(args, rate.Every.Microseconds(), rate.Burst)
	}
	var micros int64
	known = r.ask(ctx, func(ctx context.Context) (err error) {
		micros, err = takeTurn.Run(ctx, r.client, keys, args...).Int64()
		return err
	})
	return time.Duration(micros) * time.Microsecond, known
}
