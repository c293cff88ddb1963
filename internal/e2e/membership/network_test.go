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

// TestMain makes all HTTP clients dial the networks of worlds, which are in memory.
func TestMain(m *testing.M) {
	changed := http.DefaultTransport.(*http.Transport).Clone()
	changed.Proxy = nil
	changed.DialContext = dialWorld
	http.DefaultTransport = changed
	debug.SetGCPercent(400) // Each world is small, and there are hundreds.
	os.Exit(m.Run())
}

// worlds holds each *world by its name, which is a domain such as "world7.test".
var worlds sync.Map

// splitHost splits the name of a host of a world. Each process has hosts of its own, so that the world knows
// which process makes a call: process p0 calls the partner at "partner.p0.world7.test".
func splitHost(host string) (service, process, world string) {
	service, domain, _ := strings.Cut(host, ".")
	process, world, _ = strings.Cut(domain, ".")
	return service, process, world
}

// dialWorld connects a process to its world. It fails if the process is dead.
func dialWorld(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := strings.Cut(address, ":")
	_, label, name := splitHost(host)
	found, known := worlds.Load(name)
	if !known {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(host)}
	}
	w := found.(*world)
	p := w.process(label)
	if p == nil || p.dead.Load() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
	}
	return w.network.Dial(ctx, network, address)
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

// gate connects one process to Redis until it is shut. Redis runs outside of simulated time, so a gate must
// be made before simulated time begins.
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

// shut breaks all connections, and makes the gate refuse further ones.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.Close()
	for _, c := range g.conns {
		c.Close()
	}
}
