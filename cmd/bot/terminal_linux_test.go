package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
	"unsafe"

	"herald/internal/e2e/e2etest"
	"herald/internal/secret/logtest"
)

// terminal is a demo that runs in a pseudoterminal.
type terminal struct {
	*e2etest.Process // the demo
	t                *testing.T
	screen           *logtest.Buffer // everything that the demo has written to the terminal
	keyboard         *os.File        // the test's end of the pseudoterminal
	tty              *os.File        // the demo's end
	before           syscall.Termios // the terminal's mode before the demo
}

// demoAtTerminal runs the demo in a new terminal with this many columns, and with these environment variables. It
// returns once the greeting is printed.
func demoAtTerminal(t *testing.T, columns uint16, environ ...string) *terminal {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number, unlocked uint32
	control(t, keyboard, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(t, keyboard, syscall.TIOCGPTN, unsafe.Pointer(&number))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := [4]uint16{24, columns} // rows and columns; the size in pixels stays 0
	control(t, tty, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	demo := program([]string{"demo"}, environ...)
	demo.Stdin = tty
	demo.Stdout = tty
	demo.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	screen := &logtest.Buffer{}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(screen, keyboard) // It ends when keyboard is closed.
	}()
	t.Cleanup(func() {
		tty.Close()
		keyboard.Close()
		<-shown
	})
	before := mode(t, tty)
	p := e2etest.StartProcess(t, demo)
	awaitGreeting(t, p)
	return &terminal{
		Process:  p,
		t:        t,
		screen:   screen,
		keyboard: keyboard,
		tty:      tty,
		before:   before,
	}
}

// typeKeys types keys.
func (at *terminal) typeKeys(keys string) {
	at.t.Helper()
	if _, err := at.keyboard.WriteString(keys); err != nil {
		at.t.Fatal(err)
	}
}

// awaitText waits until the demo has written a text n times.
func (at *terminal) awaitText(text string, n int) {
	at.t.Helper()
	e2etest.Eventually(at.t, fmt.Sprintf("%q, %d times", text, n), func() bool {
		return strings.Count(at.screen.String(), text) >= n
	})
}

// awaitEndInModeBefore waits until the demo ends, and fails the test unless the terminal has the mode that it had
// before the demo.
func (at *terminal) awaitEndInModeBefore() {
	at.t.Helper()
	at.AwaitEnd()
	if after := mode(at.t, at.tty); after != at.before {
		at.t.Errorf("the terminal's mode was %+v and is %+v", at.before, after)
	}
}

// control makes a system call ioctl on a terminal.
func control(t *testing.T, f *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	conn, err := f.SyscallConn() // f.Fd would make reads block, even past a Close.
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

// mode returns a terminal's mode.
func mode(t *testing.T, tty *os.File) (m syscall.Termios) {
	t.Helper()
	control(t, tty, syscall.TCGETS, unsafe.Pointer(&m))
	return m
}

// However the demo ends, the terminal has its old mode, and the cursor is at the start of a line.
func TestTheTerminalIsLeftAsItWasFound(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*terminal){
		"Ctrl-C in a paste of anything": func(at *terminal) { at.typeKeys("/price\x1b[200~\xff\xfe\x1b[1;1;\x1b\x03") },
		"Ctrl-D":                        func(at *terminal) { at.typeKeys("\x04") },
		"SIGHUP":                        func(at *terminal) { at.Tell(syscall.SIGHUP) },
		"SIGQUIT":                       func(at *terminal) { at.Tell(syscall.SIGQUIT) },
		"SIGTERM":                       func(at *terminal) { at.Tell(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := demoAtTerminal(t, 80, "TERM=xterm")
			at.awaitText("> ", 1)
			if mode(t, at.tty) == at.before {
				t.Error("the demo does not edit lines: the mode is the same as before")
			}
			end(at)
			at.awaitEndInModeBefore()
			at.awaitText("\r\n", 1)
		})
	}
}

// The demo writes no escape sequences to a dumb terminal, or if NO_COLOR is set. In a dumb terminal, it leaves the
// editing of lines to the operating system.
func TestEscapeSequencesOnlyWhereUnderstood(t *testing.T) {
	t.Parallel()
	const columns = 64
	dumb := demoAtTerminal(t, columns, "TERM=dumb")
	plain := demoAtTerminal(t, columns, "TERM=xterm", "NO_COLOR=1")
	plain.awaitText("> ", 1)
	if mode(t, dumb.tty) != dumb.before {
		t.Error("the demo changed the mode of a dumb terminal")
	}
	for _, at := range []*terminal{dumb, plain} {
		at.typeKeys("/help\r/price 7d\r/supply\r/mylogins\r/status\r/staked 0x12\r")
		at.awaitText("Check the wallet address", 1)
		if strings.Contains(at.screen.String(), "\x1b") {
			t.Errorf("an escape sequence: %q", at.screen.String())
		}
		at.typeKeys("\x03")
		at.awaitEndInModeBefore()
		for line := range strings.Lines(at.Log.String() + at.screen.String()) {
			line = strings.TrimRight(line, "\r\n")
			if utf8.RuneCountInString(line) > columns {
				t.Errorf("more than %d columns: %s", columns, line)
			}
		}
	}
}

// The demo breaks lines, except within a wallet or a URL.
func TestANarrowTerminalHasNoLongLines(t *testing.T) {
	t.Parallel()
	const columns = 40
	at := demoAtTerminal(t, columns, "TERM=dumb")
	const staked = "/staked 0x56B90adE3f3d2Ac03B33c857C141f53aFf119ea2"
	for i, command := range []string{"/help", "/price", "/price 7d", "/supply", staked, "/verify", "/exists"} {
		at.typeKeys(command + "\r")
		at.awaitText("(simulated)", i+1)
	}
	at.typeKeys("\x04")
	at.awaitEndInModeBefore()
	unbreakable := regexp.MustCompile(`^(> |· )?\s*(/\w+ )?(0x\w+|https://\S+)$`)
	for line := range strings.Lines(at.Log.String() + at.screen.String()) {
		line = strings.TrimRight(line, "\r\n")
		if utf8.RuneCountInString(line) > columns && !unbreakable.MatchString(line) {
			t.Errorf("more than %d columns: %s", columns, line)
		}
	}
}
