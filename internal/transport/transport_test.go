package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/demo/fake/transporttest"
	"herald/internal/transport"
)

const bound = 1 << 16

func client() *http.Client {
	return transport.New(transport.Options{Timeout: time.Minute, MaxBody: bound, MaxConns: 4})
}

// read makes one call to a server, and returns what it could read of the body.
func read(ctx context.Context, limit time.Duration, serve http.HandlerFunc) ([]byte, error) {
	server := httptest.NewServer(serve)
	defer server.Close()
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := transport.New(transport.Options{Timeout: limit, MaxBody: bound, MaxConns: 1}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func TestABodyIsReadUpToItsLimit(t *testing.T) {
	for size, want := range map[int]error{bound: nil, bound + 1: transport.ErrBodyTooLarge} {
		body, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("the request accepts compression, which has no limit")
			}
			w.Write(make([]byte, size))
		})
		if !errors.Is(err, want) || len(body) != bound {
			t.Errorf("of %d bytes, %d are read: %v", size, len(body), err)
		}
	}
}

func TestALongHeaderIsRefused(t *testing.T) {
	_, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Text", strings.Repeat("x", 1<<20))
	})
	if err == nil {
		t.Error("a header of 1 MiB was read")
	}
}

func TestConnectionsAreReusedUpToTheirLimit(t *testing.T) {
	// The server answers four requests at a time. With fewer connections it would never answer, and
	// with more it would count more.
	var opened, waiting atomic.Int32
	together := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if waiting.Add(1)%4 != 0 {
			<-together
			return
		}
		for range 3 {
			together <- struct{}{}
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := client()
	for _, calls := range []int{4, 16} { // The second time, there are idle connections.
		var group sync.WaitGroup
		for range calls {
			group.Go(func() {
				resp, err := c.Get(server.URL)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			})
		}
		group.Wait()
	}
	if n := opened.Load(); n != 4 {
		t.Errorf("%d connections were opened, want 4", n)
	}
}

func TestTheEndOfACallIsRecognisable(t *testing.T) {
	cause := errors.New("cause-with-t0ken")
	for name, limit := range map[string]time.Duration{
		"cancelled": time.Minute,
		"late":      time.Minute,
		"limit":     30 * time.Millisecond,
	} {
		for _, begun := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			want := context.DeadlineExceeded
			switch name {
			case "late":
				late, stop := context.WithTimeoutCause(ctx, 30*time.Millisecond, cause)
				defer stop()
				ctx = late
			case "cancelled":
				want = context.Canceled
			}
			_, err := read(ctx, limit, func(w http.ResponseWriter, r *http.Request) {
				if begun {
					w.(http.Flusher).Flush()
				}
				if name == "cancelled" {
					cancel(cause)
				}
				<-r.Context().Done()
			})
			if !errors.Is(err, want) || strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s, begun: %v: got %v", name, begun, err)
			}
			cancel(nil)
		}
	}
}

// callTimeout is the default of UPSTREAM_TIMEOUT.
const callTimeout = 5 * time.Second

// post makes a call and returns its error.
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

func TestASilentHTTP2ConnectionIsDroppedInTime(t *testing.T) {
	for name, idle := range map[string]time.Duration{"in use": 0, "idle": callTimeout} {
		synctest.Test(t, func(t *testing.T) {
			n := transporttest.NewNetwork(t, func(http.ResponseWriter, *http.Request) {})
			c := transport.New(transport.Options{Timeout: callTimeout, MaxBody: bound, MaxConns: 4})
			t.Cleanup(c.CloseIdleConnections)
			if err := post(c); err != nil || n.Connections() != 1 {
				t.Fatalf("%d connections, want 1: %v", n.Connections(), err)
			}
			n.Silence()
			time.Sleep(idle)
			start, results := time.Now(), make(chan error)
			for round := range 2 {
				for range 40 {
					go func() { results <- post(c) }()
				}
				for range 40 {
					err, fails := <-results, idle == 0 && round == 0
					if (err != nil) != fails || errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s, round %d: got %v after %v", name, round, err, time.Since(start))
					}
				}
			}
		})
	}
}

func TestASlowAnswerOnALivingConnectionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transporttest.NewNetwork(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		})
		for limit, want := range map[time.Duration]error{0: nil, callTimeout: context.DeadlineExceeded} {
			c := transport.New(transport.Options{Timeout: limit, MaxBody: bound, MaxConns: 1})
			if err := post(c); !errors.Is(err, want) || transport.NeverSent(err) {
				t.Errorf("with a limit of %v: %v", limit, err)
			}
			c.CloseIdleConnections()
		}
	})
}

func TestAFailedDialIsNeverSentWithinFiveSeconds(t *testing.T) {
	blackhole := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
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
		"blackholed":          blackhole,
		"TLS hangs":           mute,
		"late, and TLS hangs": lateAndMute,
	} {
		for _, limit := range []time.Duration{0, time.Minute, callTimeout, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				transporttest.ChangeDefault(t, func(d *http.Transport) {
					d.Proxy = nil
					d.DialContext = dial
				})
				c := transport.New(transport.Options{Timeout: limit, MaxBody: bound, MaxConns: 1})
				start := time.Now()
				err := post(c)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("%s, limit %v: failed only after %v", name, limit, took)
				}
				if !transport.NeverSent(err) || !transport.NeverSent(transport.Clean(err)) {
					t.Errorf("%s, limit %v: %v counts as sent", name, limit, err)
				}
				time.Sleep(5 * time.Second) // A dial outlasts its call.
			})
		}
	}
}
