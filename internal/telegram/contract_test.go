package telegram

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/telegramtest"
)

// harness is r for the suite; give hands the update that is queued to the
// adapter.
func (r *rig) harness(give func()) chattest.Harness {
	r.api.Start(ann)
	return chattest.Harness{
		Adapter: r.adapter,
		Ask: func(_ *testing.T, command string, argument ...string) {
			text := strings.Join(append([]string{"/" + command}, argument...), " ")
			r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), text))
			give()
		},
		Messages: func(t *testing.T, atLeast int) (all []chattest.Message) {
			t.Helper()
			for _, m := range r.api.WaitSent(atLeast, soon) {
				text := m.Text
				for _, row := range m.Markup.Rows {
					for _, b := range row {
						text += " [" + b.Text + "]"
					}
				}
				all = append(all, chattest.Message{Text: text, Private: m.Chat == ann})
			}
			if len(all) < atLeast {
				t.Fatalf("%d messages, want %d: %+v; log:\n%s", len(all), atLeast, all, r.logs)
			}
			return all
		},
		Press: func(t *testing.T, label string, other bool) {
			t.Helper()
			who := int64(ann)
			if other {
				who++
			}
			r.press(who, label)
			give()
		},
		Faults: r.api.Violations,
		Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
	}
}

func TestAdapterKeepsTheContractByPolling(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		return setUp(t, nil).harness(func() {})
	})
}

func TestAdapterKeepsTheContractByWebhook(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		r, address := hooked(t)
		var deliveries sync.WaitGroup
		t.Cleanup(deliveries.Wait)
		return r.harness(func() {
			r.waitFor("ready", r.adapter.Ready)
			for _, body := range r.api.Dequeue() {
				deliveries.Go(func() {
					if status, err := r.api.Deliver(context.Background(), address, body); err != nil || status != http.StatusOK {
						t.Errorf("status %d, %v", status, err)
					}
				})
			}
		})
	})
}
