package discord

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
)

// Discord refuses a first response after 3 seconds, replayed or not.
func TestAReplayedInteractionKeepsItsDeadline(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.ask(t, command("price"))
		h.reply(10*time.Second, chat.Reply{Title: chat.Say("at last")})
		p, replay := h.fake.Keep(command("price"))
		pass(2500 * time.Millisecond)
		h.fake.Do(fakediscord.Action{Drop: true})
		replay()
		pass(400 * time.Millisecond)
		equal(t, "responses", p.Answer().Callbacks, 1)
		equal(t, "it is deferred", p.Answer().Deferred, true)
		pass(10 * time.Second)
		says(t, p.Answer(), "at last")
		h.counted(t, "too_late", 0)
	})
}

func TestReplayedAgeIsJudgedByDiscordsClock(t *testing.T) {
	type test struct {
		ahead, age time.Duration
		first      bool // nothing has come before
		answered   bool
	}
	each(t, map[string]test{
		"an hour ahead, young":  {time.Hour, time.Second, false, true},
		"an hour ahead, old":    {time.Hour, 3500 * time.Millisecond, false, false},
		"an hour behind, young": {-time.Hour, time.Second, false, true},
		"an hour behind, old":   {-time.Hour, 3500 * time.Millisecond, false, false},
		"an hour ahead, first":  {time.Hour, time.Second, true, true},
		"seconds ahead, first":  {3 * time.Second, time.Second, true, true},
	}, func(t *testing.T, h *adapterTest, tt test) {
		s := &session{Adapter: h.Adapter, tasks: chat.NewTasks(t.Context(), h.handler, h.Log, h.Count)}
		interaction := func(age time.Duration) json.RawMessage {
			created := time.Now().Add(-tt.ahead - age)
			id := (created.UnixMilli() - 1420070400000) << 22
			return fmt.Appendf(nil, `{"id":"%d","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price"}}`, id)
		}
		before := 0
		if !tt.first {
			s.receive(interaction(0), false)
			before++
			synctest.Wait()
		}
		s.receive(interaction(tt.age), true)
		synctest.Wait()
		equal(t, "it is handled", len(h.handler.Requests())-before == 1, tt.answered)
		equal(t, "it is too late", h.events.Of("too_late") == 1, !tt.answered)
		s.tasks.Cancel()
		s.tasks.Drain()
	})
}
