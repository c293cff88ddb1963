package terminal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"
)

// editor reads lines at a terminal, edited and remembered by package term. The
// terminal is in raw mode only while a line is read, so that Ctrl-C reaches a
// command in flight as a signal. At the prompt Ctrl-C is the end of the input, as
// Ctrl-D is.
type editor struct {
	line    *term.Terminal
	in, out *os.File
}

// newLine makes a Terminal whose Tab key completes the line to one of the words.
func newLine(in io.Reader, out io.Writer, words []string) *term.Terminal {
	t := term.NewTerminal(console{bufio.NewReader(in), out}, "> ")
	t.AutoCompleteCallback = func(text string, pos int, key rune) (newText string, newPos int, ok bool) {
		if key != '\t' {
			return "", 0, false
		}
		word, ok := complete(words, text[:pos])
		return word + text[pos:], len(word), ok
	}
	return t
}

func (e *editor) begin() (restore func(), err error) {
	fd := int(e.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	if width, height, err := term.GetSize(int(e.out.Fd())); err == nil && width > 0 {
		_ = e.line.SetSize(width, height) // it fails only as the next write does
	}
	return func() { _ = term.Restore(fd, before) }, nil // it fails only if the terminal is gone
}

func (e *editor) readLine() line {
	text, err := e.line.ReadLine()
	if errors.Is(err, syscall.EIO) { // the terminal is gone
		err = io.EOF
	}
	return line{text: text, err: err}
}

// complete is the one of the words that begins with text, and a space; not ok if
// there are several or none.
func complete(words []string, text string) (word string, ok bool) {
	for _, w := range words {
		if strings.HasPrefix(w, text) {
			if ok {
				return "", false
			}
			word, ok = w+" ", true
		}
	}
	return word, ok
}

// console is a terminal as package term is to see it: one key at a time, without
// what it has no use for. It would wait for more after Escape alone, after half a
// sequence and after bytes that are no character, and in a bracketed paste it does
// not heed Ctrl-C.
type console struct {
	keys *bufio.Reader
	io.Writer
}

// Key sequences after Escape, and those that package term edits lines with.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
var (
	sequence   = regexp.MustCompile(`^(\[[0-9;]*|O)?[ -~]`)
	understood = regexp.MustCompile(`^\[([A-DFH]|3~|1;3[CD])$`)
)

func (c console) Read(p []byte) (int, error) {
	key, _, err := c.keys.ReadRune()
	switch {
	case err != nil:
		return 0, err
	case key == utf8.RuneError:
		return copy(p, "?"), nil
	case key != '\x1b':
		return copy(p, string(key)), nil
	}
	// A terminal sends a sequence in one piece, so what follows has been read.
	rest, err := c.keys.Peek(c.keys.Buffered())
	if err != nil {
		return 0, err
	}
	found := sequence.FindString(string(rest))
	if _, err := c.keys.Discard(len(found)); err != nil || !understood.MatchString(found) {
		return 0, err
	}
	return copy(p, "\x1b"+found), nil
}
