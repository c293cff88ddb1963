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
	dead, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
	dead.Begin(ctx, "a")
	s.FastForward(time.Hour - time.Second)
	expect(t, "before the claim lapses", two.Begin(ctx, "a"), chat.InHand)
	s.FastForward(2 * time.Second)
	expect(t, "after", two.Begin(ctx, "a"), chat.Fresh)
	// It was slow, not dead, and gives up what is no longer its own.
	dead.End(ctx, "a", false)
	three, _ := replica(t, s.Addr())
	expect(t, "what another took over", three.Begin(ctx, "a"), chat.InHand)
}

func TestALivingReplicasClaimsLastAsLongAsItsUpdatesAreInHand(t *testing.T) {
	for _, updates := range []int{1, 7, mostRenewed + 1} {
		t.Run(fmt.Sprint(updates), func(t *testing.T) {
			s := server(t)
			ctx := t.Context()
			one, _ := replica(t, s.Addr())
			two, _ := replica(t, s.Addr())
			for i := range updates {
				expect(t, "a new update", one.Begin(ctx, fmt.Sprint(i)), chat.Fresh)
			}
			for range 3 {
				one.renew(ctx)
				s.FastForward(time.Hour - time.Minute)
			}
			for i := range min(updates, 7) {
				last := updates - 1 - i
				expect(t, "one in hand for longer than a claim", two.Begin(ctx, fmt.Sprint(last)), chat.InHand)
			}
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
	s := server(t)
	one, _ := replicaWithClaims(t, time.Second, s.Addr())
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
	s := server(t)
	ctx := t.Context()
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
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
	three, _ := replica(t, s.Addr())
	expect(t, "the one taken over is not taken back", three.Begin(ctx, "taken over"), chat.Fresh)
}

// TestARenewalThatComesTooLateChangesNothing renews what was in hand when the
// renewal began, and is not when it arrives.
func TestARenewalThatComesTooLateChangesNothing(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
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
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
	two.Begin(ctx, "another's")
	one.Begin(ctx, "another's")
	for i := range 10 {
		one.Begin(ctx, fmt.Sprint(i))
		one.End(ctx, fmt.Sprint(i), i%2 == 0)
	}
	if len(one.held) != 0 {
		t.Errorf("%d updates are held", len(one.held))
	}
}
