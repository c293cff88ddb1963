package gateway

import (
	"context"
	"sync/atomic"
	"testing"

	fakediscord "herald/internal/demo/fake/discord"
)

func TestTheStatusIsShownOnEveryConnectionAndBroughtUpToDate(t *testing.T) {
	var status atomic.Value
	status.Store("TKN $1")
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *harness) {
		expect := func(when, want string, sent int) {
			t.Helper()
			pass(statusEvery)
			if got := h.fake.Status(); got != want || len(h.fake.Presences()) != sent {
				t.Errorf("%s: the status is %q and was sent %d times, want %q and %d", when, got, len(h.fake.Presences()), want, sent)
			}
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
		if err := h.stop(); err != nil || len(h.fake.Problems()) > 0 {
			t.Error(err, h.fake.Problems())
		}
	}, func(h *harness) {
		h.Status = func(ctx context.Context) string {
			text := status.Load().(string)
			if text == "hangs" {
				<-ctx.Done()
			}
			return text
		}
	})
}
