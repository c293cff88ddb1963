package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line, in bytes without its end.
const maxLine = 1 << 20

// line is one line of input or the error that ended it.
type line struct {
	text    string
	tooLong bool // text is empty then
	err     error
}

// lineReader reads lines, one at a time.
type lineReader interface {
	// readLine blocks until the line is there, and nothing interrupts it.
	readLine() line
	// close leaves the terminal as it was found, also while a line is read. It
	// may be called more than once.
	close()
}

// plainLines are the lines of a pipe, or of a terminal that cannot do more.
type plainLines struct {
	in *bufio.Reader
	// prompt shows where to type; out is not written to if it is empty.
	prompt string
	out    io.Writer
}

func newPlainLines(in io.Reader, out io.Writer, prompt string) *plainLines {
	return &plainLines{in: bufio.NewReaderSize(in, 64<<10), prompt: prompt, out: out}
}

// readLine reads up to the next end of line, LF or CRLF, or of the input.
func (p *plainLines) readLine() line {
	if p.prompt != "" {
		if _, err := io.WriteString(p.out, p.prompt); err != nil {
			return line{err: err}
		}
	}
	// A line that is too long is kept only so far that it stays too long
	// without its end.
	const kept = maxLine + len("\r\n") + 1
	var text []byte
	for {
		part, err := p.in.ReadSlice('\n')
		text = append(text, part[:min(len(part), kept-len(text))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(text) == 0 || !errors.Is(err, io.EOF)):
			return line{err: err}
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		if len(text) > maxLine {
			return line{tooLong: true}
		}
		return line{text: string(text)}
	}
}

func (*plainLines) close() {}
