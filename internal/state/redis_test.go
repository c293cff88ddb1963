package state

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/redact/logtest"
)

const password = "hunter2-hunter2"

// patient has the bot wait for Redis as long as a busy machine may need.
const patient = "?read_timeout=20s"

// claimTime is how long claims last. The server's time is simulated, so that no
// claim is renewed by itself.
const claimTime = time.Hour

// replica makes one of several processes that share the server at addr, which
// options of the URL may follow.
func replica(t *testing.T, addr string, options ...string) (*Redis, *logtest.Buffer) {
	t.Helper()
	return replicaWithClaims(t, claimTime, addr, options...)
}

func replicaWithClaims(t *testing.T, claim time.Duration, addr string, options ...string) (*Redis, *logtest.Buffer) {
	t.Helper()
	var log logtest.Buffer
	url := "redis://:" + password + "@" + addr + "/0" + patient
	if len(options) > 0 {
		url = strings.Replace(url, patient, options[0], 1)
	}
	r, err := NewRedis(Settings{RedisURL: config.NewSecret(url)}, []byte("shared by the replicas"), claim,
		slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, &log
}

// impatient is the URL's end for a bot that waits no longer than it does by
// itself.
const impatient = ""

// eventually waits until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !done(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// awaitBack waits until Redis is asked again.
func awaitBack(t *testing.T, r *Redis) {
	t.Helper()
	eventually(t, "Redis is asked again", func() bool { return !r.breaker.open.Load() })
}

func server(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	s := miniredis.RunT(t)
	s.RequireAuth(password)
	return s
}

func TestReplicasShareUpdates(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
	expect(t, "a new update", one.Begin(ctx, "a"), chat.Fresh)
	expect(t, "the same at the same replica", one.Begin(ctx, "a"), chat.InHand)
	expect(t, "the same at another", two.Begin(ctx, "a"), chat.InHand)
	one.End(ctx, "a", true)
	expect(t, "an answered one at another", two.Begin(ctx, "a"), chat.Answered)

	expect(t, "a new update", one.Begin(ctx, "b"), chat.Fresh)
	one.End(ctx, "b", false)
	expect(t, "one given up, at another", two.Begin(ctx, "b"), chat.Fresh)
	if n := one.Fallbacks() + two.Fallbacks(); n != 0 {
		t.Errorf("%d calls were decided without Redis", n)
	}
}

func TestAnsweredUpdatesAreForgottenAfterADay(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, _ := replica(t, s.Addr())
	one.Begin(ctx, "a")
	one.End(ctx, "a", true)
	two, _ := replica(t, s.Addr())
	three, _ := replica(t, s.Addr())
	s.FastForward(remembered - time.Second)
	expect(t, "just under a day later", two.Begin(ctx, "a"), chat.Answered)
	s.FastForward(2 * time.Second)
	expect(t, "a day later", three.Begin(ctx, "a"), chat.Fresh)
}

func TestReplicasShareLimits(t *testing.T) {
	s := server(t)
	now := time.Unix(1_800_000_000, 0)
	s.SetTime(now)
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
	l := &alternating{one.Limiter(3), two.Limiter(3)}
	pass := func(d time.Duration) {
		now = now.Add(d)
		s.SetTime(now)
		s.FastForward(d)
	}
	wantWait(t, l, "a", 0)
	pass(10 * time.Second)
	wantWait(t, l, "a", 0)
	wantWait(t, l, "a", 0)
	wantWait(t, l, "b", 0)
	wantWait(t, l, "a", 50*time.Second)
	pass(49 * time.Second)
	wantWait(t, l, "a", time.Second) // the refused one was not counted
	pass(time.Second)
	wantWait(t, l, "a", 0)
	wantWait(t, l, "a", 10*time.Second)
	pass(10 * time.Second)
	wantWait(t, l, "a", 0)
	wantWait(t, l, "a", 0)
	wantWait(t, l, "a", 50*time.Second)
	pass(time.Minute)
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("after an idle minute the server still has %v", keys)
	}
	if n := one.Fallbacks() + two.Fallbacks(); n != 0 {
		t.Errorf("%d calls were decided without Redis", n)
	}
}

func TestNoLimitAsksNobody(t *testing.T) {
	s := server(t)
	r, _ := replica(t, s.Addr())
	l := r.Limiter(0)
	for range 1000 {
		wantWait(t, l, "a", 0)
	}
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("the server has %v", keys)
	}
}

// alternating asks two limiters in turn.
type alternating struct{ next, other chat.Limiter }

func (a *alternating) Allow(ctx context.Context, key string) time.Duration {
	a.next, a.other = a.other, a.next
	return a.other.Allow(ctx, key)
}

func TestReplicasShareAnswers(t *testing.T) {
	s := server(t)
	ctx := t.Context()
	one, _ := replica(t, s.Addr())
	two, _ := replica(t, s.Addr())
	if _, found := one.Load(ctx, "price"); found {
		t.Error("found what nobody saved")
	}
	one.Save(ctx, "price", []byte("1.5\x00"), time.Minute)
	if value, found := two.Load(ctx, "price"); !found || string(value) != "1.5\x00" {
		t.Errorf("loaded %q, %v", value, found)
	}
	s.FastForward(time.Minute)
	if _, found := two.Load(ctx, "price"); found {
		t.Error("found what has expired")
	}
	for size, fits := range map[int]bool{maxAnswer: true, maxAnswer + 1: false, 100 * maxAnswer: false} {
		one.Save(ctx, "large", make([]byte, size), time.Minute)
		if value, found := two.Load(ctx, "large"); found != fits || fits && len(value) != size {
			t.Errorf("of %d bytes %d are loaded, %v", size, len(value), found)
		}
	}
	if n := one.Fallbacks() + two.Fallbacks(); n != 0 {
		t.Errorf("%d calls were decided without Redis", n)
	}
}

func TestTheURLMayAllowACallMoreTime(t *testing.T) {
	s := miniredis.RunT(t)
	late(s, "EVALSHA", "GETRANGE")
	url := config.NewSecret("redis://" + s.Addr() + "?read_timeout=20s")
	r, err := NewRedis(Settings{RedisURL: url}, nil, time.Minute, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Begin(t.Context(), "a")
	r.Load(t.Context(), "price")
	if _, err := r.Probe(t.Context()); err != nil || r.Fallbacks() != 0 {
		t.Errorf("%d calls were decided without Redis, and a probe fails with %v", r.Fallbacks(), err)
	}
}

func TestRedisHoldsNoIDs(t *testing.T) {
	s := server(t)
	r, _ := replica(t, s.Addr())
	r.Begin(t.Context(), "telegram 987654321")
	r.Limiter(5).Allow(t.Context(), "telegram user 987654321")
	if dump := s.Dump(); len(s.Keys()) != 2 || strings.Contains(dump, "98765") {
		t.Errorf("the server has %s", dump)
	}
}

func TestMalformedURLIsNotRepeated(t *testing.T) {
	for _, url := range []string{"redis://:" + password + "@host/x", "http://" + password, "redis://:" + password + "@ho st", ""} {
		if _, err := NewRedis(Settings{RedisURL: config.NewSecret(url)}, nil, time.Minute, nil); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("the error is %v", err)
		}
	}
}

// mute accepts connections and never answers.
func mute(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open = append(open, conn)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
		for _, conn := range open {
			conn.Close()
		}
	})
	return listener.Addr().String()
}
