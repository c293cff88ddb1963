package config

import (
	"strings"
	"testing"
)

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"A=1\nexport B='2'\r\n# c\n", "A=\"b", "=", "export =1", "A= # b", "A=\"b\" # c\nA=b", "\u200bA=\u00a0\u201cb\u201d", "\x00=\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		vars, err := parseEnvFile(content)
		if len(splitJoined(err)) > mostJoined+1 {
			t.Errorf("%d mistakes", len(splitJoined(err)))
		}
		for name, v := range vars {
			if !variableName.MatchString(name) || trim(v.text) != v.text || strings.Contains(v.whole, "\n") || v.line < 1 {
				t.Errorf("read %q=%+v", name, v)
			}
		}
	})
}
