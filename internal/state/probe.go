package state

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
	answer, update, turn := r.key("probe", "answer "+id), r.key("probe", "update "+id), r.key("probe", "turn "+id)
	const runScript = "run a script on redis"
	// No call of the client takes longer than connectTimeout.
	fastest = max(connectTimeout, r.timeout)
	for _, step := range []struct {
		attempt string
		do      func() error
	}{
		{"ping redis", func() error { return r.client.Ping(ctx).Err() }},
		{"write to redis", func() error { return r.client.Set(ctx, answer, id, probeTTL).Err() }},
		{"read from redis", func() error { return r.client.GetRange(ctx, answer, 0, maxValue).Err() }},
		{runScript, func() error { return claimUpdate.Run(ctx, r.client, []string{update}, id, ttl).Err() }},
		{runScript, func() error { return setClaims.Run(ctx, r.client, []string{update}, id, id, ttl).Err() }},
		{runScript, func() error { return takeTurn.Run(ctx, r.client, []string{turn}, 0, probeTTL.Microseconds(), 1).Err() }},
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
