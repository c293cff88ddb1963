package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// ttyFile is a terminal of the operating system.
type ttyFile struct{ in, out *os.File }

func (t ttyFile) raw() (restore func(), err error) {
	fd := int(t.in.Fd())
	before, err := term.MakeRaw(fd)
	return func() { _ = term.Restore(fd, before) }, err // it fails only if the terminal is gone
}

func (t ttyFile) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// stopsWithin is how long the program may go on after it was told to stop.
const stopsWithin = 100 * time.Millisecond

// suspend stops whatever runs in the terminal's foreground, as the terminal
// itself does outside raw mode: `go run` would otherwise wait on. It returns when
// the program is resumed, or soon where no shell could resume it.
func (ttyFile) suspend() {
	_ = syscall.Kill(0, syscall.SIGTSTP) // nothing forbids it
	time.Sleep(stopsWithin)
}

// watch has the line shown again when the program is resumed, whoever had
// suspended it, until stop is called.
func (e *editor) watch() (stop func()) {
	resumed, ended, stopped := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(resumed, syscall.SIGCONT)
	go func() {
		defer close(stopped)
		defer signal.Stop(resumed)
		for {
			select {
			case <-ended:
				return
			case <-resumed:
				e.resume()
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}
