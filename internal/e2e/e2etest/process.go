package e2etest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// BuildBot has the program in dir, and returns its path. It builds it once.
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

// Process is the built bot, serving in a process of its own.
type Process struct {
	// URL is the one of its HTTP server, on a port that it chose.
	URL string

	log    string // the file that it logs to
	t      testing.TB
	cmd    *exec.Cmd
	exited chan struct{}
}

var listens = regexp.MustCompile(`msg="http server listens" addr=(\S+)\n`)

// StartProcess runs the program with nothing but these settings until the test
// ends, and waits until it is ready. It logs at level info.
func StartProcess(t testing.TB, binary string, settings ...string) *Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &Process{log: log.Name(), t: t, cmd: exec.Command(binary, "run"), exited: make(chan struct{})}
	p.cmd.Env = append(slices.Clone(settings), "HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=info")
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its state tells
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("log of process %d:\n%.2000s", p.PID(), p.Log())
		}
	})
	Eventually(t, "the process is ready", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("it ended before it was ready:\n%s", p.Log())
		default:
		}
		if line := listens.FindStringSubmatch(p.Log()); line != nil {
			p.URL = "http://" + line[1]
		}
		status, _ := get(p.URL + "/readyz")
		return status == http.StatusOK
	})
	return p
}

// Log is what the process has logged so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// PID is the ID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process as a machine that fails does, and returns once it is
// gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.exited
}

// Leave tells the process to leave, and waits until it has. The test fails
// unless that is in good order.
func (p *Process) Leave() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	<-p.exited
	if state := p.cmd.ProcessState; !state.Success() {
		p.t.Errorf("it left with %v:\n%s", state, p.Log())
	}
}
