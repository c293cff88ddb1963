package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"time"
)

// probeTTL is how long what Probe writes may outlive it.
const probeTTL = 10 * time.Second

// Server is what Probe has learned of the server.
type Server struct {
	// Version is as in "7.2.4"; empty if the server does not say.
	Version string
	// Fastest is what the fastest call took.
	Fastest time.Duration
}

// Probe does with Redis what the bot does, whatever came of earlier calls: it
// writes, reads and deletes keys of its own, and runs every script. So it fails
// on a replica that only reads, and for a user who may not run scripts. It also
// fails if every call takes longer than a call may. Its error says what is wrong
// and nothing of the URL or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) (Server, error) {
	id, ttl := rand.Text(), probeTTL.Milliseconds()
	key := func(kind string) []string { return []string{r.key("probe", kind+" "+id)} }
	answer, update, limit, turn := key("answer"), key("update"), key("limit"), key("turn")
	const runScript = "run a script on redis"
	// No call of the client takes longer than connectTimeout.
	fastest := max(connectTimeout, r.timeout)
	for _, step := range []struct {
		attempt string
		do      func() error
	}{
		{"ping redis", func() error { return r.client.Ping(ctx).Err() }},
		{"write to redis", func() error { return r.client.Set(ctx, answer[0], id, probeTTL).Err() }},
		{"read from redis", func() error { return r.client.Get(ctx, answer[0]).Err() }},
		// Scripts of one key, so that the later ones find what the first wrote.
		{runScript, func() error { return claimUpdate.Run(ctx, r.client, update, id, ttl).Err() }},
		{runScript, func() error { return setClaims.Run(ctx, r.client, update, id, id, ttl).Err() }},
		{runScript, func() error { return giveUp.Run(ctx, r.client, update, id, ttl).Err() }},
		{runScript, func() error { return allow.Run(ctx, r.client, limit, 1, ttl).Err() }},
		{runScript, func() error { return takeTurn.Run(ctx, r.client, turn, 0, probeTTL.Microseconds(), 1).Err() }},
		{"delete from redis", func() error { return r.client.Del(ctx, answer[0], update[0], limit[0], turn[0]).Err() }},
	} {
		start := time.Now()
		if err := step.do(); err != nil {
			return Server{}, fmt.Errorf("%s: %s", step.attempt, reason(err))
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest > r.timeout {
		return Server{}, fmt.Errorf("redis is too slow: every call took more than %v", r.timeout)
	}
	return Server{r.version(ctx), fastest}, nil
}

var plainVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}$`)

// version asks what servers from Redis 6 on know. Nothing depends on it, so that
// a refusal is no failure.
func (r *Redis) version(ctx context.Context) string {
	hello, _ := r.client.Do(ctx, "HELLO").Result()
	members, _ := hello.(map[any]any)
	version, _ := members["version"].(string)
	if !plainVersion.MatchString(version) {
		return ""
	}
	return version
}
