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

func TestPausesDoubleUpToMaxPause(t *testing.T) {
	for name, breakGateway := range map[string]func(*gatewayTest){
		"no Hello": func(h *gatewayTest) {
			h.fake.Behave(fakediscord.Behaviour{InsteadOfHello: []fakediscord.Action{{Op: opReconnect}}})
		},
		"no REST": func(h *gatewayTest) { h.fake.Break(fakediscord.GatewayBot, discordtest.Fault{Status: 502}) },
	} {
		simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
			pass(10 * time.Minute)
			pauses := loggedPauses(t, h.logged.String())
			for i, longest := range []time.Duration{
				2 * time.Second,
				4 * time.Second,
				5 * time.Second,
				5 * time.Second,
				5 * time.Second,
			} {
				if pauses[i] < longest/2 || pauses[i] > longest {
					t.Errorf("%s: pause %d is %v, want %v to %v", name, i, pauses[i], longest/2, longest)
				}
			}
			h.fake.Behave(fakediscord.Behaviour{})
			h.fake.Break(fakediscord.GatewayBot, discordtest.Fault{})
			pass(maxPause + time.Second)
			h.checkReceives(t)
		}, breakGateway)
	}
}

// loggedPauses returns the pauses in a log, which are at the ends of its lines.
func loggedPauses(t *testing.T, log string) (pauses []time.Duration) {
	t.Helper()
	for line := range strings.Lines(log) {
		_, text, isPause := strings.Cut(strings.TrimSpace(line), "pause=")
		if !isPause {
			continue
		}
		pause, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, pause)
	}
	return pauses
}

// Discord asks for a wait of 10 minutes, and then for one of a day, which the Gateway shortens to api.TokenLife.
func TestARateLimitOfTheCallForTheURLIsWaitedFor(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		pass(10*time.Minute - 2*time.Second)
		equal(t, "calls", h.fake.Calls(fakediscord.GatewayBot), 1)
		pass(api.TokenLife)
		equal(t, "calls after the first wait", h.fake.Calls(fakediscord.GatewayBot), 2)
		pass(2 * time.Second)
		h.checkReceives(t)
	}, func(h *gatewayTest) {
		h.fake.Script(fakediscord.GatewayBot,
			discordtest.Fault{Status: 429, RetryAfter: 10 * time.Minute},
			discordtest.Fault{Status: 429, RetryAfter: 24 * time.Hour})
	})
}

func TestFatalCloseCodesEndRun(t *testing.T) {
	for code, setting := range map[int]string{
		4004: "DISCORD_BOT_TOKEN",
		4010: "DISCORD_BOT_TOKEN",
		4011: "DISCORD_PUBLIC_KEY",
		4012: "DISCORD_API_URL",
		4013: "DISCORD_API_URL",
		4014: "DISCORD_BOT_TOKEN",
	} {
		closes := fakediscord.Behaviour{InsteadOfReady: []fakediscord.Action{{Close: code}}}
		simulate(t, closes, func(t *testing.T, h *gatewayTest) {
			pass(time.Hour)
			h.checkFatal(t, setting)
			equal(t, "identified", len(h.fake.Identifies()), 1)
		})
	}
}

func TestARefusedTokenEndsRun(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		pass(time.Hour)
		h.checkFatal(t, "DISCORD_BOT_TOKEN")
		equal(t, "identified", len(h.fake.Identifies()), 0)
	}, func(h *gatewayTest) {
		h.API = api.New(secret.New("wrong"), h.fake.URL(), h.logged.Logger(), h.events.Add)
	})
}

// checkFatal stops the Gateway, and fails the test unless Run returned an error of one line that begins with a setting.
func (h *gatewayTest) checkFatal(t *testing.T, setting string) {
	t.Helper()
	err := h.stop()
	if err == nil || !strings.HasPrefix(err.Error(), setting+": ") {
		t.Fatalf("Run: %v, want an error about %s", err, setting)
	}
	equal(t, "line breaks in the error", strings.Count(err.Error(), "\n"), 0)
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

// A bot that stops ends its session, so that members do not see it online. A bot that reconnects keeps its session.
func TestOnlyStoppingEndsTheSession(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		pass(10 * time.Second)
		h.checkConnects(t, connects{connections: 2, resumed: 1, identified: 1})
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
	drop := fakediscord.Action{Drop: true}
	for name, tt := range map[string]struct {
		loss        fakediscord.Action
		forgets     bool // Discord forgets the session before each loss
		wantResumed int  // how many of the connections are resumed
	}{
		"asked to reconnect":       {loss: fakediscord.Action{Op: opReconnect}, wantResumed: losses},
		"invalid, resumable":       {loss: fakediscord.Action{Op: opInvalidSession, Resumable: true}, wantResumed: losses},
		"invalid, not resumable":   {loss: fakediscord.Action{Op: opInvalidSession}, wantResumed: 0},
		"dropped":                  {loss: drop, wantResumed: losses},
		"dropped, session unknown": {loss: drop, forgets: true, wantResumed: 0},
		"close code 1000":          {loss: fakediscord.Action{Close: 1000}, wantResumed: losses},
		"close code 4007":          {loss: fakediscord.Action{Close: 4007}, wantResumed: 0},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, fakediscord.Behaviour{Heartbeat: time.Second}, func(t *testing.T, h *gatewayTest) {
				for n := range losses {
					if tt.forgets {
						h.fake.ForgetSession()
					}
					h.fake.Do(tt.loss)
					pass(5100 * time.Millisecond)
					equal(t, fmt.Sprint("alive 5 seconds after loss ", n+1), h.Alive(), true)
					equal(t, "open connections", h.fake.Connected(), 1)
				}
				h.checkReceives(t)
				sessions := 1 + losses - tt.wantResumed
				h.checkConnects(t, connects{connections: 1 + losses, resumed: tt.wantResumed, identified: sessions})
				equal(t, "calls for the gateway's URL", h.fake.Calls(fakediscord.GatewayBot), sessions)
				equal(t, "count of resumed", h.events.Of("resumed"), tt.wantResumed)
				// The first loss is not within stableAfter of another.
				equal(t, "Lost is called for the others", h.events.Of("Lost is called") >= losses-1, true)
			})
		})
	}
}

// Discord accepts an answer for 3 seconds, so a failed attempt must leave time for another attempt.
func TestMissedInteractionsAreReplayedAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		loss        fakediscord.Action
		failedHello []fakediscord.Action // makes the first attempt to resume fail, unless it is nil
	}{
		"invalid session": {loss: fakediscord.Action{Op: opInvalidSession, Resumable: true}},
		"dropped":         {loss: fakediscord.Action{Drop: true}},
		"dropped twice":   {loss: fakediscord.Action{Drop: true}, failedHello: []fakediscord.Action{{Drop: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
				before := h.push(t)
				pass(time.Minute)
				h.fake.Behave(fakediscord.Behaviour{InsteadOfHello: tt.failedHello})
				h.fake.Do(tt.loss)
				during := h.push(t)
				pass(200 * time.Millisecond)
				if n := len(h.received); tt.failedHello == nil && n != 2 {
					t.Errorf("received %d interactions after 200 ms, want 2", n)
				}
				h.fake.Behave(fakediscord.Behaviour{})
				pass(2500 * time.Millisecond)
				h.checkReceives(t)
				want := []received{{before, false}, {during, true}}
				if !slices.Equal(h.received[:2], want) {
					t.Errorf("received %v, want %v first", h.received, want)
				}
				h.checkConnects(t, connects{connections: 2, resumed: 1, identified: 1})
				equal(t, "calls of Lost", h.events.Of("Lost is called"), len(tt.failedHello))
			})
		})
	}
}

// If a gateway does not answer RESUME, the Gateway begins a new session. It does not resume without TLS at all.
func TestASessionThatCannotBeResumedIsGivenUp(t *testing.T) {
	refused := []fakediscord.Action{{Op: opInvalidSession, Resumable: true}}
	for name, tt := range map[string]struct {
		behaviour fakediscord.Behaviour
		attempts  int // to resume the session
	}{
		"no RESUMED":         {fakediscord.Behaviour{InsteadOfResumed: []fakediscord.Action{}}, maxResumes},
		"always invalid":     {fakediscord.Behaviour{InsteadOfResumed: refused}, maxResumes},
		"no websocket":       {fakediscord.Behaviour{ResumeURL: "ws://" + silentAddress}, maxResumes},
		"connection refused": {fakediscord.Behaviour{ResumeURL: "ws://" + refusingAddress}, maxResumes},
		"an unsafe URL":      {fakediscord.Behaviour{ResumeURL: "http://" + refusingAddress}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, tt.behaviour, func(t *testing.T, h *gatewayTest) {
				h.fake.Do(fakediscord.Action{Drop: true})
				pass(3 * time.Minute)
				equal(t, "alive", h.Alive(), true)
				equal(t, "count of connected", h.events.Of("connected"), 2)
				equal(t, "count of disconnected", h.events.Of("disconnected"), 1+tt.attempts)
			})
		})
	}
}

func TestASessionThatBreaksAtOnceIsResumedWithPauses(t *testing.T) {
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
		h.checkConnects(t, connects{connections: 2, resumed: 1, identified: 1})
		h.checkReceives(t)
	})
}

func TestReadyMayComeLate(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		pass(readyTimeout)
		equal(t, "alive", h.Alive(), true)
		h.checkConnects(t, connects{connections: 1, resumed: 0, identified: 1})
	}, func(h *gatewayTest) {
		h.Count = func(event string) {
			h.events.Add(event)
			if event == "identified" { // It is counted before the IDENTIFY is sent.
				time.Sleep(readyTimeout - time.Second)
			}
		}
	})
}

// Interactions still arrive on such a connection, which Discord calls a zombie.
func TestUnacknowledgedHeartbeatsEndAConnection(t *testing.T) {
	simulate(t, fakediscord.Behaviour{Heartbeat: 10 * time.Second, NoACK: true}, func(t *testing.T, h *gatewayTest) {
		for range 25 { // once per second, for longer than two heartbeats
			h.checkReceives(t)
		}
		h.checkConnects(t, connects{connections: 2, resumed: 1, identified: 1})
	})
}

// checkIdentifies checks that at most ten identifies are sent, and one more every 90 seconds, at least 5 seconds apart.
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
	invalid := []fakediscord.Action{{Op: opInvalidSession}}
	silence := []fakediscord.Action{{Stall: true}}
	droppedAndNotResumed := fakediscord.Behaviour{
		AfterReady:       []fakediscord.Action{{Drop: true}},
		InsteadOfResumed: []fakediscord.Action{},
	}
	for name, tt := range map[string]struct {
		behaviour fakediscord.Behaviour
		min, max  int // identifies in two hours
	}{
		"invalid instead of Hello": {fakediscord.Behaviour{InsteadOfHello: invalid}, 0, 0},
		"invalid instead of READY": {fakediscord.Behaviour{InsteadOfReady: invalid}, 60, 90},
		"silence instead of READY": {fakediscord.Behaviour{InsteadOfReady: silence}, 60, 90},
		"silence after READY":      {fakediscord.Behaviour{AfterReady: silence}, 1, 1},
		"dropped, no RESUMED":      {droppedAndNotResumed, 15, 90},
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
				equal(t, "alive once the gateway works again", h.Alive(), true)
				h.checkReceives(t)
			})
		})
	}
}

// The fake first allows no session for an hour, and then one.
func TestDiscordsLimitOfSessionsIsWaitedFor(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		h.checkConnects(t, connects{connections: 0, resumed: 0, identified: 0})
		equal(t, "count of identify_throttled", h.events.Of("identify_throttled"), 1)
		equal(t, "lines about it", h.logged.Lines("wait=1h0m0s"), 1)
		h.fake.Limit(1, time.Hour)
		pass(time.Hour + time.Minute)
		h.checkReceives(t)
	}, func(h *gatewayTest) { h.fake.Limit(0, time.Hour) })
}

func TestTheStatusIsShownOnEveryConnection(t *testing.T) {
	var status atomic.Value
	status.Store("TKN $1")
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		check := func(when, want string, timesSent int) {
			t.Helper()
			pass(statusEvery)
			equal(t, "status "+when, h.fake.Status(), want)
			equal(t, "times it was sent "+when, len(h.fake.Presences()), timesSent)
		}
		check("at first", "TKN $1", 1)
		status.Store("TKN $2")
		check("after a change", "TKN $2", 2)
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		check("after a resume", "TKN $2", 3)
		h.fake.Do(fakediscord.Action{Op: opInvalidSession})
		check("in another session", "TKN $2", 4)
		status.Store("")
		h.fake.Do(fakediscord.Action{Op: opReconnect})
		check("removed between two connections", "", 5)
		status.Store("hangs") // Stopping must end a call of Status.
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
