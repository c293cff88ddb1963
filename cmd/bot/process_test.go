package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
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

// exitSlack is the machine's own time around the bot's.
const exitSlack = 3 * time.Second

// child is the bot in a process of its own.
type child struct {
	*testing.T
	cmd            *exec.Cmd
	stdout, stderr *logtest.Buffer
	exited         chan struct{}
}

// prepare makes a process with these settings alone. It is killed when the test ends.
func prepare(t *testing.T, args []string, environ ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	// The race detector sleeps for a second at exit unless told otherwise.
	cmd.Env = append(environ, asBot+"=1", "GORACE=atexit_sleep_ms=0")
	c := &child{T: t, cmd: cmd, stdout: &logtest.Buffer{}, stderr: &logtest.Buffer{}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	return c
}

// input returns the process's standard input.
func (c *child) input() io.WriteCloser {
	c.Helper()
	in, err := c.cmd.StdinPipe()
	if err != nil {
		c.Fatal(err)
	}
	return in
}

func (c *child) start() {
	c.Helper()
	if err := c.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // its state tells
		close(c.exited)
	}()
	c.Cleanup(c.kill)
}

// spawn starts a bot that serves; it need not be ready yet.
func spawn(t *testing.T, world *fault.Sandbox, settings ...string) *child {
	t.Helper()
	environ := append(e2etest.Settings(world, "HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=debug"), settings...)
	c := prepare(t, []string{"run"}, environ...)
	c.start()
	return c
}

var listens = regexp.MustCompile(`msg="http server listens" addr=(\S+)\n`)

// url returns the address of its HTTP server, on a port that the process chose; empty
// while nothing listens.
func (c *child) url() string {
	if line := listens.FindStringSubmatch(c.stderr.String()); line != nil {
		return "http://" + line[1]
	}
	return ""
}

// readyz returns the status of /readyz, 0 while nothing listens.
func (c *child) readyz() int {
	resp, err := http.Get(c.url() + "/readyz")
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (c *child) awaitReady() {
	c.Helper()
	e2etest.Eventually(c.T, "the process is ready", func() bool { return c.readyz() == http.StatusOK })
}

func (c *child) signal(s syscall.Signal) {
	c.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}

// awaitEnd waits until the process ends by itself, no longer than a drain may take.
func (c *child) awaitEnd() {
	c.Helper()
	select {
	case <-c.exited:
	case <-time.After(chat.DrainTime + exitSlack):
		c.kill()
		c.Fatalf("it does not leave:\n%s", c.stderr)
	}
}

// leaves is awaitEnd of a process that exits with this code.
func (c *child) leaves(code int) {
	c.Helper()
	c.awaitEnd()
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.Errorf("exit code %d, want %d:\n%s", got, code, c.stderr)
	}
}

// kill ends the process as a failing machine does.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be gone
	<-c.exited
}
