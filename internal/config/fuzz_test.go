package config

import (
	"strings"
	"testing"
)

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"A=1\nexport B='2'\r\n# c\n", "A=\"b", "=", "export =1", "A= # b", "\x00=\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		vars, err := parseEnvFile(content)
		if len(splitJoined(err)) > mostJoined+1 {
			t.Errorf("%d mistakes", len(splitJoined(err)))
		}
		for name, value := range vars {
			if !variableName.MatchString(name) || value == "" || strings.TrimSpace(value) != value || strings.Contains(value, "\n") {
				t.Errorf("read %q=%q", name, value)
			}
		}
	})
}
