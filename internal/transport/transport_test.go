package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/transport"
)

const bound = 1 << 16

func client() *http.Client {
	return transport.New(transport.Options{Timeout: time.Minute, MaxBody: bound, MaxConns: 4})
}

func get(t *testing.T, serve http.HandlerFunc) ([]byte, error) {
	t.Helper()
	server := httptest.NewServer(serve)
	defer server.Close()
	resp, err := client().Get(server.URL)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func TestBodyUpToTheBoundIsRead(t *testing.T) {
	for size, want := range map[int]error{
		0: nil, 1: nil, bound - 1: nil, bound: nil,
		bound + 1: transport.ErrBodyTooLarge, 2 * bound: transport.ErrBodyTooLarge,
	} {
		body, err := get(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, size)) })
		if !errors.Is(err, want) || len(body) != min(size, bound) {
			t.Errorf("%d bytes: got %d, %v", size, len(body), err)
		}
	}
}

func TestGigabyteIsStoppedAtTheBound(t *testing.T) {
	sent := make(chan int, 1)
	body, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
		total, block := 0, make([]byte, 1<<20)
		for range 1 << 10 {
			n, err := w.Write(block)
			total += n
			if err != nil {
				break
			}
		}
		sent <- total
	})
	if !errors.Is(err, transport.ErrBodyTooLarge) || len(body) != bound {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
	// What the sockets' buffers took was sent as well.
	if n := <-sent; n > 64<<20 {
		t.Errorf("the server could send %d bytes", n)
	}
}

func TestGzipBombIsStoppedAtTheBound(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 100*bound))
	z.Close()
	if bomb.Len() >= bound {
		t.Fatalf("the bomb has %d bytes", bomb.Len())
	}
	body, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	})
	if !errors.Is(err, transport.ErrBodyTooLarge) || len(body) != bound {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
}

func TestBrokenCompressionIsTold(t *testing.T) {
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	z.Write([]byte(strings.Repeat("a body ", 100)))
	z.Close()
	spoilt := bytes.Clone(whole.Bytes())
	spoilt[len(spoilt)-8] ^= 1 // its checksum
	for name, c := range map[string]struct {
		body []byte
		want error
	}{
		"no gzip":        {[]byte("text that is no gzip"), transport.ErrCorrupt},
		"wrong checksum": {spoilt, transport.ErrCorrupt},
		"bad block":      {append(bytes.Clone(whole.Bytes()[:10]), 0xff, 0xff, 0xff, 0xff), transport.ErrCorrupt},
		"cut off":        {whole.Bytes()[:whole.Len()/2], io.ErrUnexpectedEOF},
	} {
		_, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(c.body)
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestRedirectsAreRefused(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer other.Close()
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308, 399} {
		_, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL+"/t0ken")
			w.WriteHeader(status)
		})
		if !errors.Is(err, transport.ErrRedirect) || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%d: got %v", status, err)
		}
	}
}

func TestConnectionsAreReusedUpToTheirBound(t *testing.T) {
	// The server answers once four requests are there: were fewer connections
	// allowed, it never would; were more, it would see more.
	waiting, together := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting <- struct{}{}
		<-together
	}))
	defer server.Close()
	var opened atomic.Int32
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if !i.Reused {
			opened.Add(1)
		}
	}}
	c, done := client(), make(chan error)
	call := func() {
		req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", server.URL, nil)
		resp, err := c.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}
	for _, calls := range []int{4, 4, 16} { // the second four meet idle connections
		for range calls {
			go call()
		}
		for range calls / 4 {
			for range 4 {
				<-waiting
			}
			for range 4 {
				together <- struct{}{}
			}
		}
		for range calls {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	if n := opened.Load(); n != 4 {
		t.Errorf("%d connections were opened, want 4", n)
	}
}

func TestHeaderIsBounded(t *testing.T) {
	for size, fits := range map[int]bool{128 << 10: true, 1 << 20: false} {
		_, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Text", strings.Repeat("x", size))
		})
		if (err == nil) != fits {
			t.Errorf("%d bytes: got %v", size, err)
		}
	}
}

func TestEndOfTheContextIsRecognisable(t *testing.T) {
	for name, want := range map[string]error{"cancelled": context.Canceled, "late": context.DeadlineExceeded} {
		for _, begun := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if name == "late" {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeoutCause(ctx, 50*time.Millisecond, errors.New("cause-with-t0ken"))
				defer stop()
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begun {
					io.WriteString(w, "part")
					w.(http.Flusher).Flush()
				}
				if name == "cancelled" && !begun {
					cancel(errors.New("cause-with-t0ken"))
				}
				<-r.Context().Done()
			}))
			req, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
			resp, err := client().Do(req)
			if err == nil {
				if name == "cancelled" {
					cancel(errors.New("cause-with-t0ken"))
				}
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if !errors.Is(err, want) || strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s, begun: %v: got %v", name, begun, err)
			}
			cancel(nil)
			server.Close()
		}
	}
}

func TestTimeLimitCoversTheBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	resp, err := transport.New(transport.Options{Timeout: 50 * time.Millisecond, MaxBody: 1, MaxConns: 1}).Get(server.URL)
	if err == nil {
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
