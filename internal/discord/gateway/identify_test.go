package gateway

import (
	"net/http"
	"testing"
	"time"

	"herald/internal/discord/discordtest"
)

// Whatever the gateway does, and however often, Discord must not see more than
// ten identifies in ten minutes.
func TestIdentifiesAreBoundedUnderEveryFault(t *testing.T) {
	for name, b := range map[string]discordtest.Behaviour{
		"op 9 for READY":     {InsteadOfReady: []discordtest.Action{{Op: 9}, {Op: 9}, {Op: 9}}},
		"op 7 before READY":  {InsteadOfReady: []discordtest.Action{{Op: 7}}},
		"op 11 before READY": {InsteadOfReady: []discordtest.Action{{Op: 11}, {Close: 4000}}},
		"close for READY":    {InsteadOfReady: []discordtest.Action{{Close: 4008}}},
		"no READY":           {InsteadOfReady: []discordtest.Action{{Stall: true}}},
		"op 9 after READY":   {AfterReady: []discordtest.Action{{Op: 9}}},
		"close 4009":         {AfterReady: []discordtest.Action{{Close: 4009}}},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, b, func(t *testing.T, h *harness, _ *discordtest.Wire) {
				h.wait(t, "hold", func() bool { return h.count("identify_held") > 0 })
				if got := len(h.fake.Identifies()); got != maxIdentifies {
					t.Errorf("identified %d times", got)
				}
				if h.Alive() {
					t.Error("alive without a connection")
				}
			}, func(h *harness) { h.timings = timings{quick.backoff, time.Second, quick.stable} })
		})
	}
}

func TestFaultsBeforeIdentifyCostNone(t *testing.T) {
	t.Run("no Hello", func(t *testing.T) {
		h := prepare(t, discordtest.New())
		h.fake.Behave(discordtest.Behaviour{InsteadOfHello: []discordtest.Action{}})
		h.timings.handshake = 10 * time.Millisecond
		h.run(t)
		h.wait(t, "disconnections", func() bool { return h.count("disconnected") > 15 })
		if got := len(h.fake.Identifies()); got != 0 {
			t.Errorf("identified %d times", got)
		}
	})
	t.Run("502", func(t *testing.T) {
		h := prepare(t, discordtest.New())
		h.fake.Break(discordtest.GatewayBot, discordtest.Fault{Status: http.StatusBadGateway})
		h.run(t)
		h.wait(t, "disconnections", func() bool { return h.count("disconnected") > 15 })
		h.fake.Break(discordtest.GatewayBot, discordtest.Fault{})
		h.wait(t, "a connection", h.Alive)
		if got := len(h.fake.Identifies()); got != 1 {
			t.Errorf("identified %d times", got)
		}
	})
}

// Whatever the gateway does on every connection, for hours, Discord sees at
// most ten identifies in ten minutes.
func TestIdentifiesStayRareForHours(t *testing.T) {
	do := func(actions ...discordtest.Action) []discordtest.Action { return actions }
	for name, tt := range map[string]struct {
		behaviour   discordtest.Behaviour
		least, most int // identifies in the hours that pass
	}{
		"no Hello":            {discordtest.Behaviour{InsteadOfHello: []discordtest.Action{}}, 0, 0},
		"op 7 for Hello":      {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Op: 7})}, 0, 0},
		"op 9 for Hello":      {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Op: 9})}, 0, 0},
		"op 11 for Hello":     {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Op: 11})}, 0, 0},
		"close for Hello":     {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Close: 4000})}, 0, 0},
		"op 7 for READY":      {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Op: 7})}, 60, 1000},
		"op 9 for READY":      {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Op: 9})}, 60, 1000},
		"op 9 thrice":         {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Op: 9}, discordtest.Action{Op: 9}, discordtest.Action{Op: 9})}, 60, 1000},
		"close for READY":     {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Close: 4008})}, 60, 1000},
		"nothing for READY":   {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Stall: true})}, 60, 1000},
		"op 7 after READY":    {discordtest.Behaviour{AfterReady: do(discordtest.Action{Op: 7})}, 1, 1},
		"op 9 after READY":    {discordtest.Behaviour{AfterReady: do(discordtest.Action{Op: 9})}, 60, 1000},
		"close after READY":   {discordtest.Behaviour{AfterReady: do(discordtest.Action{Close: 1000})}, 1, 1},
		"4009 after READY":    {discordtest.Behaviour{AfterReady: do(discordtest.Action{Close: 4009})}, 60, 1000},
		"silence after READY": {discordtest.Behaviour{AfterReady: do(discordtest.Action{Stall: true})}, 1, 1},
		"no RESUMED": {discordtest.Behaviour{AfterReady: do(discordtest.Action{Drop: true}),
			InsteadOfResumed: []discordtest.Action{}}, 30, 1000},
		"no ACK":           {discordtest.Behaviour{NoACK: true}, 1, 1},
		"no ACK, in haste": {discordtest.Behaviour{NoACK: true, Heartbeat: time.Second}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, tt.behaviour, func(t *testing.T, h *harness, _ *discordtest.Wire) {
				pass(4 * time.Hour)
				identifies := h.fake.Identifies()
				if n := most(identifies, 10*time.Minute); n > 10 || len(identifies) < tt.least || len(identifies) > tt.most {
					t.Errorf("identified %d times, %d of them in ten minutes", len(identifies), n)
				}
				h.fake.Behave(discordtest.Behaviour{Heartbeat: 41 * time.Second})
				pass(identifyWindow + 2*time.Minute)
				if !h.Alive() {
					t.Errorf("not connected to a gateway that works again")
				}
				asked := h.push(t)
				pass(time.Second)
				if got := h.interactions(); len(got) != 1 || got[0] != (taken{asked, false}) {
					t.Errorf("took %v", got)
				}
			})
		})
	}
}

// The worst gateway lets each session live just long enough to count as
// healthy. Discord resets the token of a bot that identifies more than 1,000
// times a day.
func TestIdentifiesStayBelowADaysBudget(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		for began := time.Now(); time.Since(began) < 24*time.Hour; {
			if h.fake.WaitConnected(h.ctx) != nil {
				return
			}
			pass(h.timings.stable)
			h.fake.Do(discordtest.Action{Op: 9})
		}
		if n := len(h.fake.Identifies()); n > 1000 || n < 500 {
			t.Errorf("identified %d times in a day", n)
		}
	})
}

func TestATenMinuteOutageOfRESTPasses(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		if err := h.fake.WaitConnected(h.ctx); err != nil {
			t.Fatal(err)
		}
		h.fake.Break(discordtest.GatewayBot, discordtest.Fault{Status: http.StatusBadGateway})
		h.fake.Do(discordtest.Action{Op: opInvalidSession})
		before := h.fake.Calls(discordtest.GatewayBot)
		pass(10 * time.Minute)
		if n := h.fake.Calls(discordtest.GatewayBot) - before; n < 8 || n > 25 {
			t.Errorf("the gateway was asked for %d times", n)
		}
		if n := len(h.fake.Identifies()); n != 1 || h.Alive() {
			t.Errorf("identified %d times, alive %v", n, h.Alive())
		}
		h.fake.Break(discordtest.GatewayBot, discordtest.Fault{})
		pass(2 * time.Minute)
		if !h.Alive() || len(h.fake.Identifies()) != 2 {
			t.Errorf("alive %v, identified %d times", h.Alive(), len(h.fake.Identifies()))
		}
	})
}

// A connection whose other end is gone without a word is known to be dead
// after two heartbeats, and nothing hangs on it.
func TestAHalfOpenConnectionIsReplaced(t *testing.T) {
	simulate(t, discordtest.Behaviour{Heartbeat: 40 * time.Second}, func(t *testing.T, h *harness, w *discordtest.Wire) {
		pass(5 * time.Minute)
		if !h.Alive() || h.fake.Connects() != 1 {
			t.Fatalf("alive %v, connected %d times", h.Alive(), h.fake.Connects())
		}
		w.Dead.Store(true)
		pass(81 * time.Second)
		if h.Alive() {
			t.Error("still alive after two heartbeats of silence")
		}
		pass(10 * time.Minute)
		w.Dead.Store(false)
		pass(2 * time.Minute)
		if !h.Alive() || h.fake.Connects() != 2 {
			t.Errorf("alive %v, connected %d times", h.Alive(), h.fake.Connects())
		}
		asked := h.push(t)
		pass(time.Second)
		if got := h.interactions(); len(got) != 1 || got[0].id != asked {
			t.Errorf("took %v", got)
		}
	})
}
