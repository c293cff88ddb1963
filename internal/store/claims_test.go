package store

import (
	"testing"
	"time"

	"herald/internal/chat"
)

func TestDeadReplicasClaimLapses(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	dead, two := replica(t, s), replica(t, s)
	dead.Claim(ctx, "a")
	s.FastForward(time.Hour - time.Second)
	expect(t, "before the claim lapses", two.Claim(ctx, "a"), chat.InFlight)
	s.FastForward(2 * time.Second)
	expect(t, "after", two.Claim(ctx, "a"), chat.New)
	// It was slow, not dead, and gives up what is no longer its own.
	dead.Release(ctx, "a", false)
	three := replica(t, s)
	expect(t, "what another took over", three.Claim(ctx, "a"), chat.InFlight)
}

func TestClaimsAreRenewedWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	s := server(t)
	one := newReplica(t, time.Second, redisURL(s))
	one.Claim(t.Context(), "a")
	key := one.key("update", "a")
	for range 3 {
		s.FastForward(600 * time.Millisecond)
		eventually(t, "the claim is renewed", func() bool { return s.TTL(key) >= 900*time.Millisecond })
	}
}

// TestARenewalThatComesTooLateChangesNothing renews what was in flight when the
// renewal began, and is not when it arrives.
func TestARenewalThatComesTooLateChangesNothing(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, two := replica(t, s), replica(t, s)
	one.Claim(ctx, "a")
	one.Release(ctx, "a", true)
	one.updates[one.key("update", "a")] = one.owner
	one.renew(ctx)
	expect(t, "one that was answered", two.Claim(ctx, "a"), chat.Answered)
}

// TestWhatHappensDuringAnOutageIsTold has Redis away for longer than a claim
// lasts, with updates that were in hand before and ones that come meanwhile.
func TestWhatHappensDuringAnOutageIsTold(t *testing.T) {
	t.Parallel()
	s := server(t)
	ctx := t.Context()
	one, two := replica(t, s), replica(t, s)
	for _, key := range []string{"answered meanwhile", "before", "taken over"} {
		expect(t, "a new update", one.Claim(ctx, key), chat.New)
	}
	s.SetError("LOADING")
	one.Release(ctx, "answered meanwhile", true)
	expect(t, "one that comes meanwhile", one.Claim(ctx, "meanwhile"), chat.New)
	s.FastForward(2 * time.Hour)
	s.SetError("")
	expect(t, "one taken over as its claim lapsed", two.Claim(ctx, "taken over"), chat.New)
	eventually(t, "Redis is told", func() bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		return one.updates[one.key("update", "answered meanwhile")] == ""
	})
	expect(t, "the one answered meanwhile, here", one.Claim(ctx, "answered meanwhile"), chat.Answered)
	expect(t, "the one answered meanwhile, elsewhere", two.Claim(ctx, "answered meanwhile"), chat.Answered)
	expect(t, "the one from before, elsewhere", two.Claim(ctx, "before"), chat.InFlight)
	expect(t, "the one that came meanwhile, elsewhere", two.Claim(ctx, "meanwhile"), chat.InFlight)
	two.Release(ctx, "taken over", false)
	expect(t, "the one taken over is not taken back", replica(t, s).Claim(ctx, "taken over"), chat.New)
}
