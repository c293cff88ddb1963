package partner

import (
	"time"

	"herald/internal/config"
)

// Settings say how to reach the API.
type Settings struct {
	// URL is its origin, perhaps with a path prefix, without a slash at its
	// end. The prefix is part of the path that is signed: that is the path of
	// the request, and the API cannot see which part of it the settings call a
	// prefix. So a proxy that cuts a prefix off cannot be used here.
	URL       string
	AppID     string
	SecretKey config.Secret
	// NotFoundCodes are the codes of the existence check that mean "no such
	// user".
	NotFoundCodes []string
	// ExistsTTL and LoginsTTL are how long the answers are fresh.
	ExistsTTL, LoginsTTL time.Duration
}
