package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
)

// requestID is the header by which the tests know their requests.
const requestID = "X-Request-Id"

// balancer hands requests to the replicas in turn, as deploy/Caddyfile has Caddy
// do. What one answers with 503, or cannot be connected to for, goes to the next.
// A request whose connection breaks is answered with 502. One that is found not
// to be ready is asked last: the system breaks connections that come in the
// instant in which a process ends.
type balancer struct {
	URL string

	mu       sync.Mutex
	replicas []*e2etest.Process
	turn     int
	// handed is who has each request, or had it last.
	handed  map[string]*e2etest.Process
	unready map[*e2etest.Process]bool
}

func startBalancer(t *testing.T, replicas ...*e2etest.Process) *balancer {
	t.Helper()
	b := &balancer{replicas: replicas, handed: map[string]*e2etest.Process{}, unready: map[*e2etest.Process]bool{}}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     b,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(proxy.Close)
	b.URL = proxy.URL
	go b.watch(t.Context())
	return b
}

// watch asks the replicas whether they are ready until ctx is done.
func (b *balancer) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, replica := range b.next() {
			resp, err := http.Get(replica.URL + "/readyz")
			if err == nil {
				resp.Body.Close()
			}
			b.mu.Lock()
			b.unready[replica] = err != nil || resp.StatusCode != http.StatusOK
			b.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// replace puts one replica in another's place.
func (b *balancer) replace(old, with *e2etest.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas[slices.Index(b.replicas, old)] = with
}

// handedTo reports whether a replica has this request, or had it last.
func (b *balancer) handedTo(p *e2etest.Process, id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.handed[id] == p
}

// next are the replicas, in the order in which they are asked.
func (b *balancer) next() []*e2etest.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	first := b.turn % len(b.replicas)
	order := slices.Concat(b.replicas[first:], b.replicas[:first])
	slices.SortStableFunc(order, func(x, y *e2etest.Process) int {
		switch {
		case b.unready[x] == b.unready[y]:
			return 0
		case b.unready[y]:
			return -1
		}
		return 1
	})
	return order
}

// noKeepAlive has a connection for each request: one that was idle when its
// replica died would break what the replica never had.
var noKeepAlive = &http.Transport{DisableKeepAlives: true}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	for _, replica := range b.next() {
		if resp != nil {
			resp.Body.Close()
		}
		b.mu.Lock()
		b.handed[r.Header.Get(requestID)] = replica
		b.mu.Unlock()
		out, _ := http.NewRequestWithContext(r.Context(), r.Method, replica.URL+r.URL.Path, bytes.NewReader(body))
		out.Header = r.Header
		resp, err = noKeepAlive.RoundTrip(out)
		var refused *net.OpError
		if err == nil && resp.StatusCode != http.StatusServiceUnavailable || err != nil && !(errors.As(err, &refused) && refused.Op == "dial") {
			return resp, err
		}
	}
	return resp, err
}
