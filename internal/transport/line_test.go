package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/transport"
	"herald/internal/transport/transporttest"
)

// callTimeout is what one call to a service has by default.
const callTimeout = 5 * time.Second

// post makes a call and returns what it failed with.
func post(c *http.Client) error {
	resp, err := c.Post(transporttest.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	if err == nil && resp.ProtoMajor != 2 {
		err = errors.New("the call was not made by HTTP/2")
	}
	return err
}

// connected makes a client with one connection in use.
func connected(t *testing.T, n *transporttest.Network) *http.Client {
	t.Helper()
	c := transport.New(transport.Options{Timeout: callTimeout, MaxBody: bound, MaxConns: 4})
	t.Cleanup(c.CloseIdleConnections)
	if err := post(c); err != nil {
		t.Fatal(err)
	}
	if lines := n.Lines(); lines != 1 {
		t.Fatalf("%d connections, want 1", lines)
	}
	return c
}

func TestASilentHTTP2ConnectionCostsOneCallAndThenANewOneIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transporttest.NewNetwork(t, func(http.ResponseWriter, *http.Request) {})
		c := connected(t, n)
		n.Silence()
		failed, longest := 0, time.Duration(0)
		for range 40 {
			start := time.Now()
			err := post(c)
			if err == nil {
				continue
			}
			failed++
			longest = max(longest, time.Since(start))
			if errors.Is(err, context.DeadlineExceeded) || transport.NeverSent(err) {
				t.Errorf("got %v", err)
			}
		}
		t.Logf("%d of 40 calls failed, after %v at most", failed, longest)
		// Whoever asked makes a call once more that fails before its time is up.
		if failed > 1 || longest >= callTimeout {
			t.Error("more than one, or too late to make it again")
		}
	})
}

func TestCallsUnderWayOnAConnectionThatFallsSilentFailBeforeTheirTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transporttest.NewNetwork(t, func(http.ResponseWriter, *http.Request) {})
		c := connected(t, n)
		n.Silence()
		start, results := time.Now(), make(chan error)
		for range 40 {
			go func() { results <- post(c) }()
		}
		for range 40 {
			if err := <-results; err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
		}
		for range 40 {
			go func() { results <- post(c) }()
		}
		for range 40 {
			if err := <-results; err != nil {
				t.Errorf("made once more: %v", err)
			}
		}
	})
}

func TestAConnectionThatFellSilentWhileIdleCostsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transporttest.NewNetwork(t, func(http.ResponseWriter, *http.Request) {})
		c := connected(t, n)
		n.Silence()
		time.Sleep(callTimeout)
		if err := post(c); err != nil {
			t.Error(err)
		}
	})
}

func TestASlowAnswerOnALivingConnectionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		n := transporttest.NewNetwork(t, func(_ http.ResponseWriter, r *http.Request) {
			if !slow.Load() {
				return
			}
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		})
		c := connected(t, n)
		slow.Store(true)
		poll := transport.New(transport.Options{MaxBody: bound, MaxConns: 1})
		defer poll.CloseIdleConnections()
		if err := post(poll); err != nil {
			t.Errorf("without a time limit of its own: %v", err)
		}
		if err := post(c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with one: %v", err)
		}
	})
}

// blackhole answers no dial.
func blackhole(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestWhatDoesNotGetThroughIsNeverSentAndKnownInFiveSeconds(t *testing.T) {
	mute := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		return near, nil
	}
	lateAndMute := func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(2 * time.Second)
		return mute(ctx, network, addr)
	}
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"blackholed": blackhole, "TLS hangs": mute, "late, and TLS hangs": lateAndMute,
	} {
		for _, limit := range []time.Duration{0, time.Minute, callTimeout, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				transporttest.ChangeDefault(t, func(d *http.Transport) { d.Proxy, d.DialContext = nil, dial })
				c := transport.New(transport.Options{Timeout: limit, MaxBody: bound, MaxConns: 1})
				start := time.Now()
				err := post(c)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("%s, limit %v: failed only after %v", name, limit, took)
				}
				if !transport.NeverSent(err) || !transport.NeverSent(transport.Clean(err)) {
					t.Errorf("%s, limit %v: %v is taken for sent", name, limit, err)
				}
				time.Sleep(5 * time.Second) // a dial goes on without its call
			})
		}
	}
}

func TestACallThatGivesUpBeforeItHasAConnectionIsNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transporttest.NewNetwork(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		transporttest.ChangeDefault(t, func(d *http.Transport) { d.DialContext = blackhole })
		c := transport.New(transport.Options{MaxBody: bound, MaxConns: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "POST", transporttest.URL, nil)
		if _, err := c.Do(req); !transport.NeverSent(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its own context: got %v", err)
		}
		time.Sleep(5 * time.Second)

		transporttest.ChangeDefault(t, func(d *http.Transport) { d.DialContext = n.Dial })
		c = transport.New(transport.Options{Timeout: time.Second, MaxBody: bound, MaxConns: 1})
		defer c.CloseIdleConnections()
		if err := post(c); transport.NeverSent(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("once the server has it: got %v", err)
		}
	})
}
