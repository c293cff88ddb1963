package gateway

import (
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
)

func TestAStatusIsShownInEverySession(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *harness) {
		expect := func(when, want string, sent int) {
			t.Helper()
			pass(time.Minute)
			if got := h.fake.Status(); got != want || len(h.fake.Presences()) != sent {
				t.Errorf("%s: the status is %q and was sent %d times, want %q and %d", when, got, len(h.fake.Presences()), want, sent)
			}
		}
		expect("set before there is a session", "TKN $1", 1)
		h.Show("TKN $1")
		expect("set to the same", "TKN $1", 1)
		h.Show("TKN $2")
		expect("set to another", "TKN $2", 2)
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		expect("resumed", "TKN $2", 3)
		h.fake.Do(fakediscord.Action{Op: opInvalidSession})
		expect("in another session", "TKN $2", 4)
		h.fake.Behave(fakediscord.Behaviour{InsteadOfHello: []fakediscord.Action{{Close: 4000}}})
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		pass(time.Second)
		h.Show("")
		h.fake.Behave(fakediscord.Behaviour{})
		expect("taken away between two connections", "", 5)
		h.Show("TKN $3")
		h.Show("")
		expect("set and taken away", "", len(h.fake.Presences()))
		if problems := h.fake.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
	}, func(h *harness) { h.Show("TKN $1") })
}
