package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
	"herald/internal/discord/discordtest"
)

func TestHeartbeatsKeepTheConnection(t *testing.T) {
	simulate(t, discordtest.Behaviour{Heartbeat: 300 * time.Millisecond}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		pass(time.Minute)
		if n := h.fake.Heartbeats(); !h.Alive() || h.fake.Connects() != 1 || n < 195 || n > 200 {
			t.Errorf("connected %d times, %d heartbeats; log:\n%s", h.fake.Connects(), n, h.logged())
		}
	})
}

func TestLatencyIsThatOfTheLastAcknowledgedHeartbeat(t *testing.T) {
	simulate(t, discordtest.Behaviour{Heartbeat: 10 * time.Second, NoACK: true}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		if d := h.Latency(); d != 0 {
			t.Errorf("%v before any heartbeat", d)
		}
		const step = 10 * time.Millisecond
		for _, late := range []time.Duration{2 * time.Second, 300 * time.Millisecond} {
			for n := h.fake.Heartbeats(); h.fake.Heartbeats() == n; {
				pass(step)
			}
			pass(late)
			h.fake.Do(discordtest.Action{Op: opACK})
			pass(step)
			if d := h.Latency(); d < late || d > late+step {
				t.Errorf("%v for a heartbeat acknowledged after %v", d, late)
			}
		}
	})
}

func TestAMissingACKEndsAConnectionThatStillTalks(t *testing.T) {
	simulate(t, discordtest.Behaviour{Heartbeat: 10 * time.Second, NoACK: true}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		for range 25 {
			pass(time.Second)
			h.fake.Do(discordtest.Action{Op: opHeartbeat})
		}
		if n := len(h.logLines("did not acknowledge")); n == 0 {
			t.Errorf("log:\n%s", h.logged())
		}
	})
}

func TestBackOffDoublesUpToItsCap(t *testing.T) {
	simulate(t, discordtest.Behaviour{InsteadOfHello: []discordtest.Action{{Op: 7}}}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		pass(10 * time.Minute)
		var pauses []time.Duration
		for _, line := range h.logLines("pause=") {
			_, text, _ := strings.Cut(strings.TrimSpace(line), "pause=")
			pause, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			pauses = append(pauses, pause)
		}
		for i, most := range []time.Duration{2, 4, 8, 16, 32, 60, 60, 60} {
			if most *= time.Second; pauses[i] < most/2 || pauses[i] > most {
				t.Errorf("pause %d is %v, not between half of %v and that", i, pauses[i], most)
			}
		}
	})
}

func TestSpentSessionsAreWaitedFor(t *testing.T) {
	h := prepare(t, discordtest.New())
	h.fake.Limit(0, time.Hour)
	h.run(t)
	h.wait(t, "hold", func() bool { return h.count("identify_held") == 1 })
	if got := len(h.fake.Identifies()); got != 0 {
		t.Errorf("identified %d times", got)
	}
	if len(h.logLines("wait=1h0m0s")) != 1 {
		t.Errorf("log:\n%s", h.logged())
	}
}

func TestFatalClosesEndRun(t *testing.T) {
	for code, setting := range map[int]string{
		4004: "DISCORD_BOT_TOKEN", 4010: "DISCORD_BOT_TOKEN", 4011: "DISCORD_PUBLIC_KEY",
		4012: "DISCORD_API_URL", 4013: "DISCORD_API_URL", 4014: "DISCORD_BOT_TOKEN",
	} {
		h := prepare(t, discordtest.New())
		h.fake.Behave(discordtest.Behaviour{InsteadOfReady: []discordtest.Action{{Close: code}}})
		err := h.Run(h.ctx, h.take)
		if err == nil || !strings.HasPrefix(err.Error(), setting+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("close %d: %v", code, err)
		}
		if got := len(h.fake.Identifies()); got != 1 {
			t.Errorf("close %d: identified %d times", code, got)
		}
	}
}

func TestARefusedTokenEndsRun(t *testing.T) {
	h := prepare(t, discordtest.New())
	h.Token = config.NewSecret("wrong")
	if err := h.Run(h.ctx, h.take); err != ErrToken {
		t.Errorf("Run: %v", err)
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
			h := prepare(t, discordtest.New())
			h.timings.handshake = time.Hour
			h.fake.Behave(b)
			ctx, cancel := context.WithCancel(h.ctx)
			ended := make(chan error, 1)
			go func() { ended <- h.Run(ctx, h.take) }()
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

// A bot that leaves for good ends its session, so that nobody sees it online.
func TestStoppingEndsTheSession(t *testing.T) {
	h := connected(t, discordtest.Behaviour{})
	h.stop()
	if err := <-h.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	h.wait(t, "the end of the session", func() bool {
		_, err := h.fake.Push(discordtest.Interaction{Command: "price"})
		return err != nil
	})
	if h.Alive() {
		t.Error("alive after Run")
	}
}

func TestAliveNeedsAConnection(t *testing.T) {
	if New(Config{}).Alive() {
		t.Error("alive without a connection")
	}
}

func TestTheGatewayMustBeAsSafeAsREST(t *testing.T) {
	g := New(Config{})
	for _, address := range []string{"ws://gateway.example", "https://gateway.example", "gateway.example", "wss://", "::", ""} {
		if _, err := g.checkAddress(address); err == nil {
			t.Errorf("the token would go to %q", address)
		}
	}
	g.Insecure = true
	for address, want := range map[string]string{
		"wss://gateway.example": "wss://gateway.example?encoding=json&v=9", "ws://gateway.example/x": "ws://gateway.example/x?encoding=json&v=9",
	} {
		if got, err := g.checkAddress(address); got != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// What no Discord sends must not end the process.
func TestNonsenseIsSurvived(t *testing.T) {
	h := prepare(t, discordtest.New())
	for _, p := range []packet{
		{Op: opDispatch, Type: "RESUMED", Sequence: 1}, {Op: opDispatch, Type: "READY", Data: []byte(`[]`)},
		{Op: opDispatch, Type: "READY"}, {Op: opInvalidSession}, {Op: 99}, {Op: -1}, {Op: opDispatch, Sequence: -5},
	} {
		_ = (&conn{Gateway: h.Gateway, take: h.take}).handle(p)
		if h.session != nil {
			t.Errorf("%+v began a session", p)
		}
	}
}

func TestTheTokenIsNotPrinted(t *testing.T) {
	h := prepare(t, discordtest.New())
	text := fmt.Sprintf("%v %+v %#v %v %+v", h.Gateway, h.Gateway, h.Gateway, h.Config, &conn{Gateway: h.Gateway})
	if strings.Contains(text, h.fake.Token) {
		t.Errorf("the token is in %q", text)
	}
}

func TestALostConnectionIsReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		action   discordtest.Action
		resumed  bool
		sessions int
	}{
		"op 7":                  {discordtest.Action{Op: 7}, true, 1},
		"op 9, resumable":       {discordtest.Action{Op: 9, Resumable: true}, true, 1},
		"op 9, not resumable":   {discordtest.Action{Op: 9}, false, 2},
		"a drop":                {discordtest.Action{Drop: true}, true, 1},
		"close 1000":            {discordtest.Action{Close: 1000}, true, 1},
		"close 1001":            {discordtest.Action{Close: 1001}, true, 1},
		"close 4000":            {discordtest.Action{Close: 4000}, true, 1},
		"close 4007":            {discordtest.Action{Close: 4007}, false, 2},
		"close 4009":            {discordtest.Action{Close: 4009}, false, 2},
		"a close that is no 42": {discordtest.Action{Close: 3042}, true, 1},
		"half open":             {discordtest.Action{Stall: true}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, discordtest.Behaviour{Heartbeat: time.Second}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
				h.wait(t, "a connection", h.Alive)
				h.fake.Do(tt.action)
				h.wait(t, "a new connection", func() bool { return h.fake.Connects() == 2 && h.fake.Connected() == 1 && h.Alive() })
				asked := h.push(t)
				h.wait(t, "an interaction", func() bool { return slices.Contains(h.interactions(), taken{asked, false}) })
				if got := len(h.fake.Identifies()); got != tt.sessions || (h.count("resumed") == 1) != tt.resumed {
					t.Errorf("identified %d times, resumed %d", got, h.count("resumed"))
				}
				if h.count("disconnected") != 1 || h.fake.Calls(discordtest.GatewayBot) != tt.sessions {
					t.Errorf("%d connections ended, asked for the gateway %d times", h.count("disconnected"), h.fake.Calls(discordtest.GatewayBot))
				}
			})
		})
	}
}

func TestWhatIsAskedBetweenTwoConnectionsIsReplayedAtOnce(t *testing.T) {
	for name, action := range map[string]discordtest.Action{
		"op 7": {Op: 7}, "a drop": {Drop: true}, "close 4000": {Close: 4000}, "op 9": {Op: 9, Resumable: true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
				pass(time.Second)
				before := h.push(t)
				pass(time.Minute)
				h.fake.Do(action)
				during := h.push(t)
				pass(time.Second)
				after := h.push(t)
				pass(time.Second)
				want := []taken{{before, false}, {during, true}, {after, false}}
				if got := h.interactions(); !slices.Equal(got, want) {
					t.Errorf("took %v, want %v", got, want)
				}
				if h.fake.Resumes() != 1 || len(h.fake.Identifies()) != 1 {
					t.Errorf("resumed %d times, identified %d", h.fake.Resumes(), len(h.fake.Identifies()))
				}
			})
		})
	}
}

func TestASessionThatDiscordForgotIsFollowedByAnother(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		h.wait(t, "a connection", h.Alive)
		h.fake.ForgetSession()
		h.fake.Do(discordtest.Action{Drop: true})
		h.wait(t, "a new session", func() bool { return h.count("connected") == 2 && h.Alive() })
		if len(h.fake.Identifies()) != 2 || h.count("resumed") != 0 {
			t.Errorf("identified %d times, resumed %d", len(h.fake.Identifies()), h.count("resumed"))
		}
	})
}

// A gateway that answers no RESUME must not keep the bot away.
func TestASessionThatCannotBeResumedIsGivenUp(t *testing.T) {
	for name, b := range map[string]discordtest.Behaviour{
		"silence":         {InsteadOfResumed: []discordtest.Action{}},
		"always op 7":     {InsteadOfResumed: []discordtest.Action{{Op: 7}}},
		"always op 9":     {InsteadOfResumed: []discordtest.Action{{Op: 9, Resumable: true}}},
		"always a close":  {InsteadOfResumed: []discordtest.Action{{Close: 4000}}},
		"nobody is there": {ResumeURL: "ws://" + nobody},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, b, func(t *testing.T, h *harness, _ *discordtest.Wire) {
				h.wait(t, "a connection", h.Alive)
				h.fake.Do(discordtest.Action{Drop: true})
				h.wait(t, "a new session", func() bool { return h.count("connected") == 2 && h.Alive() })
				if n := h.count("disconnected"); n != 1+maxResumes {
					t.Errorf("%d connections failed", n)
				}
			})
		})
	}
}

func TestASessionThatBreaksAtOnceIsResumedWithoutHaste(t *testing.T) {
	for name, action := range map[string]discordtest.Action{"close": {Close: 4000}, "op 7": {Op: 7}, "drop": {Drop: true}} {
		t.Run(name, func(t *testing.T) {
			b := discordtest.Behaviour{AfterReady: []discordtest.Action{action}}
			simulate(t, b, func(t *testing.T, h *harness, _ *discordtest.Wire) {
				pass(10 * time.Minute)
				// At once, and then with pauses that double up to a minute.
				if n := h.fake.Connects(); n < 10 || n > 30 {
					t.Errorf("connected %d times in ten minutes", n)
				}
				if n := len(h.fake.Identifies()); n != 1 {
					t.Errorf("identified %d times", n)
				}
			})
		})
	}
}

func TestASessionIsNotResumedAtAnUnsafeAddress(t *testing.T) {
	simulate(t, discordtest.Behaviour{ResumeURL: "http://" + nobody}, func(t *testing.T, h *harness, _ *discordtest.Wire) {
		h.wait(t, "a connection", h.Alive)
		h.fake.Do(discordtest.Action{Op: 7})
		h.wait(t, "a new session", func() bool { return h.count("connected") == 2 && h.Alive() })
		if n := h.count("disconnected"); n != 1 || len(h.logLines("cannot be resumed")) != 2 {
			t.Errorf("%d connections ended; log:\n%s", n, h.logged())
		}
	})
}

func FuzzHandle(f *testing.F) {
	f.Add([]byte(`{"op":0,"t":"READY","s":1,"d":{"session_id":"x","resume_gateway_url":"wss://gateway.example"}}`))
	f.Add([]byte(`{"op":0,"t":"RESUMED","s":-1}`))
	f.Add([]byte(`{"op":9,"d":"true"}`))
	f.Add([]byte(`{"op":0,"t":"INTERACTION_CREATE","d":{"id":"1"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		g := New(Config{Log: slog.New(slog.DiscardHandler), Count: func(string) {}, Connected: func(string) {}})
		c := &conn{Gateway: g, take: func(json.RawMessage, bool) {}}
		var p packet
		if json.Unmarshal(raw, &p) != nil || p.Op == opHeartbeat {
			return
		}
		_ = c.handle(p)
		if g.session != nil && !strings.HasPrefix(g.session.address, "wss://") {
			t.Errorf("the session would be resumed at %q", g.session.address)
		}
	})
}
