package faketest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Network is a network in memory: a listener, and the connections to it. A client and its
// server can run on it in simulated time.
type Network struct {
	// DialTime is how long connecting takes.
	DialTime time.Duration

	accepted chan net.Conn
	closed   chan struct{}
	closing  sync.Once

	mu    sync.Mutex
	lines []*line
}

// NewNetwork returns a network without connections.
func NewNetwork() *Network {
	return &Network{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener. Dial ignores addresses.
func (n *Network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Close implements net.Listener. Connections stay open.
func (n *Network) Close() error {
	n.closing.Do(func() { close(n.closed) })
	return nil
}

// Break closes all connections.
func (n *Network) Break() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		l.near.Close()
		l.far.Close()
	}
}

// Dial connects to the listener, whatever the address. It fails when ctx is done or the
// listener is closed.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, near := net.Pipe()
	far, server := net.Pipe()
	connected := time.NewTimer(n.DialTime)
	defer connected.Stop()
	select {
	case <-connected.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case n.accepted <- server:
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l := &line{near: near, far: far}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, l)
	go l.carry(far, near)
	go l.carry(near, far)
	return client, nil
}

// Lines returns how many connections were made.
func (n *Network) Lines() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.lines)
}

// Silence makes the connections made so far lose everything from now on. Closing one is not
// noticed either, as on a TCP connection whose other end is gone.
func (n *Network) Silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		l.silent.Store(true)
	}
}

// line carries bytes between the two ends of a connection. Unlike a net.Pipe, it takes
// what is written before the other end reads.
type line struct {
	near, far net.Conn
	silent    atomic.Bool
}

func (l *line) carry(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		silent := l.silent.Load()
		if err == nil && !silent {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			if !silent {
				to.Close()
			}
			return
		}
	}
}
