package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/secret/logtest"
)

// answer stands for a Redis: it is called in place of each command.
type answer func(ctx context.Context) error

func (a answer) DialHook(next redis.DialHook) redis.DialHook { return next }
func (a answer) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, _ redis.Cmder) error { return a(ctx) }
}
func (a answer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// inTime runs a test in simulated time, with a Redis that answers so, and with
// what checks it.
func inTime(t *testing.T, a answer, test func(t *testing.T, r *Redis, log *logtest.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Buffer
		r := &Redis{client: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", PoolSize: 1}), memory: NewMemory(), log: log.Logger(),
			claim: claimTime, timeout: callTimeout, turn: make(chan struct{}, 1), updates: map[string]time.Time{}}
		defer r.client.Close()
		r.client.AddHook(a)
		r.up.Store(true)
		ctx, stop := context.WithCancel(t.Context())
		r.maintaining.Go(func() { r.maintain(ctx) })
		test(t, r, &log)
		stop()
		r.maintaining.Wait()
	})
}

func ping(r *Redis) func(context.Context) error {
	return func(ctx context.Context) error { return r.client.Ping(ctx).Err() }
}

func TestASlowRedisCostsACommandOneCall(t *testing.T) {
	for latency, want := range map[time.Duration]time.Duration{
		0: 0, time.Millisecond: 14 * time.Millisecond, callTimeout + 1: callTimeout, time.Hour: callTimeout,
	} {
		slow := func(ctx context.Context) error {
			select {
			case <-time.After(latency):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		inTime(t, slow, func(t *testing.T, r *Redis, _ *logtest.Buffer) {
			start := time.Now()
			for range 14 {
				r.ask(t.Context(), ping(r))
			}
			if took := time.Since(start); took != want || r.Up() != (latency <= callTimeout) {
				t.Errorf("calls of %v cost %v, up %v", latency, took, r.Up())
			}
		})
	}
}

func TestAnOutageOfMoreThanASecondIsLoggedOnceAtBothEnds(t *testing.T) {
	for outage, lines := range map[time.Duration]int{400 * time.Millisecond: 0, 5 * time.Second: 2} {
		var away atomic.Bool
		refuse := func(context.Context) error {
			if away.Load() {
				return errors.New("LOADING " + password)
			}
			return nil
		}
		inTime(t, refuse, func(t *testing.T, r *Redis, log *logtest.Buffer) {
			time.Sleep(time.Millisecond)
			away.Store(true)
			r.ask(t.Context(), ping(r))
			time.Sleep(outage)
			away.Store(false)
			if r.Up() {
				t.Error("it is asked while it is away")
			}
			time.Sleep(checkPause)
			synctest.Wait()
			got := log.String()
			if !r.Up() || strings.Count(got, "\n") != lines || strings.Count(got, "using in-process state") != lines/2 ||
				strings.Count(got, "redis answers again") != lines/2 || strings.Contains(got, password) {
				t.Errorf("an outage of %v is logged as %q, want %d lines; up %t", outage, got, lines, r.Up())
			}
		})
	}
}

func TestARedisThatIsAwayAtStartIsLoggedBeforeAnybodyAsks(t *testing.T) {
	refuse := func(context.Context) error { return errors.New("LOADING " + password) }
	inTime(t, refuse, func(t *testing.T, r *Redis, log *logtest.Buffer) {
		if err := r.Probe(t.Context()); err == nil || r.Up() {
			t.Errorf("%v, up %t", err, r.Up())
		}
		time.Sleep(2 * checkPause)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "using in-process state") {
			t.Errorf("logged %q", got)
		}
	})
}

// slowTLS is a Redis whose handshakes take longer than a call may, and whose certificate is
// trusted by a pool alone. It counts the handshakes.
func slowTLS(t *testing.T) (s *miniredis.Miniredis, trusted *x509.CertPool, handshakes *atomic.Int32) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	handshakes = new(atomic.Int32)
	settings := &tls.Config{Certificates: certified.TLS.Certificates}
	settings.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		time.Sleep(2 * callTimeout) // the delay of the fake
		return nil, nil
	}
	s = miniredis.NewMiniRedis()
	if err := s.StartTLS(settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, certified.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, handshakes
}

func TestAHandshakeIsNoPartOfACall(t *testing.T) {
	s, trusted, handshakes := slowTLS(t)
	var all dialled
	r := newReplica(t, claimTime, "rediss://"+s.Addr())
	r.client.Options().TLSConfig.RootCAs = trusted
	r.client.AddHook(&all)
	r.timeout = time.Minute // for a busy machine
	made, lost := 0, connections
	for _, next := range []int{connections, connections / 2, 1, 0} {
		if err := r.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		var commands sync.WaitGroup
		for i := range 3 * connections {
			commands.Go(func() { r.Claim(t.Context(), fmt.Sprint(i)) })
		}
		commands.Wait()
		if made += lost; int(handshakes.Load()) != made || r.Fallbacks() != 0 {
			t.Fatalf("%d handshakes, want %d; %d calls decided without Redis", handshakes.Load(), made, r.Fallbacks())
		}
		lost = next
		for _, conn := range all.conns[made-lost:] {
			conn.Close() // as in a restart
		}
	}
}

// dialled notes the connections that are made.
type dialled struct {
	answer
	mu    sync.Mutex
	conns []net.Conn
}

func (d *dialled) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (d *dialled) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns = append(d.conns, conn)
		return conn, err
	}
}

// Telegram makes 100 deliveries at once, and there are fewer connections.
func TestTheWaitForAConnectionIsNoPartOfACall(t *testing.T) {
	t.Parallel()
	s := server(t)
	s.Server().SetPreHook(func(*miniserver.Peer, string, ...string) bool {
		time.Sleep(5 * time.Millisecond) // the delay of the fake
		return false
	})
	r := newReplica(t, claimTime, redisURL(s)+"&pool_size=1")
	r.timeout = 100 * time.Millisecond
	var commands sync.WaitGroup
	for i := range 25 {
		commands.Go(func() { r.Claim(t.Context(), fmt.Sprint(i)) })
	}
	commands.Wait()
	if n := r.Fallbacks(); n != 0 {
		t.Errorf("%d calls decided without Redis", n)
	}
}

// A server that closes connections which are idle sees none that is.
func TestNoConnectionIsIdleForLong(t *testing.T) {
	t.Parallel()
	s := server(t)
	var mu sync.Mutex
	pinged := map[*miniserver.Peer]int{}
	r := newReplica(t, time.Second, redisURL(s)+"&pool_size=4")
	if err := r.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Server().SetPreHook(func(c *miniserver.Peer, command string, _ ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		if command == "PING" {
			pinged[c]++
		}
		return false
	})
	chattest.WaitUntil(t, "each connection is used three times", func() bool {
		mu.Lock()
		defer mu.Unlock()
		used := 0
		for _, n := range pinged {
			if n >= 3 {
				used++
			}
		}
		return used == s.CurrentConnectionCount() && used > 0
	})
}

func TestAReplicaAloneDecidesByItself(t *testing.T) {
	refused := server(t)
	refused.RequireAuth("another " + password)
	untrusted, _, _ := slowTLS(t)
	nobody, mute := httptest.NewServer(nil), httptest.NewUnstartedServer(nil)
	nobody.Close()
	t.Cleanup(func() { mute.Listener.Close() })
	for _, test := range []struct{ what, scheme, addr, options, reason string }{
		{"nobody listens", "redis", nobody.Listener.Addr().String(), patient, "no connection"},
		{"nobody answers", "redis", mute.Listener.Addr().String(), "", "no answer in time"},
		{"the password is wrong", "redis", refused.Addr(), patient, "refused with WRONGPASS"},
		{"the certificate is anybody's", "rediss", untrusted.Addr(), patient, "its certificate is not trusted"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := newReplica(t, claimTime, test.scheme+"://:"+password+"@"+test.addr+test.options)
			expect(t, "a new update", r.Claim(ctx, "a"), chat.New)
			expect(t, "a repeated one", r.Claim(ctx, "a"), chat.InFlight)
			r.Release(ctx, "a", true, time.Hour)
			expect(t, "an answered one", r.Claim(ctx, "a"), chat.Answered)
			wantAll(t, test.what, r, minutely, 3, time.Minute)
			r.Save(ctx, "price", []byte("1"), time.Minute)
			if _, found := r.Load(ctx, "price"); found {
				t.Error("loaded from nowhere")
			}
			if r.Fallbacks() != 8 {
				t.Errorf("%d calls were counted, want 8", r.Fallbacks())
			}
			if err := r.Probe(ctx); err == nil || err.Error() != "write to redis: "+test.reason {
				t.Errorf("a probe fails with %v", err)
			}
		})
	}
}

func TestACancelledCommandIsStillWrittenDown(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	one.Claim(ctx, "a")
	cancel()
	one.Release(ctx, "a", true, time.Hour)
	expect(t, "the same at another replica", two.Claim(t.Context(), "a"), chat.Answered)
}

func TestProbeFailsWhereTheBotCouldNotWork(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	if err := r.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	s.FastForward(time.Second)
	if keys := s.Keys(); len(keys) > 0 {
		t.Errorf("it left %v", keys)
	}
	r.timeout = time.Nanosecond
	if err := r.Probe(t.Context()); err == nil || err.Error() != "write to redis: no answer in time" {
		t.Errorf("a slow one: %v", err)
	}
	r.timeout = time.Minute
	for text, want := range map[string]string{"READONLY " + password: " with READONLY", "an error of its own": ""} {
		s.SetError(text)
		if err := r.Probe(t.Context()); err == nil || err.Error() != "write to redis: refused"+want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
