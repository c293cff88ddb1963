package store

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/ratelimit"
)

// still is a replica that renews and tells Redis only when a test calls it.
func still(t *testing.T, s *miniredis.Miniredis) *Redis {
	t.Helper()
	r := replica(t, s)
	r.stop()
	r.maintaining.Wait()
	return r
}

// A claim lasts an hour unless it is renewed, and so does what is known of done work. A word
// after a replica is what its Claim returns.
func TestReplicasShareClaims(t *testing.T) {
	words := map[string]chat.Progress{"new": chat.New, "in-flight": chat.InFlight, "done": chat.Done}
	for _, story := range []string{
		"one new, one in-flight, two in-flight",
		"one new, one answers, one done, two in-flight, one tells, two done, two done, pass 59m, three done, pass 2m, four new",
		"one new, one gives-up, one tells, two new, one in-flight",
		// The release waits until the work is claimed again.
		"one new, one gives-up, one new, one tells, two in-flight, one answers, one tells, two done",
		"one new, pass 59m, one renews, pass 59m, two in-flight, pass 2m, three new",
		// The process is slow, not dead: it ends and renews nobody else's claim.
		"one new, pass 61m, two new, one gives-up, one tells, three in-flight",
		"one new, pass 61m, two new, pass 30m, one renews, pass 31m, three new",
		"one new, pass 61m, two new, one answers, one tells, three done, two renews, two gives-up, two tells, four done",
		"away, one new, one in-flight, two new, back, one renews, three in-flight, pass 61m, four new",
		"away, one new, one answers, one tells, one done, back, two new, one tells, three done",
		"one new, away, one answers, one tells, pass 30m, back, one tells, two done, two done, pass 59m, three done, pass 2m, four new",
		"one new, away, one gives-up, one tells, one new, back, one tells, one renews, two in-flight",
		"one new, one answers, one tells, one renews, two done",
	} {
		s := server(t)
		replicas := map[string]*Redis{}
		for _, name := range []string{"one", "two", "three", "four"} {
			replicas[name] = still(t, s)
		}
		for step := range strings.SplitSeq(story, ", ") {
			name, action, _ := strings.Cut(step, " ")
			r := replicas[name]
			switch {
			case name == "away":
				s.SetError("LOADING")
			case name == "back":
				s.SetError("")
				for _, r := range replicas {
					r.up.Store(true)
				}
			case name == "pass":
				d, err := time.ParseDuration(action)
				if err != nil {
					t.Fatal(err)
				}
				s.FastForward(d)
			case action == "answers", action == "gives-up":
				r.Release("a", action == "answers", time.Hour)
			case action == "tells":
				r.syncReleased(t.Context())
			case action == "renews":
				r.renew(t.Context())
			default:
				expect(t, step+" of "+story, r, "a", words[action])
			}
		}
	}
}

func TestEndedClaimsAreForgotten(t *testing.T) {
	r := still(t, server(t))
	for key, ttl := range map[string]time.Duration{"done": time.Hour, "given up": time.Hour, "done long ago": -time.Second} {
		expect(t, "new work", r, key, chat.New)
		r.Release(key, key != "given up", ttl)
	}
	if r.syncReleased(t.Context()); len(r.claims)+len(r.released) != 0 || r.Fallbacks() != 0 {
		t.Errorf("left are %v and %v; %d calls were decided without Redis", r.claims, r.released, r.Fallbacks())
	}
	for i := range maxDone + 1 { // while Redis is away
		r.Release(fmt.Sprint(i), false, 0)
	}
	r.Release("0", true, time.Hour) // It was claimed again, and is done now.
	if newest := r.released[r.claimKey("0")]; len(r.released) != maxDone || newest.value != done {
		t.Errorf("%d releases wait for Redis, want %d; the newest of one is %+v", len(r.released), maxDone, newest)
	}
	r.keepReleased(map[string]change{"failed to be told": {}, r.claimKey("0"): {}})
	if newest := r.released[r.claimKey("0")]; len(r.released) != maxDone || newest.value != done {
		t.Errorf("after a call that failed, %d releases wait, want %d; the newest of one is %+v", len(r.released), maxDone, newest)
	}
}

// Redis refuses a call, during which the work is claimed again and done.
func TestTheNewerReleaseWins(t *testing.T) {
	s := server(t)
	one, two := still(t, s), still(t, s)
	refuses := false
	tap(one, func(_ string, call func() (any, error)) (any, error) {
		if refuses {
			refuses = false
			one.Release("a", true, time.Hour)
			s.SetError("LOADING")
		}
		return call()
	})
	expect(t, "new work", one, "a", chat.New)
	one.Release("a", false, time.Hour)
	refuses = true
	one.syncReleased(t.Context())
	s.SetError("")
	one.up.Store(true)
	one.syncReleased(t.Context())
	expect(t, "work that was done at last", two, "a", chat.Done)
}

// A repeated delivery counts against no limit, and a refusal against none either: not here, at
// another replica, or once Redis is away.
func TestNewWorkCountsAgainstLimits(t *testing.T) {
	s, memory := server(t), NewMemory()
	one, two := still(t, s), still(t, s)
	for name, replicas := range map[string][2]interface {
		chat.Dedup
		ratelimit.Limiter
	}{"Memory": {memory, memory}, "Redis": {one, two}} {
		for i, step := range []struct {
			key     string
			replica int
			want    chat.Progress
			limited bool
		}{
			{"a", 0, chat.New, false}, {"a", 0, chat.InFlight, false}, {"a", 1, chat.InFlight, false}, {"b", 0, chat.New, false},
			{"c", 0, chat.New, false}, {"d", 0, chat.New, true}, {"e", 0, chat.New, true}, {"f", 0, chat.New, true}, {"f", 1, chat.InFlight, false},
		} {
			if got, wait := replicas[step.replica].Claim(t.Context(), step.key, minutely); got != step.want || wait > 0 != step.limited {
				t.Errorf("%s, step %d: %d after %v", name, i, got, wait)
			}
		}
		wantAll(t, name, replicas[1], minutely, 0, time.Minute)
	}
	s.SetError("LOADING")
	wantAll(t, "where they were counted", one, minutely, 0, time.Minute)
	wantAll(t, "where they were repeated", two, minutely, 3, time.Minute)
}

// Each call is one script, and so one round trip.
func TestACommandCostsOneScriptAndReleasesShareOne(t *testing.T) {
	s := server(t)
	var scripts atomic.Int32
	s.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if strings.HasPrefix(command, "EVAL") {
			scripts.Add(1)
		}
		return false
	})
	r := still(t, s)
	user := ratelimit.Limit{Key: "user", Count: 1000, Window: time.Minute}
	inAChat := ratelimit.Limit{Key: "chat", Count: 1000, Window: time.Minute}
	deliver := func() { r.Claim(t.Context(), time.Now().String(), user, inAChat) }
	deliver() // loads the script
	for what, c := range map[string]struct {
		want int32
		call func()
	}{
		"a delivery":          {1, deliver},
		"a polled command":    {1, func() { r.Reserve(t.Context(), 0, user, inAChat) }},
		"a release by itself": {0, func() { r.Release("a", true, time.Hour) }},
	} {
		scripts.Store(0)
		if c.call(); scripts.Load() != c.want {
			t.Errorf("%s: %d scripts, want %d", what, scripts.Load(), c.want)
		}
	}
	r.syncReleased(t.Context()) // loads its script
	for i := range maxBatch {
		r.Release(strings.Repeat("x", i), true, time.Hour)
	}
	scripts.Store(0)
	if r.syncReleased(t.Context()); scripts.Load() != 1 {
		t.Errorf("%d releases: %d scripts, want 1", maxBatch, scripts.Load())
	}
}

// What maintain does by itself.
func TestClaimsAreMaintained(t *testing.T) {
	t.Parallel()
	s := server(t)
	short, one, two := newReplica(t, time.Second, redisURL(s)), replica(t, s), still(t, s)
	lasts := func(what, key string, ttl time.Duration) {
		t.Helper()
		chattest.WaitUntil(t, what, func() bool { return s.TTL(one.claimKey(key)) >= ttl })
	}
	expect(t, "new work", short, "short", chat.New)
	for range 3 {
		s.FastForward(600 * time.Millisecond)
		lasts("the claim is renewed", "short", 900*time.Millisecond)
	}
	expect(t, "new work", one, "a", chat.New)
	one.Release("a", true, 2*time.Hour)
	lasts("Redis learns of the release", "a", time.Hour+time.Minute)

	expect(t, "new work", one, "before", chat.New)
	s.SetError("LOADING")
	expect(t, "work claimed while Redis is away", one, "meanwhile", chat.New)
	one.Release("before", true, 2*time.Hour)
	s.SetError("")
	lasts("Redis learns of the claim once it is back", "meanwhile", time.Minute)
	lasts("Redis learns of the release once it is back", "before", time.Hour+time.Minute)

	one.mu.Lock() // The last release, before maintain wakes.
	one.released[one.claimKey("last")] = change{value: done, until: time.Now().Add(time.Hour)}
	one.mu.Unlock()
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	expect(t, "work that was done before the end", two, "last", chat.Done)
}
