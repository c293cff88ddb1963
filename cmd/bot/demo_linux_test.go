package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"herald/internal/app/e2e/e2etest"
)

// terminal is one at which a process runs, and what that has shown there.
type terminal struct {
	*child
	keyboard, tty *os.File
	screen        *e2etest.Buffer
	before        syscall.Termios
}

// openTerminal makes a terminal: what is written to keyboard is typed at tty.
func openTerminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	var number, unlocked uint32
	control(t, keyboard, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(t, keyboard, syscall.TIOCGPTN, unsafe.Pointer(&number))
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

func control(t *testing.T, f *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	conn, err := f.SyscallConn() // f.Fd would make reads block, past a Close too
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	})
	if err != nil || errno != 0 {
		t.Fatal(err, errno)
	}
}

func mode(t *testing.T, tty *os.File) (m syscall.Termios) {
	t.Helper()
	control(t, tty, syscall.TCGETS, unsafe.Pointer(&m))
	return m
}

// atTerminal runs a command at a terminal of its own. It has nothing set but
// these variables.
func atTerminal(t *testing.T, cmd *exec.Cmd, environ ...string) *terminal {
	t.Helper()
	keyboard, tty := openTerminal(t)
	c := prepare(t, nil, environ...)
	cmd.Env = c.cmd.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, c.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.cmd = cmd
	at := &terminal{child: c, keyboard: keyboard, tty: tty, screen: c.stdout, before: mode(t, tty)}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(at.screen, keyboard) // until it is closed
	}()
	t.Cleanup(func() { keyboard.Close(); <-shown })
	c.start()
	c.greeted()
	at.shows("> ", 1)
	return at
}

func (at *terminal) types(keys string) {
	at.Helper()
	if _, err := at.keyboard.WriteString(keys); err != nil {
		at.Fatal(err)
	}
}

// shows waits until the screen shows a text n times.
func (at *terminal) shows(text string, n int) {
	at.Helper()
	var screen string
	defer func() {
		if at.Failed() {
			at.Logf("the screen shows %q", screen)
		}
	}()
	e2etest.Eventually(at.T, fmt.Sprintf("%q, %d times", text, n), func() bool {
		screen = at.screen.String()
		return strings.Count(screen, text) >= n
	})
}

// leavesAsFound demands that the process ends with this code and leaves the
// terminal in the mode it had before.
func (at *terminal) leavesAsFound(code int) {
	at.Helper()
	at.leaves(code)
	if after := mode(at.T, at.tty); after != at.before {
		at.Errorf("the terminal's mode was %+v and is %+v", at.before, after)
	}
}

func demoAtTerminal(t *testing.T, environ ...string) *terminal {
	t.Helper()
	return atTerminal(t, exec.Command(os.Args[0], "demo"), environ...)
}

func TestDemoEditsLinesAtATerminal(t *testing.T) {
	t.Parallel()
	at := demoAtTerminal(t, "TERM=xterm")
	at.types("/pri\t\x1b[H\x1b[Fx\x7f\r")
	at.shows("HRLD price \x1b[2m(simulated)\x1b[0m\r\n", 1)
	at.types("/staked 0x12\r")
	at.shows("\x1b[33m[!] ", 1)
	at.types("\x1b[A\x1b[A\r")
	at.shows("HRLD price", 2)
	at.types("exit\r")
	at.leavesAsFound(exitOK)
}

// Whatever ends the demo, the terminal is left as it was found, with the cursor
// at the start of a line.
func TestTheTerminalIsLeftAsItWasFound(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*terminal){
		"Ctrl-C":           func(at *terminal) { at.types("\x03") },
		"Ctrl-D":           func(at *terminal) { at.types("\x04") },
		"Ctrl-C in a line": func(at *terminal) { at.types("/price\x01\x03") },
		"SIGTERM":          func(at *terminal) { at.signal(syscall.SIGTERM) },
		"SIGINT":           func(at *terminal) { at.signal(syscall.SIGINT) },
		"SIGHUP":           func(at *terminal) { at.signal(syscall.SIGHUP) },
		"SIGQUIT":          func(at *terminal) { at.signal(syscall.SIGQUIT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := demoAtTerminal(t, "TERM=xterm")
			if mode(t, at.tty) == at.before {
				t.Error("lines are not edited")
			}
			end(at)
			at.leavesAsFound(exitOK)
			at.shows("\r\n", 1)
		})
	}
}

// A terminal that can do nothing edits lines as the operating system does.
func TestDemoAtADumbTerminal(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"TERM=dumb", "NOTHING=set"} {
		at := demoAtTerminal(t, term)
		if mode(t, at.tty) != at.before {
			t.Error("the terminal's mode is another")
		}
		at.types("/staked 0x12\n")
		at.shows("\r\n\r\n> ", 1)
		at.types("\x03")
		at.leavesAsFound(exitOK)
		at.shows("> ^C\r\n", 1)
		if strings.Contains(at.screen.String(), "\x1b") {
			t.Errorf("an escape sequence: %q", at.screen)
		}
	}
}

func TestColoursCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	for environ, coloured := range map[string]bool{"NO_COLOR=1": false, "NO_COLOR=": true} {
		at := demoAtTerminal(t, "TERM=xterm", environ)
		at.types("/staked 0x12\r")
		at.shows("\r\n\r\n> ", 1)
		if strings.Contains(at.screen.String(), "\x1b[33m") != coloured {
			t.Errorf("%s: %q", environ, at.screen)
		}
		at.types("/pr\t\x15quit\r")
		at.leavesAsFound(exitOK)
	}
}

// What is piped away has neither a prompt nor colours, wherever it was typed.
func TestDemoTypedAtATerminalAndPipedAway(t *testing.T) {
	t.Parallel()
	keyboard, tty := openTerminal(t)
	c := prepare(t, []string{"demo"}, "TERM=xterm")
	c.cmd.Stdin = tty
	c.start()
	c.greeted()
	if _, err := keyboard.WriteString("/staked 0x12\n\x04"); err != nil {
		t.Fatal(err)
	}
	c.leaves(exitOK)
	if out := c.stdout.String(); !strings.HasPrefix(out, "[!] ") || strings.Contains(out, "\x1b") {
		t.Errorf("standard output is %q", out)
	}
}

// A shell with job control can suspend the demo at its prompt, and resumes it
// with the line as it was.
func TestDemoIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell, sh, that could suspend anything")
	}
	at := atTerminal(t, exec.Command(shell, "-c", `set -m; "$0" demo; echo resume?; read -r line; fg`, os.Args[0]), "TERM=xterm")
	at.types("/pri")
	at.shows("> /pri", 1)
	at.types("\x1a")
	at.shows("resume?\r\n", 1)
	if during := mode(t, at.tty); during != at.before {
		t.Errorf("while it is suspended the terminal's mode is %+v, was %+v", during, at.before)
	}
	at.types("\n")
	at.shows("> /pri", 2)
	at.types("ce\r")
	at.shows("ago\x1b[0m\r\n\r\n> ", 1)
	at.types("\x04")
	at.leavesAsFound(exitOK)
}

// A shell sets the terminal's mode for itself while the demo is stopped.
func TestDemoStoppedFromElsewhereResumes(t *testing.T) {
	t.Parallel()
	at := demoAtTerminal(t, "TERM=xterm")
	at.types("/pri")
	at.shows("> /pri", 1)
	at.signal(syscall.SIGSTOP)
	control(t, at.tty, syscall.TCSETS, unsafe.Pointer(&at.before))
	at.signal(syscall.SIGCONT)
	at.shows("> /pri", 2)
	at.types("ce\r")
	at.shows("ago\x1b[0m\r\n\r\n> ", 1)
	at.types("\x04")
	at.leavesAsFound(exitOK)
}

// A terminal that is closed ends the demo, which must not spin on it: by itself
// or, if that takes longer, by the signal that comes with it.
func TestDemoEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	at := demoAtTerminal(t, "TERM=xterm")
	at.tty.Close()
	at.keyboard.Close()
	e2etest.Eventually(t, "its end", func() bool {
		select {
		case <-at.exited:
			return true
		default:
			return false
		}
	})
	status := at.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.ExitStatus() != exitOK && status.Signal() != syscall.SIGHUP {
		t.Errorf("it ended with %v:\n%s", at.cmd.ProcessState, at.stderr)
	}
}
