package terminal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"golang.org/x/term"
)

// edited types keys one after another, and returns the lines that are read until the input ends.
func edited(t *testing.T, keys ...string) (lines []string) {
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

func TestLinesAreEdited(t *testing.T) {
	const up, escape, ctrlC = "\x1b[A", "\x1b", "\x03"
	for name, tt := range map[string]struct {
		keys []string
		want []string
	}{
		"pasted lines":           {[]string{"/price\r/help\r/supply\r"}, []string{"/price", "/help", "/supply"}},
		"history":                {[]string{"one\rtwo\r" + up + up + "\r"}, []string{"one", "two", "one"}},
		"Ctrl-D alone":           {[]string{"one\r\x04two\r"}, []string{"one"}},
		"Ctrl-C":                 {[]string{"one\rtwo", ctrlC, "three\r"}, []string{"one"}},
		"Escape, then Ctrl-C":    {[]string{"a\r", escape, ctrlC, "b\r"}, []string{"a"}},
		"half a key, and Ctrl-C": {[]string{"a\r", "\x1b[200~a\x1b[1;", ctrlC, "b\r"}, []string{"a"}},
		"not UTF-8":              {[]string{"M\xfcller\r", "\xe4\xbb\r代币\r"}, []string{"M?ller", "?", "代币"}},
	} {
		if got := edited(t, tt.keys...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
