package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
)

// longestLine bounds a line of the log in bytes, whatever is in it.
const longestLine = 10 << 10

// noLimit allows everything.
type noLimit struct{}

func (noLimit) Allow(context.Context, string) time.Duration { return 0 }

func TestNoLogLineIsLong(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		for name, text := range map[string]string{
			"letters": "a", "quotes": `"`, "newlines": "\n", "control characters": "\x00", "not UTF-8": "\xff",
			"not printed": "\u2028", "others": "é", "HTML": "<", "emoji": "😀",
		} {
			world := startSandbox(t)
			cfg, err := config.Load(append(demoSettings(world), "LOG_LEVEL=debug", "LOG_FORMAT="+format), "")
			if err != nil {
				t.Fatal(err)
			}
			out := &lockedBuffer{}
			log := newLogger(cfg, out)
			b, err := assemble(cfg, log)
			if err != nil {
				t.Fatal(err)
			}
			size := 12 << 10
			if text == "a" && format == "json" {
				size = 1 << 20 // to search more of them takes too long
			}
			huge := strings.Repeat(text, size/len(text))
			b.router.Handle(t.Context(), request("staked", huge))
			b.router.Handle(t.Context(), request(huge, huge))
			log.Error("message", "err", errors.New(huge), "other", huge, slog.Group("g", "third", []byte(huge)))
			log.With("before", huge).Error(huge)
			b.close()
			lines := strings.SplitAfter(out.String(), "\n")
			if len(lines) < 4 {
				t.Errorf("%s %s: %d lines", format, name, len(lines))
			}
			for _, line := range lines {
				if len(line) > longestLine {
					t.Errorf("%s %s: a line of %d bytes: %.200s", format, name, len(line), line)
				}
			}
		}
	}
}
