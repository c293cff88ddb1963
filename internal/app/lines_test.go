package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/redact/logtest"
	"herald/internal/sandbox"
)

// longestLine bounds a line of the log in bytes, whatever is in it.
const longestLine = 10 << 10

func TestNoLogLineIsLong(t *testing.T) {
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	for _, format := range []string{"text", "json"} {
		for name, text := range map[string]string{
			"letters": "a", "quotes": `"`, "newlines": "\n", "control characters": "\x00", "not UTF-8": "\xff",
			"not printed": "\u2028", "others": "é", "HTML": "<", "emoji": "😀",
		} {
			cfg := mustLoad(t, append(DemoSettings(world), "LOG_LEVEL=debug", "LOG_FORMAT="+format), "")
			out := &logtest.Buffer{}
			log := NewLogger(cfg, out)
			b, err := New(cfg, log)
			if err != nil {
				t.Fatal(err)
			}
			size := 12 << 10
			if text == "a" && format == "json" {
				size = 1 << 20 // to search more of them takes too long
			}
			huge := strings.Repeat(text, size/len(text))
			for _, command := range []string{"staked", huge} {
				b.Router.Handle(t.Context(), chat.Request{ID: "lines", Command: command, Args: chat.Typed(huge),
					From: chat.User{Platform: "telegram"}, Chat: "1"})
			}
			log.Error("message", "err", errors.New(huge), "other", huge, slog.Group("g", "third", []byte(huge)))
			log.With("before", huge).Error(huge)
			b.Close()
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
