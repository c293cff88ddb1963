// Package logtest keeps a log that a test can search.
package logtest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Buffer is a log that can be read while it is written. Its zero value is empty and ready to use.
type Buffer struct {
	mu      sync.Mutex
	written bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written.Write(p)
}

// String returns all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written.String()
}

// Lines counts the lines that contain text.
func (b *Buffer) Lines(text string) int {
	n := 0
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Logger returns a logger that writes records of every level to b, one line each, and redacts nothing.
func (b *Buffer) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
