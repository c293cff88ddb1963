//go:build speed

package speed

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
)

// clockTick is the unit of times in /proc; Linux has no other.
const clockTick = 10 * time.Millisecond

// process is a bot in a process of its own, with nothing but its settings.
type process struct {
	cmd    *exec.Cmd
	log    string // the file that it logs to
	exited chan struct{}
}

// start runs a program, which is told to leave when the test ends.
func start(t testing.TB, program, address string, settings ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{cmd: exec.Command(program), log: log.Name(), exited: make(chan struct{})}
	p.cmd.Env = append(settings, "HTTP_ADDR="+address)
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its state tells
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
		<-p.exited
		if state := p.cmd.ProcessState; !state.Success() {
			t.Errorf("%s did not leave in good order: %v\n%s", filepath.Base(program), state, p.lastLog())
		}
	})
	e2etest.Eventually(t, filepath.Base(program)+" is ready", func() bool {
		select {
		case <-p.exited:
			t.Fatal("it ended before it was ready")
		default:
		}
		resp, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// lastLog is the end of what the process logged.
func (p *process) lastLog() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
}

// cpu is the processor time that the process has taken.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name before the parenthesis may hold anything. utime and stime are
	// fields 14 and 15, https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// ownCPU is the processor time that this process has taken.
func ownCPU() (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

// peakMemory is the most memory in bytes that the process ever had resident.
func (p *process) peakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	return kib << 10, err
}
