package gateway

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
)

func TestLatencyIsOfTheLastHeartbeat(t *testing.T) {
	simulate(t, fakediscord.Behaviour{Heartbeat: 10 * time.Second, NoACK: true}, func(t *testing.T, h *gatewayTest) {
		const step = 10 * time.Millisecond
		for _, latency := range []time.Duration{2 * time.Second, 300 * time.Millisecond} {
			before := h.fake.Heartbeats()
			for h.fake.Heartbeats() == before {
				pass(step)
			}
			pass(latency)
			h.fake.Do(fakediscord.Action{Op: opACK})
			pass(step)
			if d := h.Latency(); d < latency || d > latency+step {
				t.Errorf("Latency is %v for a heartbeat acknowledged after %v", d, latency)
			}
		}
	})
}

func TestAHeartbeatIsSentWhenDiscordAsks(t *testing.T) {
	simulate(t, fakediscord.Behaviour{}, func(t *testing.T, h *gatewayTest) {
		before := h.fake.Heartbeats()
		h.fake.Do(fakediscord.Action{Op: opHeartbeat})
		synctest.Wait() // No time passes, so no other heartbeat is due.
		equal(t, "heartbeats", h.fake.Heartbeats(), before+1)
	})
}

// FuzzHandle checks that no packet makes handle panic, or makes the Gateway resume at an address without TLS, where it
// would send the token.
func FuzzHandle(f *testing.F) {
	for _, packet := range []string{
		`{"op":0,"t":"READY","s":1,"d":{"session_id":"x","resume_gateway_url":"wss://gateway.example"}}`,
		`{"op":0,"t":"READY","d":[]}`,
		`{"op":0,"t":"READY"}`,
		`{"op":0,"t":"RESUMED","s":1}`,
		`{"op":0,"t":"RESUMED","s":-1}`,
		`{"op":0,"s":-5}`,
		`{"op":9}`,
		`{"op":9,"d":"true"}`,
		`{"op":99}`,
		`{"op":-1}`,
		`{"op":0,"t":"INTERACTION_CREATE","d":{"id":"1"}}`,
	} {
		f.Add([]byte(packet))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		g := New(Config{Log: slog.New(slog.DiscardHandler), Count: func(string) {}, Connected: func(string) {}})
		c := &conn{Gateway: g, receive: func(json.RawMessage, bool) {}}
		var p packet
		if json.Unmarshal(raw, &p) != nil || p.Op == opHeartbeat {
			return
		}
		_ = c.handle(p)
		if g.session != nil && !strings.HasPrefix(g.session.url, "wss://") {
			t.Errorf("the session would be resumed at %q", g.session.url)
		}
	})
}
