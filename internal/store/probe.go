package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// probeTTL is how long what Probe writes outlives it.
const probeTTL = 10 * time.Second

// Probe does with Redis what the bot does, whatever came of earlier calls: it
// writes, reads, and runs every script, on keys of its own. So it fails on a
// replica that only reads, and for a user who may not run scripts. It also fails
// if every call takes longer than a call may. It returns what the fastest took.
// Its error says what is wrong and nothing of the URL or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) (fastest time.Duration, err error) {
	id, ttl := rand.Text(), probeTTL.Milliseconds()
	key := func(kind string) string { return r.key("probe", kind+" "+id) }
	const runScript = "run a script on redis"
	// No call of the client takes longer than connectTimeout.
	fastest = max(connectTimeout, r.timeout)
	for _, step := range []struct {
		attempt string
		do      func() error
	}{
		{"ping redis", func() error { return r.client.Ping(ctx).Err() }},
		{"write to redis", func() error { return r.client.Set(ctx, key("answer"), id, probeTTL).Err() }},
		{"read from redis", func() error { return r.client.GetRange(ctx, key("answer"), 0, maxValue).Err() }},
		{runScript, func() error { return claimUpdate.Run(ctx, r.client, []string{key("update")}, id, ttl).Err() }},
		{runScript, func() error { return setClaims.Run(ctx, r.client, []string{key("update")}, id, id, ttl).Err() }},
		{runScript, func() error { return allow.Run(ctx, r.client, []string{key("limit")}, 1, ttl).Err() }},
		{runScript, func() error {
			return takeTurn.Run(ctx, r.client, []string{key("turn")}, 0, probeTTL.Microseconds(), 1).Err()
		}},
	} {
		start := time.Now()
		if err := step.do(); err != nil {
			return 0, fmt.Errorf("%s: %s", step.attempt, reason(err))
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest > r.timeout {
		return 0, fmt.Errorf("redis is too slow: every call took more than %v", r.timeout)
	}
	return fastest, nil
}
