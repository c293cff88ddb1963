package discord

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialTime is how long it takes to connect, so that what happens between two
// connections happens in this order.
const dialTime = 50 * time.Millisecond

// Wire is a network in memory, as a listener and the way to it, so that a bot
// and its Discord can live in simulated time.
type Wire struct {
	// Dead swallows what is sent either way, on connections that stand.
	Dead     atomic.Bool
	accepted chan net.Conn
	closing  sync.Once
	closed   chan struct{}
}

// NewWire makes a network without connections.
func NewWire() *Wire { return &Wire{accepted: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (w *Wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.accepted:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *Wire) Close() error {
	w.closing.Do(func() { close(w.closed) })
	return nil
}

// Addr implements net.Listener.
func (w *Wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Dial connects to the listener, whatever the address, until ctx is done or
// the listener is closed. A client's dial can outlive the call that began it.
func (w *Wire) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	connected := time.NewTimer(dialTime)
	defer connected.Stop()
	select {
	case <-connected.C:
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	near, far := net.Pipe()
	select {
	case w.accepted <- far:
		l := &line{Conn: near, wire: w, out: make(chan []byte, 64), closed: make(chan struct{})}
		go l.carry()
		return l, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// line is the bot's end of a connection. Like a socket, and unlike a Pipe, it
// takes what is written before the other end reads it. Once the wire is dead
// nothing comes and what is written seems to go, as on a TCP connection whose
// other end is gone without a word.
type line struct {
	net.Conn
	wire    *Wire
	out     chan []byte
	closing sync.Once
	closed  chan struct{}
}

func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		switch {
		case !l.wire.Dead.Load():
			return n, err
		case errors.Is(err, io.EOF):
			// Not even the end of the other side's connection comes.
			<-l.closed
			return 0, net.ErrClosed
		case err != nil:
			return n, err
		}
	}
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case l.out <- bytes.Clone(p):
		return len(p), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

func (l *line) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Conn.Close()
}

func (l *line) carry() {
	for {
		select {
		case p := <-l.out:
			if l.wire.Dead.Load() {
				continue
			}
			if _, err := l.Conn.Write(p); err != nil {
				return
			}
		case <-l.closed:
			return
		}
	}
}
