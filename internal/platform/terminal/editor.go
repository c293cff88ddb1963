package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// editor returns a function that reads a line, and returns io.EOF for Ctrl-C and Ctrl-D. The
// terminal is in raw mode only while that function reads: Ctrl-C during a command is a
// signal.
func (a *Adapter) editor() func(context.Context) (string, error) {
	in, out := int(a.In.(*os.File).Fd()), int(a.Out.(*os.File).Fd())
	edited := term.NewTerminal(keyboard{Reader: a.In, Writer: a.Out}, "> ")
	return func(ctx context.Context) (line string, err error) {
		before, err := term.MakeRaw(in)
		if err != nil {
			return "", err
		}
		if width, height, err := term.GetSize(out); err == nil && width > 0 {
			_ = edited.SetSize(width, height) // it fails only as the next write does
		}
		line, err = untilDone(ctx, edited.ReadLine)
		// What follows fails only if the terminal is gone.
		_ = term.Restore(in, before)
		if err != nil {
			_, _ = io.WriteString(a.Out, "\n") // for the shell's prompt
		}
		if errors.Is(err, syscall.EIO) { // the terminal is gone
			err = io.EOF
		}
		return line, err
	}
}

// keyboard is a terminal whose Ctrl-C always ends the input. Package term would first wait
// for the rest of an escape sequence or a character.
type keyboard struct {
	io.Reader
	io.Writer
}

func (k keyboard) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	const ctrlC = '\x03'
	if bytes.IndexByte(p[:n], ctrlC) >= 0 {
		return 0, io.EOF
	}
	return copy(p, strings.ToValidUTF8(string(p[:n]), "?")), err
}
