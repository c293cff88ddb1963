package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// probeTTL is how long what Probe writes may outlive it.
const probeTTL = 10 * time.Second

// Probe does with Redis what the bot does, whatever came of earlier calls: it
// writes, reads and deletes keys of its own, and runs every script. So it fails
// on a replica that only reads, and for a user who may not run scripts. Each
// call takes at most 300 ms. Its error says what is wrong and nothing of the URL
// or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) error {
	id := rand.Text()
	answer, update, limit := r.key("probe", "answer "+id), r.key("probe", "update "+id), r.key("probe", "limit "+id)
	ttl := probeTTL.Milliseconds()
	// Scripts of one key, so that the later ones find what the first wrote.
	onUpdate := func(script *redis.Script) func() error {
		return func() error { return script.Run(ctx, r.client, []string{update}, id, ttl).Err() }
	}
	const runScript = "run a script on redis"
	for _, step := range []struct {
		attempt string
		do      func() error
	}{
		{"ping redis", func() error { return r.client.Ping(ctx).Err() }},
		{"write to redis", func() error { return r.client.Set(ctx, answer, id, probeTTL).Err() }},
		{"read from redis", func() error { return r.client.Get(ctx, answer).Err() }},
		{runScript, onUpdate(claimUpdate)},
		{runScript, onUpdate(giveUp)},
		{runScript, func() error { return allow.Run(ctx, r.client, []string{limit}, 1, ttl).Err() }},
		{"delete from redis", func() error { return r.client.Del(ctx, answer, update, limit).Err() }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %s", step.attempt, reason(err))
		}
	}
	return nil
}
