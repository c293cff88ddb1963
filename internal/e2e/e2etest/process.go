package e2etest

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/internal/platform"
	"herald/internal/secret/logtest"
)

// Process is the bot in its own process.
type Process struct {
	*exec.Cmd
	// Out holds the standard output so far, and Log the standard error.
	Out, Log logtest.Buffer

	t      testing.TB
	exited chan struct{}
}

// StartProcess runs cmd until the test ends. Its standard error is in Log, and its standard output in Out,
// unless cmd has a Stdout.
func StartProcess(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, t: t, exited: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.Out
	}
	cmd.Stderr = &p.Log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // AwaitEnd reads the exit code.
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("log of process %d:\n%.2000s", cmd.Process.Pid, p.Log.String())
		}
	})
	return p
}

// ServeProcess runs the program until the test ends, and waits until it is ready. Its environment has only
// these settings, a free port and the log level info.
func ServeProcess(t testing.TB, program string, settings ...string) *Process {
	t.Helper()
	cmd := exec.Command(program, "run")
	cmd.Env = append(slices.Clone(settings), "HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=info")
	p := StartProcess(t, cmd)
	p.AwaitReady()
	return p
}

var listens = regexp.MustCompile(`msg="http server listens" addr=(\S+)\n`)

// URL returns the URL of its HTTP server, or "" while nothing listens.
func (p *Process) URL() string {
	if line := listens.FindStringSubmatch(p.Log.String()); line != nil {
		return "http://" + line[1]
	}
	return ""
}

// Healthz returns the status of /healthz, or 0 while nothing listens.
func (p *Process) Healthz() int {
	status, _ := get(p.URL() + "/healthz")
	return status
}

// Readyz returns the status of /readyz, or 0 while nothing listens.
func (p *Process) Readyz() int {
	status, _ := get(p.URL() + "/readyz")
	return status
}

// AwaitReady waits until every platform is connected.
func (p *Process) AwaitReady() {
	p.t.Helper()
	p.Await("it was ready", func() bool { return p.Readyz() == http.StatusOK })
}

// Resident returns how much resident memory the process has had at most, in MiB.
func (p *Process) Resident() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return Number(string(status), "VmHWM:") >> 10
}

// Number returns the number after name in a text. If there is none, it returns a number that exceeds any limit.
func Number(text, name string) int {
	n := float64(math.MaxInt32)
	_, after, _ := strings.Cut(text, name)
	_, _ = fmt.Sscan(after, &n)
	return int(n)
}

// Await waits until done returns true. It ends the test if the process ends first. what describes done in the
// message, as in "it was ready".
func (p *Process) Await(what string, done func() bool) {
	p.t.Helper()
	Eventually(p.t, what, func() bool {
		if done() {
			return true
		}
		select {
		case <-p.exited:
			p.t.Fatalf("the process ended before %s", what)
		default:
		}
		return false
	})
}

// Tell sends the process a signal.
func (p *Process) Tell(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// AwaitEnd waits until the process ends, for at most 3 seconds longer than the bot may take to finish its
// answers. It fails the test unless the exit code is 0.
func (p *Process) AwaitEnd() {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(platform.DrainTime + 3*time.Second):
		p.t.Fatal("the process does not end")
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("exit code %d, want 0", code)
	}
}

// Leave sends SIGTERM, and waits as AwaitEnd does.
func (p *Process) Leave() {
	p.t.Helper()
	p.Tell(syscall.SIGTERM)
	p.AwaitEnd()
}

// Kill sends SIGKILL, and waits until the process is gone.
func (p *Process) Kill() {
	_ = p.Process.Kill() // It fails if the process has ended.
	<-p.exited
}

// BuildBot builds the program in dir, unless dir has it already, and returns the program's path.
func BuildBot(t testing.TB, dir string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	binary := filepath.Join(dir, "bot")
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	if out, err := exec.Command("go", "build", "-o", binary, "herald/cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

var building sync.Mutex
