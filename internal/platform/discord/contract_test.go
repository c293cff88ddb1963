package discord

import (
	"net"
	"slices"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	fakediscord "herald/internal/demo/fake/discord"
)

func TestTheAdapterKeepsTheContract(t *testing.T) {
	for _, w := range []way{overGateway, byHTTP} {
		t.Run(string(w), func(t *testing.T) {
			chattest.TestAdapter(t, func(t *testing.T) chattest.Harness {
				h := newHarness(t, fakediscord.New(), w)
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				h.listen(t, l)
				return h.suite()
			})
		})
	}
}

// suite is h for the suite: user 5 asks, and user 6 is another.
func (h *harness) suite() chattest.Harness {
	return chattest.Harness{
		Adapter: h.Adapter,
		Ask: func(t *testing.T, name string, argument ...string) {
			i := command(name)
			if len(argument) > 0 {
				i.Options = map[string]string{"wallet": argument[0]}
			}
			chattest.WaitUntil(t, "ready", h.Ready)
			h.send(t, i)
		},
		Press: func(t *testing.T, label string, other bool) {
			for _, m := range slices.Backward(h.fake.Messages()) {
				if b, ok := m.Button(label); ok {
					i := command("")
					i.Button, i.On, i.UserID = b.CustomID, &m, map[bool]string{false: "5", true: "6"}[other]
					h.send(t, i)
					return
				}
			}
			t.Fatalf("no button %q in %+v", label, h.fake.Messages())
		},
		Messages: func(t *testing.T, atLeast int) []chattest.Message {
			t.Helper()
			chattest.WaitUntil(t, "messages", func() bool { return len(h.shown()) >= atLeast })
			return h.shown()
		},
		Faults: h.fake.Problems,
		Args:   func(wallet string) chat.Args { return chat.Named(map[string]string{"wallet": wallet}) },
	}
}

// shown are the messages, without the ones that are only promised.
func (h *harness) shown() []chattest.Message {
	var all []chattest.Message
	for _, m := range h.fake.Messages() {
		if len(m.Embeds) > 0 {
			all = append(all, chattest.Message{Text: m.Text() + "\n" + m.Everything(), Private: m.Ephemeral})
		}
	}
	return all
}
