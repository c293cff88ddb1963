package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
)

func TestCancelWaitsForADeferralThatIsBeingSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := &session{Adapter: h.Adapter, work: platform.NewWork(t.Context(), h.handler, h.Log, h.Count)}
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: time.Second})
		for after, want := range map[time.Duration]bool{time.Second: false, deferAfter + 400*time.Millisecond: true} {
			unknown := api.Interaction{ID: "1", Token: "t", Arrived: time.Now()}
			d := s.deferLater(&interaction{Interaction: unknown}, target{})
			pass(after)
			began := time.Now()
			sent, err := d.cancel()
			equal(t, "it was sent", sent, want)
			equal(t, "its outcome is returned", api.Expired(err), want)
			equal(t, "cancel waited", time.Since(began) >= 600*time.Millisecond, want)
		}
		h.counted(t, "deferred", 1)
		s.work.Drain()
	})
}

// All calls for first responses are under way when the last command ends.
func TestAnAnswerOvertakesADeferralThatWaits(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const latency = 300 * time.Millisecond
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Latency: latency})
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		for range api.MaxFirst {
			h.send(t, command("price"))
		}
		pass(10 * time.Millisecond)
		h.reply(deferAfter+latency/2, &chat.Reply{Title: chat.Say("in time")})
		p := h.send(t, command("price"))
		pass(api.FirstResponse)
		says(t, p.Answer(), "in time")
		equal(t, "it is deferred", p.Answer().Deferred, false)
		h.counted(t, "deferred", api.MaxFirst)
		h.reply(10*time.Second, &chat.Reply{})
		p = h.send(t, command("price"))
		pass(api.FirstResponse)
		equal(t, "a later one is deferred", p.Answer().Deferred, true)
	})
}

func TestADeferralThatWaitsHasNoGoroutine(t *testing.T) {
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

// Each panic is logged under its own interaction, and keeps back no deferral that waits.
func TestAPanicLeavesADeferralsOutcomeUnknown(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := &session{Adapter: h.Adapter, work: platform.NewWork(t.Context(), h.handler, h.Log, h.Count)}
		defer s.work.Drain()
		var deferred []*deferral
		for n := range api.MaxFirst + 1 {
			i := &interaction{Interaction: api.Interaction{Arrived: time.Now()}, reference: fmt.Sprint("reference-", n)}
			deferred = append(deferred, s.deferLater(i, target{}))
		}
		pass(deferAfter + 5*time.Second)
		for n, d := range deferred {
			sent, err := d.cancel()
			equal(t, "it was sent", sent, true)
			equal(t, "its outcome is unknown", errors.Is(err, api.ErrOutcomeUnknown), true)
			equal(t, "it is logged", strings.Contains(h.logged.String(), fmt.Sprintf("reference-%d ", n)), true)
		}
		h.counted(t, "panic", api.MaxFirst+1)
	}, func(h *adapterTest, c *Config) {
		c.Count = func(event string) {
			if event == "deferred" { // while the deferral is sent
				time.Sleep(time.Second)
				panic("of the call")
			}
			h.events.Add(event)
		}
	})
}

func TestHowAnAnswerIsDelivered(t *testing.T) {
	beside, inPlace := target{}, target{replaces: true}
	for _, tt := range []struct {
		name                string
		to                  target
		ephemeral, deferred bool
		want                []delivery
	}{
		{"a new message", beside, false, false, []delivery{asResponse}},
		{"a new message for one person", beside, true, false, []delivery{asResponse}},
		{"a new message, deferred", beside, false, true, []delivery{asEdit, asFollowUp}},
		{"a new message for one person, deferred", beside, true, true, []delivery{asEdit, asFollowUp}},
		{"in place", inPlace, false, false, []delivery{asUpdate, asResponse}},
		{"in place, but for one person", inPlace, true, false, []delivery{asResponse}},
		{"in place, deferred", inPlace, false, true, []delivery{asEdit, asFollowUp}},
		{"in place, but for one person, deferred", inPlace, true, true, []delivery{asFollowUp}},
	} {
		if got := tt.to.deliveries(tt.ephemeral, tt.deferred); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAMessageStaysAsItIsUnlessTheAnswerIsNewer(t *testing.T) {
	now := time.Now()
	block := func(n uint64) chat.Version { return chat.Version{Block: chat.Block{Chain: 1, Number: n}} }
	inPlace := func(shown chat.Version, text string) target { return target{replaces: true, asOf: shown, text: text} }
	x := &chat.Reply{Title: chat.Say("x")}
	text := render(x, func(string) string { return "" }).Content
	atBlock := func(n uint64) *chat.Reply {
		return &chat.Reply{Title: x.Title, Source: chat.Source{AsOf: chat.Version{Time: now, Block: block(n).Block}}}
	}
	for name, tt := range map[string]struct {
		to    target
		reply *chat.Reply
		want  bool
	}{
		"the same":              {inPlace(chat.Version{Time: now}, ""), &chat.Reply{Source: chat.Source{AsOf: chat.Version{Time: now}}}, true},
		"newer":                 {inPlace(chat.Version{Time: now.Add(-time.Minute)}, ""), &chat.Reply{Source: chat.Source{AsOf: chat.Version{Time: now}}}, false},
		"older":                 {inPlace(chat.Version{Time: now}, ""), &chat.Reply{Source: chat.Source{AsOf: chat.Version{Time: now.Add(-time.Minute)}}}, true},
		"a newer block":         {inPlace(block(5), text), atBlock(6), false},
		"an older block":        {inPlace(block(5), ""), atBlock(4), true},
		"one block, one text":   {inPlace(block(5), text), atBlock(5), true},
		"one block, two texts":  {inPlace(block(5), "y"), atBlock(5), false},
		"not in place":          {target{asOf: chat.Version{Time: now}}, &chat.Reply{Source: chat.Source{AsOf: chat.Version{Time: now}}}, false},
		"without a time":        {inPlace(chat.Version{}, ""), &chat.Reply{}, false},
		"the same text":         {inPlace(chat.Version{Time: now}, text), x, true},
		"another text":          {inPlace(chat.Version{Time: now}, "y"), x, false},
		"the text of a page":    {inPlace(chat.Version{}, text), x, false},
		"for one person, wrong": {inPlace(chat.Version{Time: now}, ""), &chat.Reply{Source: chat.Source{AsOf: chat.Version{Time: now}}, Audience: chat.SenderAlone}, false},
	} {
		s := &session{Adapter: &Adapter{}}
		if got := s.staysAsItIs(tt.to, tt.reply, render(tt.reply, func(string) string { return "" })); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// Discord refuses a first response after 3 seconds, replayed or not.
func TestAReplayedInteractionKeepsItsDeadline(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.ask(t, command("price"))
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
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

// An interaction that takes a second less than the one before has not arrived in a second from now.
func TestAReplayedInteractionThatIsYoungerThanUsualKeepsItsDeadline(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		late := command("price")
		late.ID = strconv.FormatInt((time.Now().Add(-time.Second).UnixMilli()-1420070400000)<<22, 10)
		h.ask(t, late)
		h.reply(10*time.Second, &chat.Reply{Title: chat.Say("at last")})
		p, replay := h.fake.Keep(command("price"))
		h.fake.Do(fakediscord.Action{Drop: true})
		replay()
		pass(2500 * time.Millisecond)
		equal(t, "it is deferred", p.Answer().Deferred, true)
		pass(10 * time.Second)
		says(t, p.Answer(), "at last")
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
		s := &session{Adapter: h.Adapter, work: platform.NewWork(t.Context(), h.handler, h.Log, h.Count)}
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
		s.work.Cancel()
		s.work.Drain()
	})
}
