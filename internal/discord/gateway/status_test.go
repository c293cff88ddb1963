package gateway

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/discord/discordtest"
)

func TestAStatusIsShownInEverySession(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		expect := func(when, want string, sent int) {
			t.Helper()
			pass(time.Minute)
			if got := h.fake.Status(); got != want || len(h.fake.Presences()) != sent {
				t.Errorf("%s: the status is %q and was sent %d times, want %q and %d", when, got, len(h.fake.Presences()), want, sent)
			}
		}
		expect("before there is one", "", 0)
		h.Show("TKN $1")
		expect("once it is set", "TKN $1", 1)
		h.Show("TKN $1")
		expect("set to the same", "TKN $1", 1)
		h.Show("TKN $2")
		expect("set to another", "TKN $2", 2)
		h.fake.Do(discordtest.Action{Op: opReconnect})
		expect("resumed", "TKN $2", 3)
		h.fake.Do(discordtest.Action{Op: opInvalidSession})
		expect("in another session", "TKN $2", 4)
		h.fake.Behave(discordtest.Behaviour{InsteadOfHello: []discordtest.Action{{Close: 4000}}})
		h.fake.Do(discordtest.Action{Op: opReconnect})
		pass(time.Second)
		h.Show("")
		h.fake.Behave(discordtest.Behaviour{})
		expect("taken away between two connections", "", 5)
		h.Show("TKN $3")
		h.Show("")
		expect("set and taken away", "", len(h.fake.Presences()))
		if problems := h.fake.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
	}, func(h *harness) { h.timings.stable = time.Second })
}

func TestAStatusThatIsSetEarlyIsShownOnceThereIsASession(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		pass(time.Second)
		if got := h.fake.Status(); got != "TKN $1" || len(h.fake.Presences()) != 1 || h.fake.Connects() != 1 {
			t.Errorf("the status is %q, log:\n%s", got, h.logged())
		}
	}, func(h *harness) { h.Show("TKN $1") })
}

// TestTheFakeRefusesAPresenceThatComesTooOften sets more than Discord takes.
func TestTheFakeRefusesAPresenceThatComesTooOften(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		pass(time.Second)
		for i := range 6 {
			h.Show(fmt.Sprint(i))
			pass(time.Second)
		}
		if len(h.fake.Problems()) == 0 {
			t.Error("six changes in six seconds are taken")
		}
	})
}
