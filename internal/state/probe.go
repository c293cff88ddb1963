package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
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
// fails if every call takes longer than calls may take on average. Its error says
// what is wrong and nothing of the URL or of what the server wrote.
func (r *Redis) Probe(ctx context.Context) (Server, error) {
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
		{runScript, func() error { return setClaims.Run(ctx, r.client, []string{update}, id, id, ttl).Err() }},
		{runScript, onUpdate(giveUp)},
		{runScript, func() error { return allow.Run(ctx, r.client, []string{limit}, 1, ttl).Err() }},
		{runScript, func() error { return takeTurn.Run(ctx, r.client, []string{turn}, 0, probeTTL.Microseconds(), 1).Err() }},
		{"delete from redis", func() error { return r.client.Del(ctx, answer, update, limit, turn).Err() }},
	} {
		start := time.Now()
		if err := step.do(); err != nil {
			return Server{}, fmt.Errorf("%s: %s", step.attempt, reason(err))
		}
		fastest = min(fastest, time.Since(start))
	}
	if slow := r.breaker.tooSlow(); fastest > slow {
		return Server{}, fmt.Errorf("redis is too slow: every call took more than %v", slow)
	}
	return Server{r.version(ctx), fastest}, nil
}

var plainVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}$`)

// version asks what servers from Redis 6 on know. Nothing depends on it, so that
// a refusal is no failure.
func (r *Redis) version(ctx context.Context) string {
	hello, err := r.client.Do(ctx, "HELLO").Result()
	if members, ok := hello.(map[any]any); ok && err == nil {
		if version, _ := members["version"].(string); plainVersion.MatchString(version) {
			return version
		}
	}
	return ""
}
