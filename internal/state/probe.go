package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// probeTTL is how long what Probe writes may outlive it.
const probeTTL = 10 * time.Second

// Probe does with Redis what the bot does, whatever came of earlier calls: it
// writes, reads and deletes a key of its own, and runs every script. So it fails
// on a replica that only reads, and for a user who may not run scripts. Each
// call takes at most 300 ms. Its error says what is wrong and nothing of the URL
// or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) error {
	id := rand.Text()
	key := r.key("probe", id)
	keys, ttl := []string{key}, probeTTL.Milliseconds()
	for _, step := range []struct {
		attempt string
		do      func() error
	}{
		{"ping redis", func() error { return r.client.Ping(ctx).Err() }},
		{"write to redis", func() error { return r.client.Set(ctx, key, id, probeTTL).Err() }},
		{"read from redis", func() error { return r.client.Get(ctx, key).Err() }},
		{"delete from redis", func() error { return r.client.Del(ctx, key).Err() }},
		{"run a script on redis", func() error { return claimUpdate.Run(ctx, r.client, keys, id, ttl).Err() }},
		{"run a script on redis", func() error { return giveUp.Run(ctx, r.client, keys, id).Err() }},
		{"run a script on redis", func() error { return allow.Run(ctx, r.client, keys, 1, ttl).Err() }},
		{"delete from redis", func() error { return r.client.Del(ctx, key).Err() }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %s", step.attempt, reason(err))
		}
	}
	return nil
}
