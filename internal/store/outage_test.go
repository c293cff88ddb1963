package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/secret/logtest"
)

func TestSlowRedisCostsACommandOneCall(t *testing.T) {
	t.Parallel()
	s := server(t)
	var loads atomic.Int32
	s.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if command == "GET" {
			loads.Add(1)
			time.Sleep(200 * time.Millisecond) // The fake is slow.
		}
		return false
	})
	r := newReplica(t, "redis://:"+password+"@"+s.Addr()+"?read_timeout=100ms", bot)
	for range 14 {
		if value, _ := r.Load(t.Context(), "price"); value != nil {
			t.Error("loaded from a Redis that does not answer in time")
		}
	}
	if got := loads.Load(); got > 2 {
		t.Errorf("Redis had %d calls, want 2: the two attempts of one call", got)
	}
	if got := r.Fallbacks(); got != 14 {
		t.Errorf("%d calls were decided without Redis, want 14", got)
	}
}

// watched is a Redis in simulated time. Its server is a fake that can be down.
type watched struct {
	*Redis
	isDown atomic.Bool
	log    logtest.Buffer
}

// newWatched returns a Redis that is up. Its watch runs until the test ends.
func newWatched(t *testing.T) *watched {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &watched{}
	w.Redis = &Redis{pool: &redis.Pool{}, memory: NewMemory(), log: w.log.Logger(), stop: stop}
	t.Cleanup(func() { w.Close() })
	w.pool.Dial = func() (redis.Conn, error) {
		end, _ := net.Pipe()
		return tapped{redis.NewConn(end, 0, 0), w.handle}, nil
	}
	w.up.Store(true)
	w.watching.Go(func() { w.watch(ctx) })
	return w
}

func (w *watched) handle(string, func() (any, error)) (any, error) {
	if w.isDown.Load() {
		return nil, errors.New("LOADING " + password)
	}
	return []any{"OK", []byte("a claim")}, nil
}

// simulateOutage makes the server unavailable for a time, which begins a millisecond after watch could have probed it.
// It checks that Redis is used again afterwards.
func (w *watched) simulateOutage(t *testing.T, lasts time.Duration) {
	t.Helper()
	time.Sleep(time.Until(time.Now().Truncate(probePause).Add(probePause + time.Millisecond)))
	w.isDown.Store(true)
	w.ask(t.Context(), command("PING"))
	time.Sleep(lasts)
	w.isDown.Store(false)
	if w.Up() {
		t.Error("Redis is used while it is unavailable")
	}
	time.Sleep(probePause)
	synctest.Wait()
	if !w.Up() {
		t.Errorf("after an outage of %v, Redis is not used again", lasts)
	}
}

func TestOutageIsLoggedAtBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		w.simulateOutage(t, 5*time.Second)
		w.simulateOutage(t, 5*time.Second)
		for text, want := range map[string]int{
			"\n":                      4,
			"using in-process state":  2,
			"redis can be used again": 2,
			password:                  0,
		} {
			if n := strings.Count(w.log.String(), text); n != want {
				t.Errorf("the log has %q %d times, want %d:\n%s", text, n, want, &w.log)
			}
		}
	})
}

func TestAShortOutageIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		w.simulateOutage(t, 400*time.Millisecond)
		w.simulateOutage(t, 400*time.Millisecond)
		if w.log.String() != "" {
			t.Errorf("logged %s", &w.log)
		}
	})
}

// startAgain starts s at addr. A connection of another test may use the port for a while, so startAgain tries several
// times.
func startAgain(t *testing.T, s *miniredis.Miniredis, addr string, settings *tls.Config) {
	t.Helper()
	var err error
	for range 200 {
		err = s.StartAddrTLS(addr, settings)
		if err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(err)
}

func TestRestartOfRedisCostsNoFallback(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	var handshakes atomic.Int32
	settings := &tls.Config{Certificates: certified.TLS.Certificates}
	settings.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		time.Sleep(50 * time.Millisecond) // The fake is slow.
		return nil, nil
	}
	s, err := miniredis.RunTLS(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := newReplica(t, "rediss://"+s.Addr()+"?read_timeout=1s&skip_verify=true", bot)
	for restart := range 4 {
		var commands sync.WaitGroup
		for i := range 100 {
			commands.Go(func() { wantProgress(t, "a new update", r, fmt.Sprint(restart, i), claim.New) })
		}
		commands.Wait()
		if got := r.Fallbacks(); got != 0 {
			t.Fatalf("restart %d: %d calls decided without Redis, want 0", restart, got)
		}
		addr := s.Addr()
		s.Close()
		startAgain(t, s, addr, settings)
	}
	if got, most := int(handshakes.Load()), 6*connections; got > most {
		t.Errorf("%d handshakes, want at most %d", got, most)
	}
}

// Telegram makes 100 deliveries at once, which is more than there are connections. In this test, there is one
// connection, and each call takes 200 ms. The last of seven calls waits for 1,200 ms, which is more than read_timeout.
func TestTheWaitForAConnectionIsNotPartOfACall(t *testing.T) {
	t.Parallel()
	s := server(t)
	s.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if command == "EVALSHA" {
			time.Sleep(200 * time.Millisecond) // The fake is slow.
		}
		return false
	})
	for range 3 { // On a busy machine, an attempt may fail.
		r := newReplica(t, "redis://:"+password+"@"+s.Addr()+"?read_timeout=500ms&pool_size=1", bot)
		var commands sync.WaitGroup
		for i := range 7 {
			commands.Go(func() { r.Claim(t.Context(), fmt.Sprint(i)) })
		}
		commands.Wait()
		if r.Fallbacks() == 0 {
			return
		}
	}
	t.Error("calls are decided without Redis")
}

// unusableServer is a server that a replica cannot use as its Redis.
type unusableServer struct {
	what    string
	scheme  string
	addr    string
	options string
	reason  string // in the error of a probe
}

func unusableServers(t *testing.T) []unusableServer {
	t.Helper()
	refused := server(t)
	refused.RequireAuth("another " + password)
	closed := httptest.NewServer(nil)
	closed.Close()
	mute := httptest.NewUnstartedServer(nil)
	t.Cleanup(func() { mute.Listener.Close() })
	untrusted := httptest.NewTLSServer(nil)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(untrusted.Close)
	return []unusableServer{
		{
			what:    "nobody listens",
			scheme:  "redis",
			addr:    closed.Listener.Addr().String(),
			options: patient,
			reason:  "no connection",
		},
		{
			what:    "nobody answers",
			scheme:  "redis",
			addr:    mute.Listener.Addr().String(),
			options: "",
			reason:  "no answer in time",
		},
		{
			what:    "the password is wrong",
			scheme:  "redis",
			addr:    refused.Addr(),
			options: patient,
			reason:  "refused with WRONGPASS",
		},
		{
			what:    "the certificate is anybody's",
			scheme:  "rediss",
			addr:    untrusted.Listener.Addr().String(),
			options: patient,
			reason:  "its certificate is not trusted",
		},
	}
}

func TestAReplicaWithoutRedisDecidesAlone(t *testing.T) {
	for _, test := range unusableServers(t) {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			r := newReplica(t, test.scheme+"://:"+password+"@"+test.addr+test.options, bot)
			wantProgress(t, "a new update", r, "a", claim.New)
			wantProgress(t, "a repeated one", r, "a", claim.InFlight)
			finish(t, r, "a", time.Hour)
			wantProgress(t, "an answered one", r, "a", claim.Done)
			wantSlots(t, test.what, r, minutely, 3)
			r.Save(ctx, "price", []byte("1"), time.Minute)
			if value, _ := r.Load(ctx, "price"); value != nil {
				t.Error("a value was loaded without Redis")
			}
			if r.Fallbacks() != 10 {
				t.Errorf("%d calls were decided without Redis, want 10", r.Fallbacks())
			}
			err := r.Probe(t.Context())
			if err == nil || err.Error() != "write to redis: "+test.reason {
				t.Errorf("a probe fails with %v", err)
			}
		})
	}
}

func TestAProbeLeavesNothing(t *testing.T) {
	s := server(t)
	if err := replica(t, s).Probe(t.Context()); err != nil {
		t.Error(err)
	}
	s.FastForward(time.Minute)
	if keys := s.Keys(); len(keys) > 0 {
		t.Errorf("it left %v", keys)
	}
}

func TestAProbeFailsIfRedisRefusesToWrite(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	for text, want := range map[string]string{
		"READONLY " + password: " with READONLY",
		"an error of its own":  "",
		"0123456789":           "", // A code has letters.
	} {
		s.SetError(text)
		err := r.Probe(t.Context())
		if err == nil || err.Error() != "write to redis: refused"+want {
			t.Errorf("%q: %v, want refused%s", text, err, want)
		}
		if r.Up() {
			t.Errorf("%q: Redis counts as up", text)
		}
	}
}
