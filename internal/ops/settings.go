package ops

import (
	"errors"
	"net"
	"strings"

	"herald/internal/config"
)

// Settings are what an operator chooses.
type Settings struct {
	// Addr is the host:port of health, metrics and webhooks; empty: none.
	Addr string
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{Heading: "HTTP server", Name: "HTTP_ADDR", Default: "127.0.0.1:8080", Example: "0.0.0.0:8080",
			Comment: "Where /healthz, /readyz, /metrics and webhooks are served; off: nowhere. In a container this must be " +
				"0.0.0.0:8080 to be reached from outside.",
			Set: config.Field(&s.Addr, parseAddr)},
	}
}

func parseAddr(value string) (string, error) {
	if value == config.Off {
		return "", nil
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil || !config.ValidPort(port) || strings.ContainsAny(host, "/@") {
		return "", errors.New("must be host:port or off")
	}
	return value, nil
}
