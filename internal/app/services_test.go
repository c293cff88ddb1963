package app

import (
	"slices"
	"strings"
	"testing"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

// settingsOfServices returns the settings that turn on a service, and those of how long its answers are fresh.
func settingsOfServices() (names []string) {
	for _, s := range everyService {
		names = append(names, s.names...)
	}
	isTTL := func(s config.Setting) bool { return strings.HasSuffix(s.Name, "_TTL") }
	for _, s := range slices.DeleteFunc(new(Services).table(), func(s config.Setting) bool { return !isTTL(s) }) {
		names = append(names, s.Name)
	}
	return names
}

func TestEachServiceIsDescribed(t *testing.T) {
	const path = "../../docs/services.md"
	document := configtest.Read(t, path)
	for _, name := range settingsOfServices() {
		if !strings.Contains(document, "`"+name+"`") {
			t.Errorf("%s does not name %s", path, name)
		}
	}
}

func TestTheAlertOfLimitsNamesEachTTL(t *testing.T) {
	const path = "../../deploy/prometheus-rules.yaml"
	rules := configtest.Read(t, path)
	for _, name := range settingsOfServices() {
		if strings.HasSuffix(name, "_TTL") && !strings.Contains(rules, name) {
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
