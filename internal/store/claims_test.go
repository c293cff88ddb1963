package store

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"herald/internal/claim"
	"herald/internal/ratelimit"
)

// A story is a list of steps. In most steps, a replica claims the same work: after its name stands what Claim returns.
//
//	one new      replica one claims the work, which is new
//	one finishes replica one marks the work as done, for an hour
//	one gives-up replica one releases its claim
//	pass 59m     time passes in Redis
//	down, up     Redis becomes unavailable, or available again
func TestReplicasShareClaims(t *testing.T) {
	for _, story := range []string{
		"one new, one in-flight, two in-flight",
		"one new, one finishes, one done, two done, pass 59m, two done, pass 2m, two new",
		"one new, one gives-up, two new, one in-flight",
		"one new, pass 59s, two in-flight, pass 2s, two new",
		// After a claim has expired, another replica may have the work.
		"one new, pass 61s, two new, one gives-up, three in-flight",
		"one new, pass 61s, two new, one finishes, three done, two gives-up, three done",
		// While Redis is unavailable, each replica's memory decides.
		"down, one new, one in-flight, two new, one finishes, one done, two in-flight",
		"down, one new, one gives-up, one new",
		"one new, down, one finishes, one done",
		// Work that a replica claimed in Redis stays in flight for this replica while Redis is down.
		"one new, down, one in-flight, one gives-up, one new",
		"one new, one in-flight, down, one in-flight, one finishes, one done",
		"one new, down, one in-flight, up, one gives-up, two new",
		"down, one new, up, one finishes, two done",
		"down, one new, up, two new",
		"one new, down, one gives-up, up, two in-flight, pass 61s, two new",
	} {
		t.Run(story, func(t *testing.T) { play(t, story) })
	}
}

// play plays a story of TestReplicasShareClaims.
func play(t *testing.T, story string) {
	words := map[string]claim.Progress{"new": claim.New, "in-flight": claim.InFlight, "done": claim.Done}
	s := server(t)
	replicas := map[string]*Redis{"one": replica(t, s), "two": replica(t, s), "three": replica(t, s)}
	for step := range strings.SplitSeq(story, ", ") {
		name, action, _ := strings.Cut(step, " ")
		switch {
		case name == "down":
			s.SetError("LOADING")
		case name == "up":
			s.SetError("")
			for _, r := range replicas {
				r.up.Store(true)
			}
		case name == "pass":
			passed, _ := time.ParseDuration(action)
			s.FastForward(passed)
		case action == "finishes":
			finish(t, replicas[name], "a", time.Hour)
		case action == "gives-up":
			replicas[name].Release("a")
		default:
			wantProgress(t, step, replicas[name], "a", words[action])
		}
	}
}

func TestEndedClaimsAreForgotten(t *testing.T) {
	r := replica(t, server(t))
	wantProgress(t, "new work", r, "finished", claim.New)
	wantProgress(t, "new work", r, "given up", claim.New)
	finish(t, r, "finished", time.Second)
	r.Release("given up")
	if len(r.tokens) > 0 || r.Fallbacks() > 0 {
		t.Errorf("left is %v; %d calls were decided without Redis", r.tokens, r.Fallbacks())
	}
}

func TestADuplicateOfFinishedWorkLeavesNothing(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	s.SetError("LOADING")
	wantProgress(t, "new work", r, "a", claim.New)
	finish(t, r, "a", time.Hour)
	wantProgress(t, "a duplicate", r, "a", claim.Done)
	if len(r.tokens) > 0 {
		t.Errorf("left is %v", r.tokens)
	}
}

// Redis makes the claim, but both attempts fail before its answer arrives, so the memory decides.
func TestADuplicateDoesNotReplaceItsHoldersClaim(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	var breaks atomic.Bool
	breaks.Store(true)
	tap(r, func(command string, call func() (any, error)) (any, error) {
		reply, err := call()
		if breaks.Load() && command == "" {
			return nil, io.ErrUnexpectedEOF
		}
		return reply, err
	})
	wantProgress(t, "new work", r, "a", claim.New)
	breaks.Store(false)
	s.SetError("LOADING")
	wantProgress(t, "a duplicate", r, "a", claim.InFlight)
	s.SetError("")
	r.up.Store(true)
	wantProgress(t, "the work at another replica", replica(t, s), "a", claim.InFlight)
	r.Release("a")
	wantProgress(t, "the released work", replica(t, s), "a", claim.New)
}

// Redis makes the claim, and the connection breaks before the answer arrives.
func TestRetriedClaimIsNew(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	breaks := true
	tap(r, func(command string, call func() (any, error)) (any, error) {
		reply, err := call()
		if breaks && reply != nil && command == "" {
			breaks = false
			return nil, io.ErrUnexpectedEOF
		}
		return reply, err
	})
	wantProgress(t, "a claim that was retried", r, "a", claim.New)
	wantProgress(t, "the same work", r, "a", claim.InFlight)
	if breaks || r.Fallbacks() > 0 {
		t.Errorf("the connection did not break, or %d calls were decided without Redis", r.Fallbacks())
	}
}

func TestNewWorkTakesASlotAtAnyReplica(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	for i, r := range []*Redis{one, two, one} {
		p, wait := r.Claim(t.Context(), fmt.Sprint(i), minutely)
		if p != claim.New || wait != 0 {
			t.Errorf("event %d: %d after %v", i, p, wait)
		}
	}
	p, wait := two.Claim(t.Context(), "one more", minutely)
	if p != claim.New || wait < 50*time.Second {
		t.Errorf("beyond the limit: %d after %v", p, wait)
	}
}

// countCommands returns the commands that s receives from now on.
func countCommands(s *miniredis.Miniredis) *[]string {
	var commands []string
	s.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		commands = append(commands, command)
		return false
	})
	return &commands
}

func TestClaimAndLimitsAreOneFlush(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	flushes := 0
	tap(r, func(command string, call func() (any, error)) (any, error) {
		reply, err := call()
		if reply != nil {
			flushes++
		}
		return reply, err
	})
	inAChat := ratelimit.Limit{Key: "chat", Burst: 9, Every: time.Minute}
	r.Claim(t.Context(), "loads the script", minutely, inAChat)
	flushes = 0
	commands := countCommands(s)
	r.Claim(t.Context(), "a", minutely, inAChat)
	got := (*commands)[:2] // The script's own commands follow.
	if !slices.Equal(got, []string{"SET", "EVALSHA"}) || flushes != 1 {
		t.Errorf("Redis got %q in %d flushes", got, flushes)
	}
}

// Redis does not know the script at first, and after a restart.
func TestAnUnknownScriptIsLoaded(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	commands := countCommands(s)
	p, wait := r.Claim(t.Context(), "a", ratelimit.Limit{Key: "a", Burst: 1, Every: time.Minute})
	if p != claim.New || wait != 0 || !slices.Contains(*commands, "EVAL") {
		t.Errorf("%d after %v; Redis got %q", p, wait, *commands)
	}
	_, wait = r.Claim(t.Context(), "b", ratelimit.Limit{Key: "a", Burst: 1, Every: time.Minute})
	if wait < 50*time.Second || r.Fallbacks() > 0 {
		t.Errorf("the second slot is due after %v; %d calls were decided without Redis", wait, r.Fallbacks())
	}
}
