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

// discordEpoch is when the time in Discord's IDs begins, in Unix milliseconds.
// https://discord.com/developers/docs/reference#snowflakes
const discordEpoch = 1420070400000

// idOf returns the ID of an interaction that was created at a time, by Discord's clock.
func idOf(created time.Time) string { return fmt.Sprint((created.UnixMilli() - discordEpoch) << 22) }

// Discord accepts a first response for 3 seconds after an interaction, even if it was replayed. 2.5 seconds have passed
// before the replay, so the deferral is sent at once.
func TestAReplayedInteractionKeepsItsDeadline(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.ask(t, command("price"))
		h.replyAfter(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
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

// The first interaction arrives a second after its creation, and the replayed one at once. With the delay of the first,
// the replayed one would arrive in the future. It counts as arrived now, so it is deferred in time.
func TestAReplayedInteractionDoesNotArriveInTheFuture(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		delayed := command("price")
		delayed.ID = idOf(time.Now().Add(-time.Second))
		h.ask(t, delayed)
		h.replyAfter(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		p, replay := h.fake.PushLater(command("price"))
		h.fake.Do(fakediscord.Action{Drop: true})
		replay()
		pass(2500 * time.Millisecond)
		equal(t, "it is deferred", p.Answer().Deferred, true)
		pass(10 * time.Second)
		checkText(t, p.Answer(), "at last")
	})
}

// Before the replayed interaction, another one arrives without delay. It shows how far our clock is ahead of Discord's.
// Without it, the age of the replayed interaction is unknown, and the interaction is answered.
func TestTheAgeOfAReplayedInteractionIsJudgedByDiscordsClock(t *testing.T) {
	type test struct {
		ahead        time.Duration // how far our clock is ahead of Discord's; may be negative
		age          time.Duration // of the replayed interaction
		isFirst      bool          // no other interaction has arrived before
		wantAnswered bool
	}
	const young, old = time.Second, 3500 * time.Millisecond
	simulateEach(t, map[string]test{
		"an hour ahead, young":   {ahead: time.Hour, age: young, wantAnswered: true},
		"an hour ahead, old":     {ahead: time.Hour, age: old, wantAnswered: false},
		"an hour behind, young":  {ahead: -time.Hour, age: young, wantAnswered: true},
		"an hour behind, old":    {ahead: -time.Hour, age: old, wantAnswered: false},
		"an hour ahead, first":   {ahead: time.Hour, age: young, isFirst: true, wantAnswered: true},
		"3 seconds ahead, first": {ahead: 3 * time.Second, age: young, isFirst: true, wantAnswered: true},
	}, func(t *testing.T, h *adapterTest, tt test) {
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		defer s.work.Cancel() // The fake refuses the answers, because it does not know these interactions.
		interaction := func(age time.Duration) json.RawMessage {
			const format = `{"id":%q,"type":2,"token":"t","user":{"id":"5"},"data":{"name":"price"}}`
			discordsNow := time.Now().Add(-tt.ahead)
			return fmt.Appendf(nil, format, idOf(discordsNow.Add(-age)))
		}
		const replayed = true
		if !tt.isFirst {
			s.receive(interaction(0), !replayed)
			synctest.Wait()
		}
		before := len(h.handler.Requests())
		s.receive(interaction(tt.age), replayed)
		synctest.Wait()
		equal(t, "it is handled", len(h.handler.Requests()) > before, tt.wantAnswered)
		equal(t, "it is too late", h.events.Of("too_late") == 1, !tt.wantAnswered)
	})
}
