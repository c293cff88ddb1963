package terminal

import "bufio"

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
	// begin prepares the terminal for one line; restore undoes that, also while
	// the line is read.
	begin() (restore func(), err error)
	// readLine blocks until the line is there, and nothing interrupts it.
	readLine() line
}

// pipe reads the lines of a pipe, or of a terminal that cannot do more. Its buffer
// holds a line of maxLine bytes with its end, LF or CRLF.
type pipe struct{ in *bufio.Reader }

func (pipe) begin() (restore func(), err error) { return func() {}, nil }

func (p pipe) readLine() line {
	text, more, err := p.in.ReadLine()
	if !more && len(text) <= maxLine {
		return line{text: string(text), err: err}
	}
	for more && err == nil {
		_, more, err = p.in.ReadLine()
	}
	return line{tooLong: true} // the next read meets an error again
}
