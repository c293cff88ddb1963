package supply

import (
	"time"

	"herald/internal/config"
)

// Settings are what an operator chooses.
type Settings struct {
	// URL is the host's origin and path prefix, without a slash at its end.
	URL string
	// TTL is how long supplies are fresh.
	TTL time.Duration
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{Name: "SUPPLY_URL", Required: true, Example: "https://supply.example.org/token",
			Set: config.Field(&s.URL, config.BaseURL)},
		{Name: "SUPPLY_TTL", Default: "5m", Set: config.Field(&s.TTL, config.Duration)},
	}
}
