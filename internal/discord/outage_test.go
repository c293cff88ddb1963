package discord

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/discord/discordtest"
)

// Discord takes a first response for 3 seconds and the rest for 15 minutes.
func TestAnswersThatComeTooLateAreCountedAndLogged(t *testing.T) {
	for name, tt := range map[string]struct {
		slow  time.Duration // of the command
		route discordtest.Route
		fault discordtest.Fault
		calls int // that the fault lasts for; 0 is all
		event string
	}{
		"two tries lost before one that comes too late": {0, discordtest.Callback,
			discordtest.Fault{Latency: 1400 * time.Millisecond, Drop: true}, 2, "answer_expired"},
		"a deferral that never lands": {5 * time.Second, discordtest.Callback,
			discordtest.Fault{Status: http.StatusNotFound, Code: 10062}, 0, "answer_expired"},
		"a first response refused until it is late": {0, discordtest.Callback,
			discordtest.Fault{Status: http.StatusServiceUnavailable}, 0, "answer_failed"},
		"edits refused for 15 minutes": {5 * time.Second, discordtest.Edit,
			discordtest.Fault{Status: http.StatusBadGateway}, 0, "answer_failed"},
		"a limit longer than the token lives": {5 * time.Second, discordtest.Edit,
			discordtest.Fault{Status: http.StatusTooManyRequests, RetryAfter: 20 * time.Minute}, 0, "answer_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
					<-time.After(tt.slow)
					return chat.Reply{Title: chat.Say("price")}
				}
				if h.fake.Script(tt.route, slices.Repeat([]discordtest.Fault{tt.fault}, tt.calls)...); tt.calls == 0 {
					h.fake.Break(tt.route, tt.fault)
				}
				h.push(t, discordtest.Interaction{Command: "price"})
				pass(20 * time.Minute)
				if h.counts.of(tt.event) != 1 || h.counts.of("answered") != 0 {
					t.Errorf("counted %v", h.counts.events)
				}
				if n := h.logged.Lines("an answer"); n != 1 {
					t.Errorf("%d lines tell of it:\n%s", n, h.logged)
				}
				h.fake.Break(tt.route, discordtest.Fault{})
				h.answer(t, discordtest.Interaction{Command: "price"})
			})
		})
	}
}

func TestARepeatedInteractionIsAnsweredOnceAcrossConnections(t *testing.T) {
	h := connected(t, nil)
	again := discordtest.Interaction{Command: "price", ID: "1234567", Token: "again"}
	h.answer(t, again)
	h.fake.Do(discordtest.Action{Op: 7})
	h.wait(t, "a new connection", func() bool { return h.counts.of("resumed") == 1 && h.fake.Connected() == 1 })
	h.push(t, again)
	h.wait(t, "the duplicate", func() bool { return h.counts.of("duplicate") == 1 })

	// The same interaction by HTTP, at a replica that shares what is known.
	replica, address := byHTTP(t, func(_ *harness, c *Config) { c.Dedup = h.Dedup })
	if _, status, err := replica.fake.Post(h.ctx, address, again); err != nil || status != http.StatusConflict {
		t.Errorf("by HTTP: status %d, %v", status, err)
	}
	if n := len(h.handler.Requests()) + len(replica.handler.Requests()); n != 1 || h.fake.Calls(discordtest.Callback) != 1 {
		t.Errorf("handled %d times, answered %d times", n, h.fake.Calls(discordtest.Callback))
	}
}
