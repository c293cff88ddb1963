package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"herald/internal/chat"
	"herald/internal/secret/logtest"
)

// offline is a Redis for calls that the test makes up.
func offline() (*Redis, *logtest.Buffer) {
	var log logtest.Buffer
	return &Redis{
		log: slog.New(slog.NewTextHandler(&log, nil)), timeout: callTimeout, back: make(chan struct{}, 1),
		circuit: circuitbreaker.NewBuilder[any]().WithDelay(retryPause).Build(),
	}, &log
}

// after is a call that is answered after a time.
func after(latency time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(latency):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestASlowRedisCostsACommandOneCall(t *testing.T) {
	for latency, want := range map[time.Duration]time.Duration{
		0: 0, time.Millisecond: 14 * time.Millisecond, callTimeout + 1: callTimeout, time.Hour: callTimeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := offline()
			start := time.Now()
			for range 14 {
				r.ask(t.Context(), after(latency))
			}
			if took := time.Since(start); took != want || r.Up() != (latency <= callTimeout) {
				t.Errorf("calls of %v cost %v, up %v", latency, took, r.Up())
			}
		})
	}
}

func TestAnOutageOfMoreThanASecondIsLoggedOnceAtBothEnds(t *testing.T) {
	for outage, lines := range map[time.Duration]int{400 * time.Millisecond: 0, 2 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			r, log := offline()
			start := time.Now()
			for asked := 0; asked == 0 || !r.Up(); asked++ {
				r.ask(t.Context(), func(context.Context) error {
					if time.Since(start) < outage {
						return errors.New("LOADING " + password)
					}
					return nil
				})
				time.Sleep(50 * time.Millisecond)
			}
			if took := time.Since(start); took > outage+retryPause+100*time.Millisecond {
				t.Errorf("after an outage of %v, Redis is asked again after %v", outage, took)
			}
			time.Sleep(2 * loggedAfter)
			got := log.String()
			if strings.Count(got, "\n") != lines || strings.Count(got, "redis answers again") != lines/2 || strings.Contains(got, password) {
				t.Errorf("an outage of %v is logged as %q, want %d lines", outage, got, lines)
			}
			select {
			case <-r.back:
			default:
				t.Error("the claims are not renewed")
			}
		})
	}
}

func TestALateAnswerDoesNotEndAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := offline()
		go r.ask(t.Context(), after(5*time.Millisecond))
		synctest.Wait()
		r.ask(t.Context(), func(context.Context) error { return errors.New("gone") })
		time.Sleep(2 * loggedAfter)
		if r.Up() || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("up %v, logged %s", r.Up(), log)
		}
	})
}

// TestAHandshakeIsNoPartOfACall has connecting take longer than a call may.
func TestAHandshakeIsNoPartOfACall(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	var handshakes atomic.Int32
	settings := &tls.Config{Certificates: certified.TLS.Certificates}
	settings.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		time.Sleep(2 * callTimeout) // the delay of the fake
		return nil, nil
	}
	s := miniredis.NewMiniRedis()
	if err := s.StartTLS(settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := newReplica(t, claimTime, "rediss://"+s.Addr()+"?skip_verify=true")
	r.Connect(t.Context())
	r.timeout = time.Minute // for a busy machine
	made := handshakes.Load()
	var commands sync.WaitGroup
	for i := range made {
		commands.Go(func() { r.Claim(t.Context(), fmt.Sprint(i)) })
	}
	commands.Wait()
	if made < connections/2 || handshakes.Load() != made || r.Fallbacks() != 0 {
		t.Errorf("%d handshakes before, %d after; %d calls decided alone", made, handshakes.Load(), r.Fallbacks())
	}
}

func TestAReplicaAloneDecidesByItself(t *testing.T) {
	refused := server(t)
	refused.RequireAuth("another " + password)
	nobody, mute := httptest.NewServer(nil), httptest.NewUnstartedServer(nil)
	nobody.Close()
	t.Cleanup(func() { mute.Listener.Close() })
	for _, test := range []struct{ what, addr, options, reason string }{
		{"nobody listens", nobody.Listener.Addr().String(), patient, "no connection"},
		{"nobody answers", mute.Listener.Addr().String(), "", "no answer in time"},
		{"the password is wrong", refused.Addr(), patient, "refused with WRONGPASS"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := newReplica(t, claimTime, "redis://:"+password+"@"+test.addr+test.options)
			limiter := r.Limiter(1)
			expect(t, "a new update", r.Claim(ctx, "a"), chat.New)
			expect(t, "a repeated one", r.Claim(ctx, "a"), chat.InFlight)
			r.Release(ctx, "a", true)
			expect(t, "an answered one", r.Claim(ctx, "a"), chat.Answered)
			if limiter.Allow(ctx, "k") != 0 || limiter.Allow(ctx, "k") < 50*time.Second {
				t.Error("the limit does not hold")
			}
			r.Save(ctx, "price", []byte("1"), time.Minute)
			if _, found := r.Load(ctx, "price"); found {
				t.Error("loaded from nowhere")
			}
			if _, known := r.Take(ctx, math.MaxInt64, chat.Rate{Key: "x", Every: time.Minute, Burst: 1}); known {
				t.Error("a turn is known without Redis")
			}
			if r.Fallbacks() != 7 {
				t.Errorf("%d calls were counted, want 7", r.Fallbacks())
			}
			if _, err := r.Probe(ctx); err == nil || err.Error() != "ping redis: "+test.reason {
				t.Errorf("a probe fails with %v", err)
			}
		})
	}
}

// A limit that is used up stays so when Redis is lost.
func TestLosingRedisGivesNobodyMore(t *testing.T) {
	s := server(t)
	l := replica(t, s).Limiter(3)
	for range 3 {
		wantWait(t, l, "a", 0)
	}
	s.SetError("LOADING")
	if wait := l.Allow(t.Context(), "a"); wait == 0 {
		t.Error("without Redis a fourth is allowed")
	}
	wantWait(t, l, "b", 0)
}

func TestACancelledCommandIsStillWrittenDown(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	one.Claim(ctx, "a")
	cancel()
	one.Release(ctx, "a", true)
	expect(t, "the same at another replica", two.Claim(t.Context(), "a"), chat.Answered)
}
