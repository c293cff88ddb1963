package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// maxLine is the maximum length of a line, in bytes. A message on Telegram has at most 4,096
// characters, of up to four bytes.
const maxLine = 4 * 4096

// errTooLong is returned for a line of more than maxLine bytes. It is not kept in memory.
var errTooLong = errors.New("the line is too long")

// input reads lines, and writes to the screen meanwhile.
type input interface {
	// begin prepares the terminal for readLine. end undoes that.
	begin() error
	end()
	// readLine blocks until a line is typed. It returns io.EOF at the end of the input, and
	// errTooLong for a line that is too long.
	readLine() (string, error)
	// Write may be called at any time, also while readLine blocks.
	io.Writer
}

// pipe is an input without a prompt: a pipe, a file, or a terminal that edits lines itself.
type pipe struct {
	in *bufio.Reader
	io.Writer
}

func newPipe(in io.Reader, out io.Writer) pipe {
	return pipe{in: bufio.NewReaderSize(in, maxLine), Writer: out}
}

func (pipe) begin() error { return nil }

func (pipe) end() {}

func (p pipe) readLine() (string, error) {
	line, err := p.in.ReadSlice('\n')
	text := string(line)
	if !errors.Is(err, bufio.ErrBufferFull) {
		if errors.Is(err, io.EOF) && text != "" {
			err = nil // The last line needs no end.
		}
		return text, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = p.in.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return "", errTooLong
}

// editor is an input at a terminal. It has a prompt, and lines that can be edited, with history.
// The terminal is in raw mode only between begin and end, so that Ctrl-C is a signal otherwise.
type editor struct {
	in, out *os.File
	edited  *term.Terminal
	before  *term.State // the terminal's mode before begin; nil after end
}

func newEditor(in, out *os.File) *editor {
	return &editor{in: in, out: out, edited: term.NewTerminal(keyboard{Reader: in, Writer: out}, "> ")}
}

func (e *editor) begin() (err error) {
	e.before, err = term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return err
	}
	if width, height, err := term.GetSize(int(e.out.Fd())); err == nil && width > 0 {
		_ = e.edited.SetSize(width, height) // It fails only as the next write does.
	}
	return nil
}

func (e *editor) end() {
	_ = term.Restore(int(e.in.Fd()), e.before) // It fails only if the terminal is gone.
	e.before = nil
}

// readLine returns io.EOF also for Ctrl-C and Ctrl-D.
func (e *editor) readLine() (string, error) {
	line, err := e.edited.ReadLine()
	if errors.Is(err, syscall.EIO) { // The terminal is gone.
		err = io.EOF
	}
	return line, err
}

// Write writes above the prompt between begin and end. It must not be called at the same time as
// begin or end.
func (e *editor) Write(p []byte) (int, error) {
	if e.before == nil {
		return e.out.Write(p)
	}
	return e.edited.Write(p)
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
