// Package membership tests what the whole bot promises about saved addresses, roles and tags
// (docs/members.md). Tapes of random events drive it in simulated time, with fakes of both platforms. A judge
// knows only what people did and what the chain said.
//
//	network_test.go    every host in memory, and gates of a Redis outside of simulated time
//	world_test.go      communities, people, chain and partner
//	settings_test.go   what an operator configures, and changes at a restart
//	process_test.go    a bot that is started, stopped and killed
//	fault_test.go      how services and communities fail
//	discord_test.go    what people do on Discord; telegram_test.go: on Telegram
//	person_test.go     what people press and send, and what they know
//	judge_test.go      what must hold
//	tape_test.go       random tapes, made of the events in events_test.go
//	fuse_test.go       a scripted tape of a fuse that blows
package membership

import (
	"context"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/demo/fake/faketest"
)

// worlds holds the *world of each domain.
var worlds sync.Map

// TestMain makes all clients dial the networks of worlds, in memory. A host is service.process.world.
func TestMain(m *testing.M) {
	changed := http.DefaultTransport.(*http.Transport).Clone()
	changed.Proxy = nil
	changed.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := strings.Cut(address, ":")
		_, domain, _ := strings.Cut(host, ".")
		label, domain, _ := strings.Cut(domain, ".")
		w, known := worlds.Load(domain)
		if !known {
			return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(host)}
		}
		p := w.(*world).process(label)
		if p == nil || p.dead.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
		}
		return w.(*world).network.Dial(ctx, network, address)
	}
	http.DefaultTransport = changed
	debug.SetGCPercent(400) // Each world is small, and there are hundreds.
	os.Exit(m.Run())
}

// serveIn serves h on n until the returned function is called, which blocks until all
// connections are closed.
func serveIn(n *faketest.Network, h http.Handler) (stop func()) {
	server := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(n)
	}()
	return func() {
		_ = server.Close()
		<-served
		n.Break()
	}
}

// gate connects one process to a Redis outside of simulated time, until it is shut.
type gate struct {
	net.Listener
	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

// newGate returns a gate to redis that is open until the test ends.
func newGate(t *testing.T, redis *miniredis.Miniredis) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l}
	t.Cleanup(g.shut)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.connect(conn, redis)
		}
	}()
	return g
}

func (g *gate) connect(conn net.Conn, redis *miniredis.Miniredis) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		conn.Close()
		return
	}
	g.conns = append(g.conns, conn)
	redis.Server().ServeConn(conn)
}

// shut breaks all connections, and accepts no more.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.Close()
	for _, c := range g.conns {
		c.Close()
	}
}
