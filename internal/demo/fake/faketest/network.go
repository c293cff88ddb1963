package faketest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Network is a network in memory: a net.Listener, and the connections to it. A client and its server can use it in
// simulated time.
type Network struct {
	// DialTime is how long Dial takes.
	DialTime time.Duration

	accepted chan net.Conn
	closed   chan struct{} // closed by Close
	closing  sync.Once

	mu          sync.Mutex
	connections []*connection // all that were made, including those that have ended
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

// Addr implements net.Listener. The address has no meaning, because Dial ignores addresses.
func (n *Network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Close implements net.Listener. It leaves the connections open.
func (n *Network) Close() error {
	n.closing.Do(func() { close(n.closed) })
	return nil
}

// Break closes all connections.
func (n *Network) Break() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.connections {
		c.toClient.Close()
		c.toServer.Close()
	}
}

// Dial connects to the listener, and ignores the address. It blocks for DialTime and until Accept is called. It returns
// an error if ctx is done first or the listener is closed.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, toClient := net.Pipe()
	toServer, server := net.Pipe()
	dialed := time.NewTimer(n.DialTime)
	defer dialed.Stop()
	select {
	case <-dialed.C:
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
	c := &connection{toClient: toClient, toServer: toServer}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connections = append(n.connections, c)
	go c.forward(toClient, toServer)
	go c.forward(toServer, toClient)
	return client, nil
}

// Connections returns how many connections were made.
func (n *Network) Connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.connections)
}

// Silence makes all connections made so far lose the bytes that are written from now on. As on a TCP connection whose
// other end has lost power, neither end notices that the other one closes the connection.
func (n *Network) Silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.connections {
		c.silent.Store(true)
	}
}

// connection forwards bytes between a client and a server. Each has a net.Pipe to the connection. On one net.Pipe
// between them, a write would block until the other end reads.
type connection struct {
	toClient, toServer net.Conn
	silent             atomic.Bool
}

// forward writes everything that it reads from one end to the other, until either fails.
func (c *connection) forward(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		silent := c.silent.Load()
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
