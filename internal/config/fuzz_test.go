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
		if len(each(err)) > mostMistakes+1 {
			t.Errorf("%d mistakes", len(each(err)))
		}
		for name, value := range vars {
			if !variableName.MatchString(name) || value == "" || strings.TrimSpace(value) != value || strings.Contains(value, "\n") {
				t.Errorf("read %q=%q", name, value)
			}
		}
	})
}

func FuzzPoolFile(f *testing.F) {
	for _, seed := range []string{poolA + " One\n# two\n" + poolB, poolA + "\n" + poolA, "0x\n#", poolC + "\t\u00a0# x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		list, err := parsePoolFile(content)
		if (len(list) == 0) != (err != nil) || len(each(err)) > mostMistakes+1 {
			t.Fatalf("%d pools and %v", len(list), err)
		}
		seen := map[string]bool{}
		for _, p := range list {
			if seen[p.Address.Hex()] || !validPoolName(p.Name) {
				t.Errorf("accepted %v", p)
			}
			seen[p.Address.Hex()] = true
		}
	})
}

func FuzzLoad(f *testing.F) {
	for i, s := range settings {
		f.Add(uint(i), s.example)
		f.Add(uint(i), s.example+" ")
		f.Add(uint(i), "https://user:pass@host:1/%zz?a=%")
	}
	f.Fuzz(func(t *testing.T, i uint, value string) {
		s := settings[i%uint(len(settings))]
		if strings.HasPrefix(strings.TrimSpace(value), "@") {
			return // names a file of this machine
		}
		c, err := LoadToServe(with("TELEGRAM_BOT_TOKEN=1:a", "DISCORD_BOT_TOKEN=b", s.name+"="+value), "")
		if (c == nil) == (err == nil) {
			t.Fatal("neither settings nor mistakes, or both")
		}
		for _, line := range mistakesOf(t, err) {
			if strings.Contains(line, "\n") || !strings.Contains(line, "example") {
				t.Errorf("told as %q", line)
			}
		}
		if c != nil {
			c.Secrets()
		}
	})
}
