package terminal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// edited are the lines read from keys, typed one after the other, up to the end of
// the input.
func edited(t *testing.T, keys ...string) (lines []string) {
	t.Helper()
	in, keyboard := io.Pipe()
	go func() {
		for _, key := range keys {
			fmt.Fprint(keyboard, key)
		}
		keyboard.Close()
	}()
	defer in.Close()
	reader := newEditor(in, io.Discard, []string{"exit", "/price", "/staked", "/supply", "/as registered", "/as unregistered"})
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
	const up, left, escape, ctrlC = "\x1b[A", "\x1b[D", "\x1b", "\x03"
	for name, tt := range map[string]struct {
		keys []string
		want []string
	}{
		"pasted lines":           {[]string{"/price\r/help\r/supply\r"}, []string{"/price", "/help", "/supply"}},
		"arrows and backspace":   {[]string{"acx\x7f" + left + "b\r"}, []string{"abc"}},
		"history":                {[]string{"one\rtwo\r" + up + up + "\r"}, []string{"one", "two", "one"}},
		"Tab":                    {[]string{"/pr\t7d\r/as un\t\r"}, []string{"/price 7d", "/as unregistered "}},
		"Tab, several or none":   {[]string{"/s\tx\r/dance\t\r"}, []string{"/sx", "/dance"}},
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

func FuzzEditor(f *testing.F) {
	f.Add("/pr\t\x1b[A\x1b[D代\x7f\r")
	f.Add("\x1b[1;5D\x1bb\x0b\x15\x17\x14\xff")
	f.Fuzz(func(t *testing.T, keys string) {
		if !strings.Contains(keys, "\x1b[200~") { // no terminal pastes so unless asked to
			edited(t, keys)
		}
	})
}
