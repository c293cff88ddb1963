package supply

import (
	"time"

	"herald/internal/config"
)

// The paths below SUPPLY_URL.
const (
	totalPath       = "/total-supply"
	circulatingPath = "/circulating-supply"
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
		{Heading: "Supply", Name: "SUPPLY_URL", Required: true, Example: "https://supply.example.org/token",
			Comment: "Where the supply host is; /total-supply and /circulating-supply are appended.",
			Set:     config.Field(&s.URL, config.BaseURLWithout(totalPath, circulatingPath))},
		{Name: "SUPPLY_TTL", Default: "5m",
			Comment: "How long supplies are fresh.",
			Set:     config.Field(&s.TTL, config.Duration)},
	}
}
