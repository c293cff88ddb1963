package discord

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/platformtest"
)

// unknownDeferral returns a deferral that is sent at deferAfter. Discord does not know the interaction, so sending the
// deferral fails with an error for which api.Expired returns true.
func (s *session) unknownDeferral(reference string) *deferral {
	i := &interaction{reference: reference}
	i.Interaction = api.Interaction{ID: "1", Token: "t", Arrived: time.Now()}
	return s.deferLater(i)
}

func TestAnAnswerInTimeKeepsItsDeferralFromBeingSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		d := s.unknownDeferral("")
		pass(deferAfter - time.Millisecond)
		for range 2 { // The second call returns the same.
			first, err := d.overtake()
			equal(t, "first response", first, theAnswer)
			equal(t, "error", err, nil)
		}
		pass(time.Minute)
		h.checkCount(t, "deferred", 0)
	})
}

func TestAnAnswerWaitsForADeferralThatIsBeingSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const latency = time.Second
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: latency})
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		d := s.unknownDeferral("")
		pass(deferAfter + latency/4)
		start := time.Now()
		for range 2 { // The second call returns the same.
			first, err := d.overtake()
			equal(t, "first response", first, theDeferral)
			equal(t, "the error is Discord's", api.Expired(err), true)
		}
		equal(t, "time that overtake took", time.Since(start).Round(latency/4), 3*latency/4)
	})
}

// The first MaxFirst commands arrive at 0 s. Their deferrals are sent from 1.2 s to 1.5 s, and take all MaxFirst
// permits for first responses. The last command arrives at 0.01 s, so its deferral is due at 1.21 s and has to wait.
// The command ends at 1.36 s, so the answer overtakes the deferral.
func TestAnAnswerOvertakesADeferralThatWaitsForOthers(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const (
			latency            = 300 * time.Millisecond
			whileOthersAreSent = deferAfter + latency/2
		)
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: latency})
		h.replyAfter(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		for range api.MaxFirst {
			h.send(t, command("price"))
		}
		pass(10 * time.Millisecond)
		h.replyAfter(whileOthersAreSent, &chat.Reply{Title: chat.Say("in time")})
		last := h.send(t, command("price"))
		pass(api.FirstResponse)
		checkText(t, last.Answer(), "in time")
		equal(t, "the last one is deferred", last.Answer().Deferred, false)
		h.checkCount(t, "deferred", api.MaxFirst)

		// The deferral that was overtaken does not delay later ones.
		h.replyAfter(10*time.Second, &chat.Reply{})
		later := h.send(t, command("price"))
		pass(api.FirstResponse)
		equal(t, "a later one is deferred", later.Answer().Deferred, true)
	})
}

// MaxFirst deferrals at a time take 0.2 s.
func TestAThousandInteractionsAtOnceAreDeferredInTime(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: 200 * time.Millisecond})
		h.replyAfter(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		var asked []*fakediscord.Pending
		for range 1000 {
			asked = append(asked, h.send(t, command("price")))
		}
		pass(api.FirstResponse)
		for _, p := range asked {
			if !p.Answer().Deferred {
				t.Fatalf("an interaction is not deferred: %+v", p.Answer())
			}
		}
		pass(time.Minute)
		h.checkCount(t, "answered", 1000)
	})
}

// A command may run for longer than claim.Lasts, after which a claim that was only begun ends. So the deferral marks
// the claim as done.
func TestADeferredInteractionStaysClaimedWhileItsCommandRuns(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		h.replyAfter(14*time.Minute, &chat.Reply{Title: chat.Say("at last")})
		p := h.send(t, command("price"))
		pass(2 * claim.Lasts)
		progress, _ := h.Dedup.Claim(t.Context(), "discord:interaction:"+p.ID)
		equal(t, "progress", progress, claim.Done)
		pass(14 * time.Minute)
		checkText(t, p.Answer(), "at last")
	})
}

// panicWhileDeferring makes the sending of each deferral panic after a second. A deferral is counted just before the
// call to Discord.
func panicWhileDeferring(h *adapterTest, c *Config) {
	c.Count = func(event string) {
		if event == "deferred" {
			time.Sleep(time.Second)
			panic("while a deferral is sent")
		}
		h.events.Add(event)
	}
}

// Each panic is logged with the reference of its own interaction. The first MaxFirst deferrals are sent at the same
// time. After their panics, the last deferral must still be sent.
func TestAfterAPanicTheOutcomeOfADeferralIsUnknown(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		var deferred []*deferral
		for n := range api.MaxFirst + 1 {
			deferred = append(deferred, s.unknownDeferral(fmt.Sprint("reference-", n)))
		}
		pass(deferAfter + 5*time.Second)
		for n, d := range deferred {
			first, err := d.overtake()
			equal(t, "first response", first, theDeferral)
			equal(t, "its outcome is unknown", errors.Is(err, api.ErrOutcomeUnknown), true)
			reference := fmt.Sprintf("reference-%d ", n)
			equal(t, reference+"is logged", strings.Contains(h.logged.String(), reference), true)
		}
		h.checkCount(t, "panic", api.MaxFirst+1)
	}, panicWhileDeferring)
}

// panicking is a handler whose commands panic. Its Language panics too, so the adapter cannot answer that something
// went wrong.
type panicking struct{ *platformtest.Handler }

func (panicking) Handle(context.Context, *chat.Request) *chat.Reply { panic("in Handle") }

func (panicking) Language(*chat.Request, chat.Visibility) chat.Language { panic("in Language") }

// A deferral would promise an answer that never follows.
func TestAnInteractionWithoutAnyAnswerIsNotDeferred(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := h.newSession(t.Context(), panicking{h.handler})
		defer s.work.Drain()
		id := idOf(time.Now())
		const format = `{"id":%q,"type":2,"token":"t","user":{"id":"5"},"data":{"name":"price"}}`
		s.receive(fmt.Appendf(nil, format, id), false)
		pass(time.Minute)
		h.checkCount(t, "panic", 2) // of Handle and of Language
		h.checkCount(t, "deferred", 0)
		equal(t, "in flight", h.InFlight(), 0)
		progress, _ := h.Dedup.Claim(t.Context(), "discord:interaction:"+id)
		equal(t, "progress", progress, claim.New)
	})
}

// If a service is slow, thousands of interactions are deferred in the same second.
func TestADeferralThatWaitsHasNoGoroutine(t *testing.T) {
	// startedBy returns how many goroutines are started to defer this many commands at the same time.
	startedBy := func(commands int) (started int) {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			const latency = time.Second
			h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: latency})
			h.replyAfter(10*time.Second, &chat.Reply{})
			for range commands {
				h.send(t, command("price"))
			}
			before := runtime.NumGoroutine()
			pass(deferAfter + latency/2)
			started = runtime.NumGoroutine() - before
		})
		return started
	}
	more := startedBy(2*api.MaxFirst) - startedBy(api.MaxFirst)
	if more > api.MaxFirst/10 { // The network may have started some.
		t.Errorf("%d goroutines more for twice as many deferrals", more)
	}
}
