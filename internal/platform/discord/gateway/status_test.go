package gateway

import (
	"context"
	"sync/atomic"
	"testing"

	fakediscord "herald/internal/demo/fake/discord"
)

func TestTheStatusIsShownOnEveryConnection(t *testing.T) {
	var status atomic.Value
	status.Store("TKN $1")
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		expect := func(when, want string, sent int) {
			t.Helper()
			pass(statusEvery)
			equal(t, "status "+when, h.fake.Status(), want)
			equal(t, "times it was sent "+when, len(h.fake.Presences()), sent)
		}
		expect("at first", "TKN $1", 1)
		status.Store("TKN $2")
		expect("changed", "TKN $2", 2)
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		expect("resumed", "TKN $2", 3)
		h.fake.Do(fakediscord.Action{Op: opInvalidSession})
		expect("in another session", "TKN $2", 4)
		status.Store("")
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		expect("taken away between two connections", "", 5)
		status.Store("hangs")
		pass(statusEvery)
		equal(t, "Run", h.stop(), nil)
		equal(t, "problems", len(h.fake.Problems()), 0)
	}, func(h *gatewayTest) {
		h.Status = func(ctx context.Context) string {
			text := status.Load().(string)
			if text == "hangs" {
				<-ctx.Done()
			}
			return text
		}
	})
}
