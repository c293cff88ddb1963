package terminal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"golang.org/x/term"
)

// linesOf types keys one after another at a terminal, and returns the lines that the window reads until the input ends.
func linesOf(t *testing.T, keys ...string) (lines []string) {
	t.Helper()
	in, typed := io.Pipe()
	go func() {
		for _, key := range keys {
			fmt.Fprint(typed, key)
		}
		typed.Close()
	}()
	defer in.Close()
	reader := term.NewTerminal(keyboard{in, io.Discard}, "")
	for {
		line, err := reader.ReadLine()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

func TestKeysBecomeLines(t *testing.T) {
	const (
		up         = "\x1b[A"
		escape     = "\x1b"
		pasteBegin = "\x1b[200~"
		ctrlC      = "\x03"
		ctrlD      = "\x04"
	)
	for name, tt := range map[string]struct {
		keys []string
		want []string
	}{
		"pasted lines": {
			keys: []string{"/price\r/help\r/supply\r"},
			want: []string{"/price", "/help", "/supply"},
		},
		"an earlier line again": {
			keys: []string{"one\rtwo\r" + up + up + "\r"},
			want: []string{"one", "two", "one"},
		},
		"Ctrl-D ends the input": {
			keys: []string{"one\r" + ctrlD + "two\r"},
			want: []string{"one"},
		},
		"Ctrl-C ends the input": {
			keys: []string{"one\rtwo", ctrlC, "three\r"},
			want: []string{"one"},
		},
		"Ctrl-C after Escape": {
			keys: []string{"one\r", escape, ctrlC, "two\r"},
			want: []string{"one"},
		},
		"Ctrl-C after half an escape sequence": {
			keys: []string{"one\r", pasteBegin + "a\x1b[1;", ctrlC, "two\r"},
			want: []string{"one"},
		},
		"invalid UTF-8": {
			keys: []string{"M\xfcller\r", "\xe4\xbb\r代币\r"},
			want: []string{"M?ller", "?", "代币"},
		},
	} {
		if got := linesOf(t, tt.keys...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
