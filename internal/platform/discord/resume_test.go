package discord

import (
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
)

// Discord refuses an answer after 3 s; one that is younger still has what is
// left of them.
func TestReplayedInteractionsAreAnsweredOnlyInTime(t *testing.T) {
	for name, tt := range map[string]struct {
		age, slow time.Duration
		answered  bool
	}{
		"young":          {1500 * time.Millisecond, 0, true},
		"young and slow": {2500 * time.Millisecond, 10 * time.Second, true},
		"too old":        {3100 * time.Millisecond, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *harness) {
				h.reply(tt.slow, chat.Reply{Title: chat.Say("at last")})
				p, replay := h.fake.Keep(command("price"))
				pass(tt.age)
				h.fake.Do(fakediscord.Action{Drop: true})
				replay()
				pass(400 * time.Millisecond)
				if a := p.Answer(); (a.Callbacks == 1) != tt.answered || a.Deferred != (tt.slow > 0) {
					t.Errorf("%+v", a)
				}
				pass(tt.slow)
				if strings.Contains(p.Answer().Text(), "at last") != tt.answered || (h.count("too_late") == 1) == tt.answered {
					t.Errorf("%+v; counted %v", p.Answer(), h.events)
				}
				if n := len(h.handler.Requests()); (n == 1) != tt.answered {
					t.Errorf("handled %d times", n)
				}
			})
		})
	}
}
