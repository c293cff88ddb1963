package supply

import "time"

// Settings say where the host is.
type Settings struct {
	// URL is the host's origin and path prefix, without a query and a
	// slash at its end.
	URL string
	// TTL is how long an answer is fresh.
	TTL time.Duration
}
