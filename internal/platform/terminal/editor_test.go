package terminal

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
)

// edited are the lines that are read from keys, up to the end of the input.
func edited(t *testing.T, keys string) (lines []string) {
	t.Helper()
	reader := newLine(strings.NewReader(keys), io.Discard, []string{"exit", "/price", "/staked", "/supply", "/as registered", "/as unregistered"})
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
	const up, left = "\x1b[A", "\x1b[D"
	for name, tt := range map[string]struct {
		keys string
		want []string
	}{
		"pasted lines":              {"/price\r/help\r/supply\r", []string{"/price", "/help", "/supply"}},
		"arrows and backspace":      {"acx\x7f" + left + "b\r", []string{"abc"}},
		"history":                   {"one\rtwo\r" + up + up + "\r", []string{"one", "two", "one"}},
		"Tab":                       {"/pr\t7d\r/as un\t\r", []string{"/price 7d", "/as unregistered "}},
		"Tab, several or none":      {"/s\tx\r/dance\t\r", []string{"/sx", "/dance"}},
		"Ctrl-D alone":              {"one\r\x04two\r", []string{"one"}},
		"Ctrl-C":                    {"one\rtwo\x03three\r", []string{"one"}},
		"keys of no use":            {"a\x1b[5~\x1bOP\x1b[1;5D\x1bfb\r", []string{"ab"}},
		"Escape, then Ctrl-C":       {"a\r\x1b\x03b\r", []string{"a"}},
		"Escape, then Enter":        {"a\x1b\rb\r", []string{"a", "b"}},
		"a sequence without an end": {"a\x1b[" + strings.Repeat("1;", 1000) + "\rb\r", []string{"a", "b"}},
		"a paste without an end":    {"\x1b[200~a\x03b\r", nil},
		"not UTF-8":                 {"M\xfcller\r\xe4\xbb\r代币\r", []string{"M?ller", "??", "代币"}},
		"bytes, then Ctrl-C":        {"a\r" + strings.Repeat("\x80\xff\xc3", 500) + "\x03b\r", []string{"a"}},
	} {
		if got := edited(t, tt.keys); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// rawLines is a terminal whose mode can be looked at.
type rawLines struct {
	raw bool
	in  chan line
}

func (r *rawLines) begin() (restore func(), err error) {
	r.raw = true
	return func() { r.raw = false }, nil
}

func (r *rawLines) readLine() line { return <-r.in }

func TestTheTerminalIsRawOnlyWhileALineIsRead(t *testing.T) {
	lines := &rawLines{in: make(chan line)}
	ctx, cancel := context.WithCancel(t.Context())
	a := New(Config{Out: io.Discard, Askers: []Asker{{Name: "ann"}}, Log: slog.New(slog.DiscardHandler)})
	work := chat.NewTasks(ctx, &chattest.Handler{Reply: func(context.Context, chat.Request) chat.Reply {
		if lines.raw {
			t.Error("the terminal is raw while a command runs")
		}
		go cancel() // while the next line is read
		return chat.Reply{}
	}}, a.Log, func(string) {})
	go func() { lines.in <- line{text: "/price"} }()
	if err := a.serve(ctx, work, lines); err != nil || lines.raw {
		t.Errorf("%v, the terminal is left raw: %t", err, lines.raw)
	}
	close(lines.in)
	work.Drain()
}

func FuzzEditor(f *testing.F) {
	f.Add("/pr\t\x1b[A\x1b[D代\x7f\r")
	f.Add("\x1b[1;5D\x1bb\x0b\x15\x17\x14\xff\x1b[200~")
	f.Fuzz(func(t *testing.T, keys string) { edited(t, keys) })
}
