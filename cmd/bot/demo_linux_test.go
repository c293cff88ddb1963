package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"herald/internal/app/e2e/e2etest"
)

// openTerminal makes a terminal: what is written to keyboard is typed at tty.
func openTerminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	var number, unlocked uint32
	control(t, keyboard, syscall.TIOCSPTLCK, &unlocked)
	control(t, keyboard, syscall.TIOCGPTN, &number)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

func control(t *testing.T, f *os.File, request uintptr, argument *uint32) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(argument))); errno != 0 {
		t.Fatal(errno)
	}
}

// At a terminal there is a prompt; Ctrl-C, as the terminal turns it into a
// signal, ends the demo and leaves the cursor on a line of its own.
func TestDemoAtATerminalEndsWithControlC(t *testing.T) {
	t.Parallel()
	keyboard, tty := openTerminal(t)
	c := prepare(t, []string{"demo"})
	c.cmd.Stdin = tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.start()
	c.greeted()
	typed := func(keys string) {
		if _, err := keyboard.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	typed("/price\n")
	e2etest.Eventually(t, "an answer and a prompt", func() bool { return strings.HasSuffix(c.stdout.String(), "\n\n> ") })
	typed("\x03")
	c.leaves(exitOK)
	if out := c.stdout.String(); !strings.HasPrefix(out, "> ") || !strings.HasSuffix(out, "\n\n> \n") {
		t.Errorf("standard output is %q", out)
	}
}
