package state

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"herald/internal/config"
)

// Settings are what an operator chooses.
type Settings struct {
	// RedisURL is of the form redis://user:password@host:port/database, or
	// rediss; unset: all state is in this process.
	RedisURL config.Secret
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{Heading: "Several replicas", Name: "REDIS_URL", Secret: true, Example: "redis://:password@redis.example.org:6379/0",
			Comment: "State that several replicas share: which updates are answered, rate limits, the pace of Telegram's " +
				"messages, prices, supplies, " +
				"credits and the quotes seen. redis:// or, with TLS, rediss://. " +
				"A call may take 10 ms; after one that takes longer, this process decides alone until Redis answers in time. " +
				"?read_timeout=100ms at its end allows 100 ms. Unset: all of it is in this process.",
			Set: config.Field(&s.RedisURL, config.Hidden(parseRedisURL))},
	}
}

// parseRedisURL accepts what the Redis client does.
func parseRedisURL(value string) (string, error) {
	if _, err := config.URL(value, "redis", "rediss"); err != nil {
		return "", err
	}
	if _, err := redis.ParseURL(value); err != nil {
		return "", errors.New("has a database number or an option that the Redis client does not know")
	}
	return value, nil
}
