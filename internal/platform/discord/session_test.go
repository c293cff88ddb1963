package discord

import (
	"slices"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord/api"
)

func TestCancelWaitsForADeferralThatIsBeingSent(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		s := &session{Adapter: h.Adapter, tasks: chat.NewTasks(t.Context(), h.handler, h.Log, h.Count)}
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
		s.tasks.Drain()
	})
}

func TestHowAnAnswerIsDelivered(t *testing.T) {
	beside, inPlace := target{}, target{replaces: true}
	for _, tt := range []struct {
		name            string
		to              target
		alone, deferred bool
		want            []delivery
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
		if got := tt.to.deliveries(tt.alone, tt.deferred); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
