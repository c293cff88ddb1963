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
	"time"

	"herald/internal/transport"
)

const bound = 1 << 16

func client() *http.Client {
	return transport.New(transport.Options{Timeout: time.Minute, MaxBody: bound, MaxConns: 4})
}

// read asks a server once, and returns what it could read.
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

func TestAResponseIsReadUpToItsBound(t *testing.T) {
	for size, want := range map[int]error{bound: nil, bound + 1: transport.ErrBodyTooLarge} {
		body, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("compression is asked for, which is unbounded")
			}
			w.Write(make([]byte, size))
		})
		if !errors.Is(err, want) || len(body) != bound {
			t.Errorf("of %d bytes, %d are read: %v", size, len(body), err)
		}
	}
	_, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Text", strings.Repeat("x", 1<<20))
	})
	if err == nil {
		t.Error("a header of 1 MiB was read")
	}
}

func TestConnectionsAreReusedUpToTheirBound(t *testing.T) {
	// The server answers four requests at a time: with fewer connections it never
	// would, and with more it would see more.
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
	for _, calls := range []int{4, 16} { // the second meet idle connections
		var group sync.WaitGroup
		for range calls {
			group.Go(func() {
				if resp, err := c.Get(server.URL); err != nil {
					t.Error(err)
				} else {
					resp.Body.Close()
				}
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
	for name, limit := range map[string]time.Duration{"cancelled": time.Minute, "late": time.Minute, "limit": 30 * time.Millisecond} {
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
