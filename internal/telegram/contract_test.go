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

// harness is r for the suite; give hands an update to the adapter.
func (r *rig) harness(give func(telegramtest.Message)) chattest.Harness {
	r.api.Start(ann)
	return chattest.Harness{
		Adapter: r.adapter,
		Ask: func(_ *testing.T, command string, argument ...string) {
			text := strings.Join(append([]string{"/" + command}, argument...), " ")
			give(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), text))
		},
		Messages: func(t *testing.T, atLeast int) (all []chattest.Message) {
			t.Helper()
			for _, m := range r.api.WaitSent(atLeast, soon) {
				all = append(all, chattest.Message{Text: m.Text, Private: m.Chat == ann})
			}
			if len(all) < atLeast {
				t.Fatalf("%d messages, want %d: %+v; log:\n%s", len(all), atLeast, all, r.logs)
			}
			return all
		},
		Faults: r.api.Violations,
		Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
	}
}

func TestAdapterKeepsTheContractByPolling(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		r := setUp(t, nil)
		return r.harness(func(m telegramtest.Message) { r.api.Push(m) })
	})
}

func TestAdapterKeepsTheContractByWebhook(t *testing.T) {
	chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
		r, address := hooked(t)
		var deliveries sync.WaitGroup
		t.Cleanup(deliveries.Wait)
		return r.harness(func(m telegramtest.Message) {
			r.waitFor("ready", r.adapter.Ready)
			body := r.api.Update(m)
			deliveries.Go(func() {
				if status, err := r.api.Deliver(context.Background(), address, body); err != nil || status != http.StatusOK {
					t.Errorf("status %d, %v", status, err)
				}
			})
		})
	})
}
