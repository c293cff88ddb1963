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

// maxLine is the maximum length of a line in bytes. A character has at most four bytes.
const maxLine = 4 * maxText

// errTooLong is returned by readLine for a line of more than maxLine bytes.
var errTooLong = errors.New("the line is too long")

// input reads lines from the user, and writes text to them.
type input interface {
	// begin prepares the terminal for readLine, and end restores it.
	begin() error
	end()
	// readLine blocks until the user has typed a line. It returns io.EOF at the end of the input, and errTooLong for
	// a line that is too long.
	readLine() (string, error)
	// Write may be called while readLine blocks.
	io.Writer
}

// pipe is an input without a prompt. It reads from a pipe, a file, or a terminal that edits lines itself.
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
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", p.skipLine()
	case errors.Is(err, io.EOF) && text != "":
		return text, nil // The last line may end without a newline.
	}
	return text, err
}

// skipLine discards the rest of a line that is too long. It returns errTooLong, or the error of reading.
func (p pipe) skipLine() error {
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = p.in.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errTooLong
}

// editor is an input at a terminal. It has a prompt, and the user can edit lines and recall earlier ones. The
// terminal is in raw mode only between begin and end. At other times, Ctrl-C is a signal.
type editor struct {
	in, out  *os.File
	terminal *term.Terminal
	original *term.State // the terminal's mode before begin, or nil if it is not in raw mode
}

func newEditor(in, out *os.File) *editor {
	return &editor{in: in, out: out, terminal: term.NewTerminal(keyboard{Reader: in, Writer: out}, "> ")}
}

func (e *editor) begin() error {
	original, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return err
	}
	e.original = original
	width, height, err := term.GetSize(int(e.out.Fd()))
	if err == nil && width > 0 {
		_ = e.terminal.SetSize(width, height) // If it fails, so does the next write.
	}
	return nil
}

func (e *editor) end() {
	_ = term.Restore(int(e.in.Fd()), e.original) // It fails only if the terminal was closed.
	e.original = nil
}

// readLine returns io.EOF for Ctrl-C and Ctrl-D, too.
func (e *editor) readLine() (string, error) {
	line, err := e.terminal.ReadLine()
	if errors.Is(err, syscall.EIO) { // The terminal was closed.
		err = io.EOF
	}
	return line, err
}

// Write writes above the prompt if the terminal is in raw mode. It must not be called while begin or end runs.
func (e *editor) Write(p []byte) (int, error) {
	if e.original == nil {
		return e.out.Write(p)
	}
	return e.terminal.Write(p)
}

// keyboard is the keyboard and screen of a terminal, for package term. Its Ctrl-C always ends the input. Package term
// would first wait for the rest of an unfinished escape sequence or character.
type keyboard struct {
	io.Reader
	io.Writer
}

// Read returns io.EOF for Ctrl-C, and replaces invalid UTF-8 by question marks.
func (k keyboard) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	const ctrlC = '\x03'
	if bytes.IndexByte(p[:n], ctrlC) >= 0 {
		return 0, io.EOF
	}
	return copy(p, strings.ToValidUTF8(string(p[:n]), "?")), err
}
