package gateway

import (
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
)

// Whatever the gateway does on every connection, for hours, Discord sees at
// most ten identifies in ten minutes.
func TestIdentifiesStayRareForHours(t *testing.T) {
	do := func(actions ...fakediscord.Action) []fakediscord.Action { return actions }
	nothing := []fakediscord.Action{}
	for name, tt := range map[string]struct {
		behaviour fakediscord.Behaviour
		min, max  int // identifies in the hours that pass
	}{
		"no Hello":            {fakediscord.Behaviour{InsteadOfHello: nothing}, 0, 0},
		"op 7 for Hello":      {fakediscord.Behaviour{InsteadOfHello: do(fakediscord.Action{Op: 7})}, 0, 0},
		"op 9 for Hello":      {fakediscord.Behaviour{InsteadOfHello: do(fakediscord.Action{Op: 9})}, 0, 0},
		"op 7 for READY":      {fakediscord.Behaviour{InsteadOfReady: do(fakediscord.Action{Op: 7})}, 60, 90},
		"op 9 for READY":      {fakediscord.Behaviour{InsteadOfReady: do(fakediscord.Action{Op: 9})}, 60, 90},
		"op 11 for READY":     {fakediscord.Behaviour{InsteadOfReady: do(fakediscord.Action{Op: 11}, fakediscord.Action{Close: 4000})}, 60, 90},
		"nothing for READY":   {fakediscord.Behaviour{InsteadOfReady: do(fakediscord.Action{Stall: true})}, 60, 90},
		"silence after READY": {fakediscord.Behaviour{AfterReady: do(fakediscord.Action{Stall: true})}, 1, 1},
		"no RESUMED":          {fakediscord.Behaviour{AfterReady: do(fakediscord.Action{Drop: true}), InsteadOfResumed: nothing}, 15, 90},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, tt.behaviour, func(t *testing.T, h *harness) {
				pass(2 * time.Hour)
				identifies := h.fake.Identifies()
				if n := maxWithin(identifies, 10*time.Minute); n > 10 || len(identifies) < tt.min || len(identifies) > tt.max {
					t.Errorf("identified %d times, %d of them in ten minutes", len(identifies), n)
				}
				h.fake.Behave(fakediscord.Behaviour{Heartbeat: 41 * time.Second})
				pass(identifyWindow + 2*time.Minute)
				if !h.Alive() {
					t.Error("not connected to a gateway that works again")
				}
				h.takes(t)
			})
		})
	}
}

// The worst gateway lets each session live just long enough to count as
// healthy. Discord resets the token of a bot that identifies more than 1,000
// times a day.
func TestIdentifiesStayBelowADaysBudget(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *harness) {
		for began := time.Now(); time.Since(began) < 6*time.Hour; {
			if h.fake.WaitConnected(t.Context()) != nil {
				return
			}
			pass(stableAfter)
			h.fake.Do(fakediscord.Action{Op: 9})
		}
		if n := len(h.fake.Identifies()); n > 1000/4 || n < 500/4 {
			t.Errorf("identified %d times in a quarter of a day", n)
		}
	})
}

func TestSpentSessionsAreWaitedFor(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *harness) {
		if len(h.fake.Identifies()) != 0 || h.count("identify_throttled") != 1 || h.logged.Lines("wait=1h0m0s") != 1 {
			t.Errorf("identified %d times, counted %v, log:\n%s", len(h.fake.Identifies()), h.events, h.logged)
		}
		h.fake.Limit(1, time.Hour)
		pass(time.Hour + time.Minute)
		h.takes(t)
	}, func(h *harness) { h.fake.Limit(0, time.Hour) })
}
