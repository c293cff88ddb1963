package app

import (
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

// ttlSettings returns the settings of how long the services' answers are fresh.
func ttlSettings() (names []string) {
	for _, s := range new(Services).table() {
		if strings.HasSuffix(s.Name, "_TTL") {
			names = append(names, s.Name)
		}
	}
	return names
}

func TestEachServiceIsDescribed(t *testing.T) {
	const path = "../../docs/services.md"
	document := configtest.Read(t, path)
	names := ttlSettings()
	for _, s := range everyService {
		names = append(names, s.names...)
	}
	for _, name := range names {
		if !strings.Contains(document, "`"+name+"`") {
			t.Errorf("%s does not name %s", path, name)
		}
	}
}

func TestTheAlertOfLimitsNamesEachTTL(t *testing.T) {
	const path = "../../deploy/prometheus-rules.yaml"
	rules := configtest.Read(t, path)
	for _, name := range ttlSettings() {
		if !strings.Contains(rules, name) {
			t.Errorf("%s does not name %s", path, name)
		}
	}
}

func TestEachServiceIsExplainedBesideItsMetrics(t *testing.T) {
	const path = "../../docs/metrics.md"
	document := configtest.Read(t, path)
	for _, s := range connectServices(t, mustLoad(t, everySetting(), "")).list {
		if name := s.Health().Service.Name; !strings.Contains(document, "`"+name+"`") {
			t.Errorf("%s does not name the service %s", path, name)
		}
	}
}
