package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"golang.org/x/term"

	"herald/internal/panics"
)

// editor reads lines at a terminal, with a history and with the keys of a shell:
// the arrows, Home, End, Ctrl-A, E, K, U, W and T, and Tab. The terminal is in
// raw mode only while a line is read, so that Ctrl-C reaches a command in hand
// as a signal. At a prompt Ctrl-C is the end of the input, as Ctrl-D is.
type editor struct {
	line     *term.Terminal
	in       io.Reader
	out      io.Writer
	tty      tty
	complete func(text string) []string
	keys     keys

	// wide is whether a character was typed that may take two cells.
	wide bool
	// failed ends the reading.
	failed error

	mu sync.Mutex
	// restore ends raw mode; nil while no line is read.
	restore func()
	closed  bool
}

// tty is what an editor needs of a terminal beside what is typed and shown.
type tty interface {
	// raw sets raw mode; restore undoes that.
	raw() (restore func(), err error)
	// size is 0 where it is not known.
	size() (width, height int)
	// suspend stops the program until it is resumed.
	suspend()
}

// newEditor makes an editor that completes the last word of a text with one of
// the words that complete returns.
func newEditor(in io.Reader, out io.Writer, prompt string, t tty, complete func(text string) []string) *editor {
	e := &editor{in: in, out: out, tty: t, complete: complete}
	e.line = term.NewTerminal(e, prompt)
	e.line.AutoCompleteCallback = e.press
	e.line.History = history{e.line.History}
	return e
}

// history keeps what is worth typing again: no blank line, and none twice in a
// row.
type history struct{ term.History }

func (h history) Add(line string) {
	if strings.TrimSpace(line) != "" && (h.Len() == 0 || h.At(0) != line) {
		h.History.Add(line)
	}
}

// readLine implements lineReader.
func (e *editor) readLine() line {
	if err := e.begin(); err != nil {
		return line{err: err}
	}
	defer e.end()
	text, err := e.line.ReadLine()
	switch {
	case e.failed != nil:
		err = e.failed
	case errors.Is(err, syscall.EIO): // the terminal is gone
		err = io.EOF
	}
	return line{text: text, err: err}
}

// begin sets raw mode, for one line.
func (e *editor) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return io.EOF
	}
	restore, err := e.tty.raw()
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	e.restore = restore
	return nil
}

// end undoes begin.
func (e *editor) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.restore != nil {
		e.restore()
		e.restore = nil
	}
}

// close implements lineReader.
func (e *editor) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end()
}

// pause leaves the terminal as it was found until resume.
func (e *editor) pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.restore != nil {
		e.restore()
	}
}

// resume goes on with the line that is read, if one is.
func (e *editor) resume() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.restore == nil {
		return
	}
	if _, err := e.tty.raw(); err == nil {
		e.repaint()
	}
}

// repaint shows the prompt and the line anew.
func (e *editor) repaint() {
	_, _ = io.WriteString(e.out, "\r") // the next write fails as well
	_, _ = e.line.Write(nil)
}

// Read gives what was typed to package term. It is called between two keys.
func (e *editor) Read(p []byte) (int, error) {
	if e.failed != nil {
		return 0, e.failed
	}
	if e.wide {
		// Package term counts a cell a character, so it has erased too little.
		e.repaint()
	}
	n, err := e.in.Read(p[:len(p)/6])
	if width, height := e.tty.size(); width > 0 {
		_ = e.line.SetSize(width, height) // it fails only as the next write does
	}
	return copy(p, e.keys.decode(p[:n])), err
}

// Write shows what package term draws.
func (e *editor) Write(p []byte) (int, error) { return e.out.Write(p) }

// press is called with every key that package term has no use for itself, and
// returns the line anew if it has dealt with the key.
func (e *editor) press(text string, pos int, key rune) (newText string, newPos int, done bool) {
	defer func() {
		// Package term would make a fatal error of it, which nothing can recover.
		if v := recover(); v != nil {
			e.failed = panics.Error(v)
			newText, newPos, done = text, pos, true
		}
	}()
	switch {
	case key == '\t':
		newText, newPos = e.tab(text, pos)
		return newText, newPos, true
	case key == 'Z'-'@': // Ctrl-Z
		e.pause()
		e.tty.suspend()
		e.resume()
		return text, pos, true
	case key > unicode.MaxASCII:
		e.wide = true
	}
	return "", 0, false
}

// tab completes the word before the cursor as far as there is one way to; if
// that is no further, it shows all ways.
func (e *editor) tab(text string, pos int) (newText string, newPos int) {
	head, tail := text[:pos], text[pos:]
	start := strings.LastIndex(head, " ") + 1
	all := e.complete(head)
	if len(all) == 0 {
		return text, pos
	}
	word := all[0]
	for _, other := range all[1:] {
		for !strings.HasPrefix(other, word) {
			word = word[:len(word)-1]
		}
	}
	switch {
	case len(all) == 1 && !strings.HasPrefix(tail, " "):
		word += " "
	case len(all) > 1 && len(word) <= len(head)-start:
		_, _ = e.line.Write([]byte(strings.Join(all, "  ") + "\n")) // the next write fails as well
		return text, pos
	}
	head = head[:start] + word
	return head + tail, len(head)
}
