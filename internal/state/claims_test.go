package state

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/chat"
)

func TestDeadReplicasClaimLapses(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	dead, two := replica(t, s), replica(t, s)
	dead.Begin(ctx, "a")
	s.FastForward(time.Hour - time.Second)
	expect(t, "before the claim lapses", two.Begin(ctx, "a"), chat.InHand)
	s.FastForward(2 * time.Second)
	expect(t, "after", two.Begin(ctx, "a"), chat.Fresh)
	// It was slow, not dead, and gives up what is no longer its own.
	dead.End(ctx, "a", false)
	three := replica(t, s)
	expect(t, "what another took over", three.Begin(ctx, "a"), chat.InHand)
}

func TestALivingReplicasClaimsLastAsLongAsItsUpdatesAreInHand(t *testing.T) {
	for _, updates := range []int{1, mostRenewed + 1} {
		t.Run(fmt.Sprint(updates), func(t *testing.T) {
			s := server(t)
			ctx := t.Context()
			one := replica(t, s)
			two := replica(t, s)
			for i := range updates {
				expect(t, "a new update", one.Begin(ctx, fmt.Sprint(i)), chat.Fresh)
			}
			for range 3 {
				one.renew(ctx)
				s.FastForward(time.Hour - time.Minute)
			}
			expect(t, "one in hand for longer than a claim", two.Begin(ctx, fmt.Sprint(updates-1)), chat.InHand)
			if n := len(s.Keys()); n != updates {
				t.Errorf("%d claims are left of %d", n, updates)
			}
			one.End(ctx, "0", true)
			one.renew(ctx)
			expect(t, "it once it is answered", two.Begin(ctx, "0"), chat.Answered)
		})
	}
}

func TestClaimsAreRenewedWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	s := server(t)
	one := newReplica(t, time.Second, redisURL(s))
	one.Begin(t.Context(), "a")
	key := one.key("update", "a")
	for range 3 {
		s.FastForward(600 * time.Millisecond)
		eventually(t, "the claim is renewed", func() bool { return s.TTL(key) >= 900*time.Millisecond })
	}
}

// TestAClaimOutlivesAnOutage has Redis away for longer than a claim lasts, with
// an update that was in hand before and one that came meanwhile.
func TestAClaimOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := server(t)
	ctx := t.Context()
	one, two := replica(t, s), replica(t, s)
	expect(t, "a new update", one.Begin(ctx, "before"), chat.Fresh)
	expect(t, "a new update", one.Begin(ctx, "taken over"), chat.Fresh)
	s.SetError("LOADING")
	expect(t, "one that comes meanwhile", one.Begin(ctx, "meanwhile"), chat.Fresh)
	s.FastForward(2 * time.Hour)
	s.SetError("")
	expect(t, "one taken over as its claim lapsed", two.Begin(ctx, "taken over"), chat.Fresh)

	meanwhile := one.key("update", "meanwhile")
	eventually(t, "claims are renewed", func() bool { return s.Exists(meanwhile) })
	expect(t, "the one from before, elsewhere", two.Begin(ctx, "before"), chat.InHand)
	expect(t, "the one that came meanwhile, elsewhere", two.Begin(ctx, "meanwhile"), chat.InHand)
	two.End(ctx, "taken over", false)
	three := replica(t, s)
	expect(t, "the one taken over is not taken back", three.Begin(ctx, "taken over"), chat.Fresh)
}

// TestARenewalThatComesTooLateChangesNothing renews what was in hand when the
// renewal began, and is not when it arrives.
func TestARenewalThatComesTooLateChangesNothing(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, two := replica(t, s), replica(t, s)
	for _, key := range []string{"given up", "answered"} {
		one.Begin(ctx, key)
		one.End(ctx, key, key == "answered")
		one.held[one.key("update", key)] = true
	}
	one.renew(ctx)
	expect(t, "the one given up", two.Begin(ctx, "given up"), chat.Fresh)
	expect(t, "the one answered", two.Begin(ctx, "answered"), chat.Answered)
}

func TestWhatEndedIsNotHeld(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, two := replica(t, s), replica(t, s)
	two.Begin(ctx, "another's")
	for _, key := range []string{"another's", "answered", "given up"} {
		one.Begin(ctx, key)
		one.End(ctx, key, key == "answered")
	}
	if len(one.held) != 0 {
		t.Errorf("%v are held", one.held)
	}
}
