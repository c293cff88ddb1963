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

// discordEpoch is the beginning of the time in an ID, in milliseconds.
// https://discord.com/developers/docs/reference#snowflakes
const discordEpoch = 1420070400000

// idOf returns the ID of an interaction that was created at a time.
func idOf(created time.Time) string { return fmt.Sprint((created.UnixMilli() - discordEpoch) << 22) }

// Discord refuses a first response after 3 seconds, replayed or not.
func TestAReplayedInteractionKeepsItsDeadline(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.ask(t, command("price"))
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		p, replay := h.fake.PushLater(command("price"))
		pass(2500 * time.Millisecond)
		h.fake.Do(fakediscord.Action{Drop: true})
		replay()
		pass(400 * time.Millisecond)
		equal(t, "responses", p.Answer().Callbacks, 1)
		equal(t, "it is deferred", p.Answer().Deferred, true)
		pass(10 * time.Second)
		checkText(t, p.Answer(), "at last")
		h.checkCount(t, "too_late", 0)
	})
}

// An interaction that takes a second less than the one before has not arrived in a second from now.
func TestAReplayedInteractionThatIsYoungerThanUsualKeepsItsDeadline(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		late := command("price")
		late.ID = idOf(time.Now().Add(-time.Second))
		h.ask(t, late)
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		p, replay := h.fake.PushLater(command("price"))
		h.fake.Do(fakediscord.Action{Drop: true})
		replay()
		pass(2500 * time.Millisecond)
		equal(t, "it is deferred", p.Answer().Deferred, true)
		pass(10 * time.Second)
		checkText(t, p.Answer(), "at last")
	})
}

func TestReplayedAgeIsJudgedByDiscordsClock(t *testing.T) {
	type test struct {
		ahead    time.Duration // of Discord's clock, which may be negative
		age      time.Duration
		isFirst  bool // no interaction has come before
		answered bool
	}
	simulateEach(t, map[string]test{
		"an hour ahead, young":  {ahead: time.Hour, age: time.Second, answered: true},
		"an hour ahead, old":    {ahead: time.Hour, age: 3500 * time.Millisecond},
		"an hour behind, young": {ahead: -time.Hour, age: time.Second, answered: true},
		"an hour behind, old":   {ahead: -time.Hour, age: 3500 * time.Millisecond},
		"an hour ahead, first":  {ahead: time.Hour, age: time.Second, isFirst: true, answered: true},
		"seconds ahead, first":  {ahead: 3 * time.Second, age: time.Second, isFirst: true, answered: true},
	}, func(t *testing.T, h *adapterTest, tt test) {
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		defer s.work.Cancel() // Discord does not know these interactions.
		interaction := func(age time.Duration) json.RawMessage {
			const form = `{"id":%q,"type":2,"token":"t","user":{"id":"5"},"data":{"name":"price"}}`
			return fmt.Appendf(nil, form, idOf(time.Now().Add(-tt.ahead-age)))
		}
		if !tt.isFirst {
			s.receive(interaction(0), false)
			synctest.Wait()
		}
		before := len(h.handler.Requests())
		s.receive(interaction(tt.age), true)
		synctest.Wait()
		equal(t, "it is handled", len(h.handler.Requests()) > before, tt.answered)
		equal(t, "it is too late", h.events.Of("too_late") == 1, !tt.answered)
	})
}
