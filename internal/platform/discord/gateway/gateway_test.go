package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord/api"
	"herald/internal/secret"
)

func TestBackOffDoublesUpToItsCap(t *testing.T) {
	for name, away := range map[string]func(*gatewayTest){
		"no Hello": func(h *gatewayTest) {
			h.fake.Behave(fakediscord.Behaviour{InsteadOfHello: []fakediscord.Action{{Op: 7}}})
		},
		"no REST": func(h *gatewayTest) { h.fake.Break(fakediscord.GatewayBot, discordtest.Fault{Status: 502}) },
	} {
		simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
			pass(10 * time.Minute)
			_, log, _ := strings.Cut(h.logged.String(), "pause=")
			pauses := strings.Split(log, "pause=")
			for i, limit := range []time.Duration{2, 4, 5, 5, 5} {
				text, _, _ := strings.Cut(pauses[i], "\n")
				pause, err := time.ParseDuration(text)
				if limit *= time.Second; err != nil || pause < limit/2 || pause > limit {
					t.Errorf("%s: pause %d is %q, not between half of %v and that", name, i, text, limit)
				}
			}
			h.fake.Behave(fakediscord.Behaviour{})
			h.fake.Break(fakediscord.GatewayBot, discordtest.Fault{})
			pass(maxPause + time.Second)
			h.takes(t)
		}, away)
	}
}

func TestALimitOfTheCallForTheAddressIsWaitedFor(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		pass(10*time.Minute - 2*time.Second)
		equal(t, "calls", h.fake.Calls(fakediscord.GatewayBot), 1)
		pass(api.TokenLife)
		equal(t, "calls after the first wait", h.fake.Calls(fakediscord.GatewayBot), 2)
		pass(2 * time.Second)
		h.takes(t)
	}, func(h *gatewayTest) {
		h.fake.Script(fakediscord.GatewayBot,
			discordtest.Fault{Status: 429, RetryAfter: 10 * time.Minute},
			discordtest.Fault{Status: 429, RetryAfter: 24 * time.Hour})
	})
}

func TestFatalClosesAndARefusedTokenEndRun(t *testing.T) {
	for code, setting := range map[int]string{
		4004: "DISCORD_BOT_TOKEN",
		4010: "DISCORD_BOT_TOKEN",
		4011: "DISCORD_PUBLIC_KEY",
		4012: "DISCORD_API_URL",
		4013: "DISCORD_API_URL",
		4014: "DISCORD_BOT_TOKEN",
		0:    "DISCORD_BOT_TOKEN", // refused before there is a connection
	} {
		closes := fakediscord.Behaviour{InsteadOfReady: []fakediscord.Action{{Close: code}}}
		simulate(t, closes, func(t *testing.T, h *gatewayTest) {
			pass(time.Hour)
			err := h.stop()
			if err == nil || !strings.HasPrefix(err.Error(), setting+": ") {
				t.Fatalf("close %d: %v", code, err)
			}
			equal(t, "lines of the error", strings.Count(err.Error(), "\n"), 0)
			equal(t, "identified", len(h.fake.Identifies()), min(code, 1))
		}, func(h *gatewayTest) {
			if code == 0 {
				h.API = api.New(secret.New("wrong"), h.fake.URL(), h.logged.Logger(), h.events.Add)
			}
		})
	}
}

func TestStoppingEndsEveryWait(t *testing.T) {
	for name, b := range map[string]fakediscord.Behaviour{
		"connected": {},
		"no Hello":  {InsteadOfHello: []fakediscord.Action{}},
		"no READY":  {InsteadOfReady: []fakediscord.Action{{Stall: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, b, func(t *testing.T, h *gatewayTest) {
				began := time.Now()
				equal(t, "Run", h.stop(), nil)
				equal(t, "alive", h.Alive(), false)
				if took := time.Since(began); took > time.Second {
					t.Errorf("Run returned after %v", took)
				}
			})
		})
	}
}

// A bot that leaves for good ends its session, so that nobody sees it online. One
// that will be back keeps it.
func TestOnlyStoppingEndsTheSession(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		pass(10 * time.Second)
		h.expect(t, 2, 1, 1)
		equal(t, "Run", h.stop(), nil)
		pass(time.Second)
		if _, err := h.fake.Push(fakediscord.Interaction{Command: "price"}); err == nil {
			t.Error("the session goes on")
		}
	})
}

func TestTheTokenIsSentWithTLSOnly(t *testing.T) {
	g := New(Config{})
	for _, address := range []string{
		"ws://gateway.example",
		"https://gateway.example",
		"gateway.example",
		"wss://",
		"::",
		"",
	} {
		if _, err := g.checkURL(address); err == nil {
			t.Errorf("the token would go to %q", address)
		}
	}
	g.Insecure = true
	for address, want := range map[string]string{
		"wss://gateway.example":  "wss://gateway.example?encoding=json&v=9",
		"ws://gateway.example/x": "ws://gateway.example/x?encoding=json&v=9",
	} {
		got, err := g.checkURL(address)
		equal(t, "address", got, want)
		equal(t, "error", err, nil)
	}
}

func TestLostConnectionsAreReplacedWithinSeconds(t *testing.T) {
	const losses = 5
	for name, tt := range map[string]struct {
		action  fakediscord.Action
		forget  bool // Discord has no session left
		resumed int
	}{
		"op 7":                {fakediscord.Action{Op: 7}, false, losses},
		"op 9, resumable":     {fakediscord.Action{Op: 9, Resumable: true}, false, losses},
		"op 9, not resumable": {fakediscord.Action{Op: 9}, false, 0},
		"a drop":              {fakediscord.Action{Drop: true}, false, losses},
		"a forgotten session": {fakediscord.Action{Drop: true}, true, 0},
		"close 1000":          {fakediscord.Action{Close: 1000}, false, losses},
		"close 4007":          {fakediscord.Action{Close: 4007}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, fakediscord.Behaviour{Heartbeat: time.Second}, func(t *testing.T, h *gatewayTest) {
				for n := range losses {
					if tt.forget {
						h.fake.ForgetSession()
					}
					h.fake.Do(tt.action)
					pass(5100 * time.Millisecond)
					equal(t, fmt.Sprint("alive 5 seconds after loss ", n+1), h.Alive(), true)
					equal(t, "connections that stand", h.fake.Connected(), 1)
				}
				h.takes(t)
				sessions := 1 + losses - tt.resumed
				h.expect(t, 1+losses, tt.resumed, sessions)
				equal(t, "calls for the gateway's address", h.fake.Calls(fakediscord.GatewayBot), sessions)
				equal(t, "count of resumed", h.events.Of("resumed"), tt.resumed)
				equal(t, "told that they were lost again", h.events.Of("told") >= losses-1, true)
			})
		})
	}
}

// Discord takes an answer for 3 seconds, so a failed attempt must leave time for another.
func TestMissedInteractionsAreReplayedAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		lost  fakediscord.Action
		hello []fakediscord.Action // of the first attempt to resume
	}{
		"op 9":          {fakediscord.Action{Op: 9, Resumable: true}, nil},
		"a drop":        {fakediscord.Action{Drop: true}, nil},
		"a drop, twice": {fakediscord.Action{Drop: true}, []fakediscord.Action{{Drop: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
				before := h.push(t)
				pass(time.Minute)
				h.fake.Behave(fakediscord.Behaviour{InsteadOfHello: tt.hello})
				h.fake.Do(tt.lost)
				during := h.push(t)
				pass(200 * time.Millisecond)
				if n := len(h.taken); tt.hello == nil && n != 2 {
					t.Errorf("took %d", n)
				}
				h.fake.Behave(fakediscord.Behaviour{})
				pass(2500 * time.Millisecond)
				h.takes(t)
				if want := []taken{{before, false}, {during, true}}; !slices.Equal(h.taken[:2], want) {
					t.Errorf("took %v, want %v first", h.taken, want)
				}
				h.expect(t, 2, 1, 1)
				equal(t, "told of failed attempts alone", h.events.Of("told"), len(tt.hello))
			})
		})
	}
}

// A gateway that answers no RESUME must not keep the bot away, and the token goes
// to no address without TLS.
func TestASessionThatCannotBeResumedIsGivenUp(t *testing.T) {
	refused := []fakediscord.Action{{Op: 9, Resumable: true}}
	for name, tt := range map[string]struct {
		behaviour fakediscord.Behaviour
		tries     int
	}{
		"silence":           {fakediscord.Behaviour{InsteadOfResumed: []fakediscord.Action{}}, maxResumes},
		"always op 9":       {fakediscord.Behaviour{InsteadOfResumed: refused}, maxResumes},
		"no upgrade":        {fakediscord.Behaviour{ResumeURL: "ws://" + mute}, maxResumes},
		"nobody is there":   {fakediscord.Behaviour{ResumeURL: "ws://" + nobody}, maxResumes},
		"an unsafe address": {fakediscord.Behaviour{ResumeURL: "http://" + nobody}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, tt.behaviour, func(t *testing.T, h *gatewayTest) {
				h.fake.Do(fakediscord.Action{Drop: true})
				pass(3 * time.Minute)
				equal(t, "alive", h.Alive(), true)
				equal(t, "count of connected", h.events.Of("connected"), 2)
				equal(t, "count of disconnected", h.events.Of("disconnected"), 1+tt.tries)
			})
		})
	}
}

func TestASessionThatBreaksAtOnceIsResumedWithoutHaste(t *testing.T) {
	simulate(t, fakediscord.Behaviour{AfterReady: []fakediscord.Action{{Drop: true}}}, func(t *testing.T, h *gatewayTest) {
		pass(10 * time.Minute)
		if n := h.fake.Connects(); n < 300 || n > 600 {
			t.Errorf("connected %d times in ten minutes", n)
		}
		equal(t, "identified", len(h.fake.Identifies()), 1)
	})
}

func TestASilentConnectionIsReplacedWithinSeconds(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		h.fake.Behave(fakediscord.Behaviour{InsteadOfHello: []fakediscord.Action{}})
		h.fake.Do(fakediscord.Action{Drop: true})
		pass(time.Second)
		h.fake.Behave(fakediscord.Behaviour{})
		pass(helloTimeout + 2*time.Second)
		h.expect(t, 2, 1, 1)
		h.takes(t)
	})
}

func TestReadyMayComeLate(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		pass(readyTimeout)
		equal(t, "alive", h.Alive(), true)
		h.expect(t, 1, 0, 1)
	}, func(h *gatewayTest) {
		h.Count = func(event string) {
			h.events.Add(event)
			if event == "identified" { // before the IDENTIFY, which READY answers
				time.Sleep(readyTimeout - time.Second)
			}
		}
	})
}

// Interactions still come on such a connection, which Discord calls a zombie.
func TestUnacknowledgedHeartbeatsEndAConnection(t *testing.T) {
	simulate(t, fakediscord.Behaviour{Heartbeat: 10 * time.Second, NoACK: true}, func(t *testing.T, h *gatewayTest) {
		for range 25 {
			h.takes(t)
		}
		h.expect(t, 2, 1, 1)
	})
}

// checkIdentifies checks that there are at most ten identifies and one more every 90 seconds, at least 5 seconds apart.
func checkIdentifies(t *testing.T, identifies []time.Time) {
	t.Helper()
	for n, at := range identifies {
		if n > 0 && at.Sub(identifies[n-1]) < identifyGap.Every {
			t.Errorf("identified again after %v", at.Sub(identifies[n-1]))
		}
		least := time.Duration(n+1-identifyBudget.Burst) * identifyBudget.Every
		if took := at.Sub(identifies[0]); took < least {
			t.Errorf("identified %d times in %v", n+1, took)
		}
	}
}

func TestIdentifiesStayRareForHours(t *testing.T) {
	invalid := []fakediscord.Action{{Op: 9}}
	silence := []fakediscord.Action{{Stall: true}}
	dropped := fakediscord.Behaviour{
		AfterReady:       []fakediscord.Action{{Drop: true}},
		InsteadOfResumed: []fakediscord.Action{},
	}
	for name, tt := range map[string]struct {
		behaviour fakediscord.Behaviour
		min, max  int // identifies in two hours
	}{
		"op 9 for Hello":      {fakediscord.Behaviour{InsteadOfHello: invalid}, 0, 0},
		"op 9 for READY":      {fakediscord.Behaviour{InsteadOfReady: invalid}, 60, 90},
		"nothing for READY":   {fakediscord.Behaviour{InsteadOfReady: silence}, 60, 90},
		"silence after READY": {fakediscord.Behaviour{AfterReady: silence}, 1, 1},
		"no RESUMED":          {dropped, 15, 90},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, tt.behaviour, func(t *testing.T, h *gatewayTest) {
				pass(2 * time.Hour)
				identifies := h.fake.Identifies()
				if n := len(identifies); n < tt.min || n > tt.max {
					t.Errorf("identified %d times", n)
				}
				checkIdentifies(t, identifies)
				h.fake.Behave(fakediscord.Behaviour{Heartbeat: 41 * time.Second})
				pass(identifyBudget.Every + readyTimeout + maxPause)
				equal(t, "connected to a gateway that works again", h.Alive(), true)
				h.takes(t)
			})
		})
	}
}

func TestSpentSessionsAreWaitedFor(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		h.expect(t, 0, 0, 0)
		equal(t, "count of identify_throttled", h.events.Of("identify_throttled"), 1)
		equal(t, "lines about it", h.logged.Lines("wait=1h0m0s"), 1)
		h.fake.Limit(1, time.Hour)
		pass(time.Hour + time.Minute)
		h.takes(t)
	}, func(h *gatewayTest) { h.fake.Limit(0, time.Hour) })
}

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
