package main

import (
	"os"
	"os/exec"
	"testing"
)

// asBot makes this test binary the bot itself, so that real signals can be
// sent to a real process.
const asBot = "HERALD_TEST_AS_BOT"

func TestMain(m *testing.M) {
	if os.Getenv(asBot) != "" {
		main() // leaves by os.Exit
	}
	os.Exit(m.Run())
}

// program is the bot with these arguments and settings alone.
func program(args []string, environ ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	// The race detector sleeps for a second at exit unless told otherwise.
	cmd.Env = append(environ, asBot+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}
