package terminal_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/terminal"
)

// screen is an Out that can be read meanwhile.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	grew chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	select {
	case s.grew <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *screen) messages() []chattest.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []chattest.Message
	for text := range strings.SplitSeq(strings.TrimSuffix(s.text.String(), "\n\n"), "\n\n") {
		if text != "" {
			body, private := strings.CutPrefix(text, "(only you see this)\n")
			all = append(all, chattest.Message{Text: body, Private: private})
		}
	}
	return all
}

func TestAdapterKeepsTheContract(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		in, keyboard := io.Pipe()
		t.Cleanup(func() { keyboard.Close() })
		out := &screen{grew: make(chan struct{}, 1)}
		return chattest.Harness{
			Adapter: terminal.New(config(in, out)),
			Ask: func(_ *testing.T, command string, argument ...string) {
				// A pipe takes a line when it is read, which for the next one
				// is after the answer.
				go fmt.Fprintln(keyboard, "/"+command, strings.Join(argument, " "))
			},
			Messages: func(t *testing.T, atLeast int) []chattest.Message {
				t.Helper()
				limit := time.After(20 * time.Second)
				for {
					if all := out.messages(); len(all) >= atLeast {
						return all
					}
					select {
					case <-out.grew:
					case <-limit:
						t.Fatalf("not %d messages in time: %+v", atLeast, out.messages())
					}
				}
			},
			Faults: func() []string { return nil },
			Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
		}
	})
}
