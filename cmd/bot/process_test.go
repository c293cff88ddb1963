package main

import (
	"os"
	"os/exec"
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
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

// spawn starts a bot that serves; it need not be ready yet.
func spawn(t *testing.T, world *fault.Fakes, settings ...string) *e2etest.Process {
	t.Helper()
	environ := append(e2etest.Settings(world, "HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=debug"), settings...)
	return e2etest.StartProcess(t, program([]string{"run"}, environ...))
}
