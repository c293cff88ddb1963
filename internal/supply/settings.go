package supply

import "time"

// Settings say where the host is.
type Settings struct {
	// URL is the host's origin and path prefix, without a query.
	URL string
	// TTL is how long an answer is fresh.
	TTL time.Duration
}
