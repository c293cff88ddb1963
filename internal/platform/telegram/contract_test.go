package telegram

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
)

func TestAdapterKeepsTheContract(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			chattest.TestAdapter(t, func(t *testing.T) chattest.Harness { return setUp(t, way).harness() })
		})
	}
}

func (r *rig) harness() chattest.Harness {
	r.api.Start(ann)
	give := func() {}
	if r.adapter.WebhookURL != "" {
		var deliveries sync.WaitGroup
		r.Cleanup(deliveries.Wait)
		give = func() {
			r.waitFor("ready", r.adapter.Ready)
			for _, body := range r.api.Dequeue() {
				deliveries.Go(func() {
					if status := r.deliver(body); status != http.StatusOK {
						r.Errorf("a delivery is answered by %d", status)
					}
				})
			}
		}
	}
	return chattest.Harness{
		Adapter: r.adapter,
		Ask: func(_ *testing.T, command string, argument ...string) {
			r.api.Push(inGroup(ann, strings.Join(append([]string{"/" + command}, argument...), " ")))
			give()
		},
		Messages: func(t *testing.T, atLeast int) (all []chattest.Message) {
			t.Helper()
			for _, m := range r.api.WaitSent(atLeast, soon) {
				all = append(all, chattest.Message{Text: m.Text + labelsOf(m), Private: m.Chat == ann})
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
