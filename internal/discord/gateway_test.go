package discord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/discord/discordtest"
)

func TestLostConnectionIsReplaced(t *testing.T) {
	for name, action := range map[string]discordtest.Action{
		"op 7":        {Op: 7},
		"op 9":        {Op: 9},
		"close 1001":  {Close: 1001},
		"close 4000":  {Close: 4000},
		"close 4009":  {Close: 4009},
		"half open":   {Stall: true},
		"close no 42": {Close: 3042},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := connectedWith(t, discordtest.Behaviour{Heartbeat: time.Second})
			h.fake.Do(action)
			h.wait(t, "a new connection", func() bool { return h.counts.of("connected") == 2 && h.Ready() })
			h.answer(t, discordtest.Interaction{Command: "price"})
			if got := len(h.fake.Identifies()); got != 2 {
				t.Errorf("identified %d times", got)
			}
		})
	}
}

func connectedWith(t *testing.T, b discordtest.Behaviour) *harness {
	t.Helper()
	return connected(t, func(h *harness, _ *Config) { h.fake.Behave(b) })
}

func TestHeartbeatsKeepTheConnection(t *testing.T) {
	h := connectedWith(t, discordtest.Behaviour{Heartbeat: 300 * time.Millisecond})
	h.wait(t, "heartbeats", func() bool { return h.fake.Heartbeats() == 4 })
	if !h.Ready() || len(h.fake.Identifies()) != 1 {
		t.Errorf("lost a healthy connection; log:\n%s", h.logged)
	}
}

func TestMissingACKEndsAConnectionThatStillTalks(t *testing.T) {
	h := connectedWith(t, discordtest.Behaviour{Heartbeat: 100 * time.Millisecond, NoACK: true})
	h.wait(t, "disconnection", func() bool {
		h.fake.Do(discordtest.Action{Op: opHeartbeat})
		return h.counts.of("disconnected") > 0
	})
}

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
		"close after READY":  {AfterReady: []discordtest.Action{{Close: 1000}}},
		"no ACK":             {Heartbeat: 10 * time.Millisecond, NoACK: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := prepare(t, nil)
			h.pace.handshake = 50 * time.Millisecond
			h.fake.Behave(b)
			h.retryAtOnce()
			h.run(t)
			h.wait(t, "hold", func() bool { return h.counts.of("identify_held") > 0 })
			if got := len(h.fake.Identifies()); got != maxIdentifies {
				t.Errorf("identified %d times", got)
			}
			if h.Ready() {
				t.Error("ready without a connection")
			}
		})
	}
}

// retryAtOnce takes the back-off away, so that nothing but the bound on
// identifies holds the supervisor.
func (h *harness) retryAtOnce() { h.pace.stable, h.pace.reconnect = 0, time.Millisecond }

func TestFaultsBeforeIdentifyCostNone(t *testing.T) {
	t.Run("no Hello", func(t *testing.T) {
		h := prepare(t, nil)
		h.fake.Behave(discordtest.Behaviour{InsteadOfHello: []discordtest.Action{}})
		h.pace.handshake = 10 * time.Millisecond
		h.retryAtOnce()
		h.run(t)
		h.wait(t, "disconnections", func() bool { return h.counts.of("disconnected") > 15 })
		if got := len(h.fake.Identifies()); got != 0 {
			t.Errorf("identified %d times", got)
		}
	})
	t.Run("502", func(t *testing.T) {
		h := prepare(t, nil)
		h.fake.Break(discordtest.GatewayBot, discordtest.Fault{Status: 502})
		h.retryAtOnce()
		h.run(t)
		h.wait(t, "disconnections", func() bool { return h.counts.of("disconnected") > 15 })
		h.fake.Break(discordtest.GatewayBot, discordtest.Fault{})
		h.wait(t, "a connection", h.Ready)
		if got := len(h.fake.Identifies()); got != 1 {
			t.Errorf("identified %d times", got)
		}
	})
}

func TestBackOffDoublesUpToItsCap(t *testing.T) {
	h := prepare(t, nil)
	h.pace.reconnect = 20 * time.Millisecond
	h.fake.Break(discordtest.GatewayBot, discordtest.Fault{Status: 502})
	h.run(t)
	h.wait(t, "disconnections", func() bool { return h.counts.of("disconnected") == 5 })
	for _, pause := range []string{"20ms", "40ms", "80ms", "160ms", "320ms"} {
		if h.logged.lines("pause="+pause) != 1 {
			t.Errorf("no pause of %s; log:\n%s", pause, h.logged)
		}
	}
}

func TestSpentSessionsAreWaitedFor(t *testing.T) {
	h := prepare(t, nil)
	h.fake.Limit(0, time.Hour)
	h.run(t)
	h.wait(t, "hold", func() bool { return h.counts.of("identify_held") == 1 })
	if got := len(h.fake.Identifies()); got != 0 {
		t.Errorf("identified %d times", got)
	}
	if h.logged.lines("1h0m0s") != 1 {
		t.Errorf("log:\n%s", h.logged)
	}
}

func TestFatalClosesEndRun(t *testing.T) {
	for code, setting := range map[int]string{
		4004: "DISCORD_BOT_TOKEN", 4010: "DISCORD_BOT_TOKEN", 4011: "DISCORD_PUBLIC_KEY",
		4012: "DISCORD_API_URL", 4013: "DISCORD_API_URL", 4014: "DISCORD_BOT_TOKEN",
	} {
		h := prepare(t, nil)
		h.fake.Behave(discordtest.Behaviour{InsteadOfReady: []discordtest.Action{{Close: code}}})
		err := h.Run(h.ctx)
		if err == nil || !strings.HasPrefix(err.Error(), setting+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("close %d: %v", code, err)
		}
		if got := len(h.fake.Identifies()); got != 1 {
			t.Errorf("close %d: identified %d times", code, got)
		}
	}
}

func TestRefusedTokenEndsRunAndCheck(t *testing.T) {
	h := prepare(t, func(_ *harness, c *Config) { c.Token = "wrong" })
	if err := h.Run(h.ctx); !errors.Is(err, errToken) {
		t.Errorf("Run: %v", err)
	}
	if _, err := h.Check(h.ctx); !errors.Is(err, errToken) {
		t.Errorf("Check: %v", err)
	}
	if got := len(h.fake.Identifies()); got != 0 {
		t.Errorf("identified %d times", got)
	}
}

func TestStoppingEndsEveryWait(t *testing.T) {
	for name, b := range map[string]discordtest.Behaviour{
		"no Hello": {InsteadOfHello: []discordtest.Action{}},
		"no READY": {InsteadOfReady: []discordtest.Action{{Stall: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := prepare(t, nil)
			h.pace.handshake = time.Hour
			h.fake.Behave(b)
			ctx, cancel := context.WithCancel(h.ctx)
			ended := make(chan error, 1)
			go func() { ended <- h.Run(ctx) }()
			h.wait(t, "a call", func() bool { return h.fake.Calls(discordtest.GatewayBot) > 0 })
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-h.ctx.Done():
				t.Error("Run did not end")
			}
		})
	}
}

func TestGatewayMustBeAsSafeAsREST(t *testing.T) {
	h := prepare(t, nil)
	h.insecure = false
	if _, err := h.gatewayAddress(h.ctx); err == nil {
		t.Error("the token would go over plain ws")
	}
	h.insecure = true
	address, err := h.gatewayAddress(h.ctx)
	if err != nil || !strings.HasSuffix(address, "?encoding=json&v=9") {
		t.Errorf("%q, %v", address, err)
	}
}

func TestReadyEndsWithSilence(t *testing.T) {
	var l link
	if l.alive() {
		t.Error("alive without a connection")
	}
	l.until.Store(time.Now().Add(time.Minute).UnixNano())
	if !l.alive() {
		t.Error("not alive after a read")
	}
	l.until.Store(time.Now().Add(-time.Nanosecond).UnixNano())
	if l.alive() {
		t.Error("alive after two silent heartbeats")
	}
}

func ExampleNew_settings() {
	_, err := New(Config{Token: "with space"})
	fmt.Println(err)
	_, err = New(Config{Token: "x", APIURL: "discord.com"})
	fmt.Println(err)
	// Output:
	// DISCORD_BOT_TOKEN: is empty or holds white space
	// DISCORD_API_URL: is not an origin such as https://discord.com
}
