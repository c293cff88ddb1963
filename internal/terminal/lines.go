package terminal

import (
	"bufio"
	"bytes"
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

// readLine reads up to the next end of line, LF or CRLF, or of the input.
func readLine(in *bufio.Reader) line {
	// A line that is too long is kept only so far that it stays too long
	// without its end.
	const kept = maxLine + len("\r\n") + 1
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
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
