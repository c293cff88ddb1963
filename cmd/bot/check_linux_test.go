package main

import (
	"io"
	"strings"
	"testing"

	"herald/internal/app"
)

func TestCheckIsInColourAtATerminalUnlessThatIsForbidden(t *testing.T) {
	const red = "\x1b[1;31mWRONG"
	world := startStandIns(t)
	for _, test := range []struct {
		name, noColour, term string
		coloured             bool
	}{
		{"a terminal", "", "xterm-256color", true},
		{"NO_COLOR", "1", "xterm-256color", false},
		{"a terminal without colours", "", "dumb", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColour)
			t.Setenv("TERM", test.term)
			screen, tty := openTerminal(t)
			shown := make(chan string)
			go func() {
				text, _ := io.ReadAll(screen) // which fails once nobody writes any more
				shown <- string(text)
			}()
			code := start(t.Context(), []string{"check"}, process{environ: app.DemoSettings(world), stdout: tty, stderr: io.Discard})
			tty.Close()
			text := <-shown
			if code != exitFailed || !strings.Contains(text, "WRONG") || strings.Contains(text, red) != test.coloured || strings.Contains(text, "\x1b") != test.coloured {
				t.Errorf("exit code %d:\n%q", code, text)
			}
		})
	}
}

// So systemd does not start it again.
func TestAFolderThatCannotBeMadeIsAMistake(t *testing.T) {
	url, connections := wiretap(t)
	code, _, stderr := runBot(t, "run", append(goodSettings(url), "DATA_DIR=/proc/"+secret)...)
	if code != exitMistaken || !strings.HasPrefix(stderr, "DATA_DIR: cannot make the folder") || strings.Contains(stderr, secret) || connections.Load() != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
