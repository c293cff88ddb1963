package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
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
		"Escape, then Enter":     {[]string{"a", escape, "\r", "b\r"}, []string{"a", "b"}},
		"half a key, and Ctrl-C": {[]string{"a\r", "\x1b[200~a\x1b[1;", ctrlC, "b\r"}, []string{"a"}},
		"not UTF-8":              {[]string{"M\xfcller\r", "\xe4\xbb\r代币\r"}, []string{"M?ller", "?", "代币"}},
	} {
		if got := edited(t, tt.keys...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestTheTerminalIsRawOnlyWhileALineIsRead(t *testing.T) {
	raw, lines := false, make(chan string, 1)
	lines <- "/price"
	in := input{
		begin: func() (func(), error) {
			raw = true
			return func() { raw = false }, nil
		},
		read: func() (string, error) { return <-lines, nil },
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := New(Config{Out: io.Discard, Users: []User{{Name: "ann"}}, Log: slog.New(slog.DiscardHandler)})
	tasks := chat.NewTasks(ctx, &chattest.Handler{Reply: func(context.Context, chat.Request) chat.Reply {
		if raw {
			t.Error("the terminal is raw while a command runs")
		}
		go cancel() // while the next line is read
		return chat.Reply{}
	}}, a.Log, func(string) {})
	if err := a.serve(ctx, tasks, in); err != nil || raw {
		t.Errorf("%v, the terminal is left raw: %t", err, raw)
	}
	close(lines)
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
