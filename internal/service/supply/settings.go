package supply

import (
	"fmt"
	"strings"
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
		{Heading: "Supply", Name: "SUPPLY_URL", Required: true, Example: "https://supply.example.org/token",
			Comment: "Where the supply host is; /total-supply and /circulating-supply are appended.",
			Set:     config.Field(&s.URL, parseURL)},
		{Name: "SUPPLY_TTL", Default: "5m",
			Comment: "How long supplies are fresh.",
			Set:     config.Field(&s.TTL, config.Duration)},
	}
}

func parseURL(value string) (string, error) {
	base, err := config.BaseURL(value)
	for _, path := range []string{total.path, circulating.path} {
		if strings.HasSuffix(base, path) {
			return "", fmt.Errorf("must be without %s, which is appended", path)
		}
	}
	return base, err
}
