package discord

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/platform/discord/api"
)

// Time is simulated, so that this machine's speed does not count.
func TestABurstIsAnsweredByItsFirstResponses(t *testing.T) {
	for w, commands := range map[way]int{overGateway: 5000, byHTTP: 500} {
		t.Run(string(w), func(t *testing.T) {
			simulate(t, w, func(t *testing.T, h *harness) {
				called := make(chan struct{})
				var call sync.Once
				h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
					call.Do(func() { time.AfterFunc(300*time.Millisecond, func() { close(called) }) })
					<-called
					return chat.Reply{Title: chat.Say("the price")}
				}
				h.fake.Break(fakediscord.Callback, fakediscord.Fault{Latency: 50 * time.Millisecond})
				var pending []*fakediscord.Pending
				for range commands {
					pending = append(pending, h.send(t, command("price")))
				}
				pass(api.FirstResponse)
				for _, p := range pending {
					if a := p.Answer(); a.Callbacks != 1 || a.Deferred || a.Edits != 0 || !strings.Contains(a.Text(), "the price") {
						t.Fatalf("%+v; counted %v", a, h.events)
					}
				}
			})
		})
	}
}
