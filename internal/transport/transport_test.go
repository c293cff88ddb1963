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

const maxBody = 1 << 16

func client() *http.Client {
	return transport.New(transport.Options{Timeout: time.Minute, MaxBody: maxBody, MaxConns: 4})
}

// read makes one call to a server that answers with serve, and returns what it could read of the body.
func read(ctx context.Context, timeout time.Duration, serve http.HandlerFunc) ([]byte, error) {
	server := httptest.NewServer(serve)
	defer server.Close()
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := transport.New(transport.Options{Timeout: timeout, MaxBody: maxBody, MaxConns: 1}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func TestABodyIsReadUpToItsLimit(t *testing.T) {
	for size, want := range map[int]error{maxBody: nil, maxBody + 1: transport.ErrBodyTooLarge} {
		body, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("the request accepts compression, which has no limit")
			}
			w.Write(make([]byte, size))
		})
		if !errors.Is(err, want) || len(body) != maxBody {
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
	// The server answers only when four requests have arrived, and then all four. If the client opened fewer than four
	// connections, the server would never answer.
	var opened, arrived atomic.Int32
	together := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if arrived.Add(1)%4 != 0 {
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
	for _, calls := range []int{4, 16} { // The 16 calls find idle connections.
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

// A call that does not complete returns the error of its context, without the context's cause. It makes no difference
// whether the response has begun.
func TestTheEndOfACallIsRecognizable(t *testing.T) {
	const soon = 30 * time.Millisecond
	cause := errors.New("cause-with-t0ken")
	for _, hasBegun := range []bool{false, true} {
		hang := func(w http.ResponseWriter, r *http.Request) {
			if hasBegun {
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}
		check := func(name string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) || strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s, the response has begun: %t: got %v, want %v", name, hasBegun, err, want)
			}
		}

		_, err := read(t.Context(), soon, hang)
		check("the client's timeout", err, context.DeadlineExceeded)

		late, stop := context.WithTimeoutCause(t.Context(), soon, cause)
		defer stop()
		_, err = read(late, time.Minute, hang)
		check("the context's deadline", err, context.DeadlineExceeded)

		cancelled, cancel := context.WithCancelCause(t.Context())
		_, err = read(cancelled, time.Minute, func(w http.ResponseWriter, r *http.Request) {
			if hasBegun {
				w.(http.Flusher).Flush()
			}
			cancel(cause)
			<-r.Context().Done()
		})
		check("a cancelled context", err, context.Canceled)
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
			c := transport.New(transport.Options{Timeout: callTimeout, MaxBody: maxBody, MaxConns: 4})
			t.Cleanup(c.CloseIdleConnections)
			if err := post(c); err != nil || n.Lines() != 1 {
				t.Fatalf("%d connections, want 1: %v", n.Lines(), err)
			}
			n.Silence()
			time.Sleep(idle)
			start := time.Now()
			results := make(chan error)
			for round := range 2 {
				// The calls that use the silent connection fail, but not by their timeout. Later calls use a new one.
				shouldFail := idle == 0 && round == 0
				for range 40 {
					go func() { results <- post(c) }()
				}
				for range 40 {
					err := <-results
					hasFailed := err != nil
					if hasFailed != shouldFail || errors.Is(err, context.DeadlineExceeded) {
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
		for timeout, want := range map[time.Duration]error{0: nil, callTimeout: context.DeadlineExceeded} {
			c := transport.New(transport.Options{Timeout: timeout, MaxBody: maxBody, MaxConns: 1})
			if err := post(c); !errors.Is(err, want) || transport.NeverSent(err) {
				t.Errorf("with a timeout of %v: %v", timeout, err)
			}
			c.CloseIdleConnections()
		}
	})
}

func TestAFailedDialIsNeverSentWithinFiveSeconds(t *testing.T) {
	neverConnect := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	neverAnswer := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		return near, nil
	}
	connectLate := func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(2 * time.Second)
		return neverAnswer(ctx, network, addr)
	}
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"no connection":                         neverConnect,
		"a connection, and TLS hangs":           neverAnswer,
		"after 2 s a connection, and TLS hangs": connectLate,
	} {
		for _, timeout := range []time.Duration{0, time.Minute, callTimeout, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				transporttest.ChangeDefault(t, func(d *http.Transport) {
					d.Proxy = nil
					d.DialContext = dial
				})
				c := transport.New(transport.Options{Timeout: timeout, MaxBody: maxBody, MaxConns: 1})
				start := time.Now()
				err := post(c)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("%s, timeout %v: failed only after %v", name, timeout, took)
				}
				if !transport.NeverSent(err) || !transport.NeverSent(transport.Clean(err)) {
					t.Errorf("%s, timeout %v: %v counts as sent", name, timeout, err)
				}
				time.Sleep(5 * time.Second) // The dial goes on after the call has ended.
			})
		}
	}
}
