package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// probeTTL is how long what Probe writes may outlive it.
	probeTTL = 10 * time.Second
	// probeTimeout bounds one call of Probe, unless a call of the bot may take
	// longer still. A machine which is busy for a moment is not found wrong.
	probeTimeout = 3 * time.Second
)

// Probe does with Redis what the bot does, whatever came of earlier calls: it
// writes, reads and deletes keys of its own, and runs every script. So it fails
// on a replica that only reads, and for a user who may not run scripts. It also
// fails if every call takes longer than the bot waits for one. Its error says
// what is wrong and nothing of the URL or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) error {
	id := rand.Text()
	probeKey := func(kind string) string { return r.key("probe", kind+" "+id) }
	answer, update, limit, turn := probeKey("answer"), probeKey("update"), probeKey("limit"), probeKey("turn")
	ttl := probeTTL.Milliseconds()
	// Scripts of one key, so that the later ones find what the first wrote.
	onUpdate := func(script *redis.Script) func() error {
		return func() error { return script.Run(ctx, r.client, []string{update}, id, ttl).Err() }
	}
	const runScript = "run a script on redis"
	fastest := probeTimeout
	for _, step := range []struct {
		attempt string
		do      func() error
	}{
		{"ping redis", func() error { return r.client.Ping(ctx).Err() }},
		{"write to redis", func() error { return r.client.Set(ctx, answer, id, probeTTL).Err() }},
		{"read from redis", func() error { return r.client.Get(ctx, answer).Err() }},
		{runScript, onUpdate(claimUpdate)},
		{runScript, onUpdate(renewClaims)},
		{runScript, onUpdate(giveUp)},
		{runScript, func() error { return allow.Run(ctx, r.client, []string{limit}, 1, ttl).Err() }},
		{runScript, func() error { return takeTurn.Run(ctx, r.client, []string{turn}, 0, probeTTL.Microseconds(), 1).Err() }},
		{"delete from redis", func() error { return r.client.Del(ctx, answer, update, limit, turn).Err() }},
	} {
		start := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %s", step.attempt, reason(err))
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest > r.callTimeout {
		return fmt.Errorf("redis is too slow: no call took less than the %v that the bot waits", r.callTimeout)
	}
	return nil
}
