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

// newDeferral starts the deferral of an interaction that Discord does not know, so sending it fails with an error for
// which api.Expired returns true.
func (s *session) newDeferral(reference string) *deferral {
	i := &interaction{reference: reference}
	i.Interaction = api.Interaction{ID: "1", Token: "t", Arrived: time.Now()}
	return s.deferLater(i)
}

func TestAnAnswerInTimeKeepsItsDeferralFromBeingSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		d := s.newDeferral("")
		pass(deferAfter - time.Millisecond)
		for range 2 { // Later calls return the same.
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
		d := s.newDeferral("")
		pass(deferAfter + latency/4)
		began := time.Now()
		for range 2 {
			first, err := d.overtake()
			equal(t, "first response", first, theDeferral)
			equal(t, "the error is Discord's", api.Expired(err), true)
		}
		equal(t, "it waited", time.Since(began).Round(latency/4), 3*latency/4)
	})
}

// The first commands use up all calls for first responses. Their deferrals are sent from 1.2 to 1.5 seconds. The last
// command arrives 10 ms after them, so its deferral has to wait, and answers 1.35 seconds later.
func TestAnAnswerOvertakesADeferralThatWaitsForOthers(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const (
			latency          = 300 * time.Millisecond
			whileTheyAreSent = deferAfter + latency/2
		)
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: latency})
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		for range api.MaxFirst {
			h.send(t, command("price"))
		}
		pass(10 * time.Millisecond)
		h.reply(whileTheyAreSent, &chat.Reply{Title: chat.Say("in time")})
		last := h.send(t, command("price"))
		pass(api.FirstResponse)
		checkText(t, last.Answer(), "in time")
		equal(t, "the last one is deferred", last.Answer().Deferred, false)
		h.checkCount(t, "deferred", api.MaxFirst)

		// The deferral that was overtaken holds up no other.
		h.reply(10*time.Second, &chat.Reply{})
		later := h.send(t, command("price"))
		pass(api.FirstResponse)
		equal(t, "a later one is deferred", later.Answer().Deferred, true)
	})
}

func TestAThousandInteractionsAreDeferredInTheSameSecond(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: 200 * time.Millisecond})
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
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

// A command may run for 14 minutes, and a claim lasts for one.
func TestADeferredInteractionStaysClaimedHoweverLongItsCommandRuns(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		h.reply(14*time.Minute, &chat.Reply{Title: chat.Say("at last")})
		p := h.send(t, command("price"))
		pass(2 * claim.Lasts)
		progress, _ := h.Dedup.Claim(t.Context(), "discord:interaction:"+p.ID)
		equal(t, "progress", progress, claim.Done)
		pass(14 * time.Minute)
		checkText(t, p.Answer(), "at last")
	})
}

// panicWhileDeferring makes each deferral panic, a second after its sending began.
func panicWhileDeferring(h *adapterTest, c *Config) {
	c.Count = func(event string) {
		if event == "deferred" {
			time.Sleep(time.Second)
			panic("of the call")
		}
		h.events.Add(event)
	}
}

// Each panic is logged with the reference of its own interaction. All deferrals but one are sent at once, and the last
// one has to wait for them: their panics must not keep it waiting.
func TestAPanicLeavesADeferralsOutcomeUnknown(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := h.newSession(t.Context(), h.handler)
		defer s.work.Drain()
		var deferred []*deferral
		for n := range api.MaxFirst + 1 {
			deferred = append(deferred, s.newDeferral(fmt.Sprint("reference-", n)))
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

// speechless is a handler whose commands panic. Its Language panics, too, so the adapter cannot answer that something
// went wrong.
type speechless struct{ *platformtest.Handler }

func (speechless) Handle(context.Context, *chat.Request) *chat.Reply { panic("of the command") }

func (speechless) Language(*chat.Request, chat.Visibility) chat.Language {
	panic("of the language")
}

// A deferral promises an answer, and none would follow.
func TestAnInteractionThatNothingAnswersIsNotDeferred(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := h.newSession(t.Context(), speechless{h.handler})
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
	// goroutines returns how many goroutines start while the deferrals of this many commands are sent or wait.
	goroutines := func(commands int) (more int) {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			const latency = time.Second
			h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: latency})
			h.reply(10*time.Second, &chat.Reply{})
			for range commands {
				h.send(t, command("price"))
			}
			before := runtime.NumGoroutine()
			pass(deferAfter + latency/2)
			more = runtime.NumGoroutine() - before
		})
		return more
	}
	// Some of the goroutines are the network's.
	if more := goroutines(2*api.MaxFirst) - goroutines(api.MaxFirst); more > api.MaxFirst/10 {
		t.Errorf("%d goroutines more for twice as many deferrals", more)
	}
}
