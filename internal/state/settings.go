package state

import "herald/internal/config"

// Settings say where the shared state is.
type Settings struct {
	// RedisURL is of the form redis://user:password@host:port/database, or
	// rediss; unset = the state is in this process.
	RedisURL config.Secret
}
