package market

import (
	"time"

	"herald/internal/config"
)

// Settings say whom to ask for what.
type Settings struct {
	// URL is the provider's origin, without a slash at its end.
	URL string
	// APIKey is sent as X-CMC_PRO_API_KEY; unset = not sent.
	APIKey config.Secret
	// By is what Token is: "id", "slug" or "symbol".
	By    string
	Token string
	// Symbol is the token's; a quote of another is refused.
	Symbol string
	// TTL is how long a quote is fresh.
	TTL time.Duration
}
