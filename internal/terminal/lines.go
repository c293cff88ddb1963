package terminal

import (
	"bufio"
	"context"
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

// readLines sends every line of in, then the error that ended it, until ctx is
// done. It is a goroutine of its own because a read of standard input cannot be
// interrupted: one that blocks outlives ctx.
func readLines(ctx context.Context, in io.Reader, out chan<- line) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	for {
		next := readLine(buffered)
		select {
		case out <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// readLine reads up to the next end of line or of the input. Of a line that is
// too long it keeps nothing.
func readLine(in *bufio.Reader) line {
	var text []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if !tooLong {
			text = append(text, part...)
		}
		// Two bytes more than the bound may end the line.
		if len(text) > maxLine+2 {
			text, tooLong = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(text) == 0 && !tooLong || !errors.Is(err, io.EOF)):
			return line{err: err}
		}
		text = trimEnd(text)
		if len(text) > maxLine {
			text, tooLong = nil, true
		}
		return line{text: string(text), tooLong: tooLong}
	}
}

// trimEnd takes LF or CRLF off.
func trimEnd(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}
