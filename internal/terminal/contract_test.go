package terminal_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/terminal"
)

// screen is an Out that keeps what each Write shows.
type screen chan string

func (s screen) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

func TestAdapterKeepsTheContract(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		in, keyboard := io.Pipe()
		t.Cleanup(func() { keyboard.Close() })
		out := make(screen, 1000)
		var all []chattest.Message
		return chattest.Harness{
			Adapter: terminal.New(config(in, out)),
			Ask: func(_ *testing.T, command string, argument ...string) {
				// A pipe takes a line when it is read, which for the next one
				// is after the answer.
				go fmt.Fprintln(keyboard, "/"+command, strings.Join(argument, " "))
			},
			Messages: func(t *testing.T, atLeast int) []chattest.Message {
				t.Helper()
				for len(all) < atLeast || len(out) > 0 {
					select {
					case text := <-out:
						body, private := strings.CutPrefix(strings.TrimSuffix(text, "\n\n"), "(only you see this)\n")
						all = append(all, chattest.Message{Text: body, Private: private})
					case <-time.After(20 * time.Second):
						t.Fatalf("not %d messages in time: %+v", atLeast, all)
					}
				}
				return all
			},
			Faults: func() []string { return nil },
			Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
		}
	})
}
