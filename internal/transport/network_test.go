package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// network is a TLS server with HTTP/2 and the lines to it, in memory, so that it
// runs in a synctest bubble.
type network struct {
	accepted chan net.Conn
	closed   chan struct{}

	mu    sync.Mutex
	lines []*line
}

// newNetwork serves until the test ends, and makes the default transport dial
// there and trust it.
func newNetwork(t *testing.T, serve http.HandlerFunc) *network {
	t.Helper()
	n := &network{accepted: make(chan net.Conn), closed: make(chan struct{})}
	certificate, pool := certify(t, &x509.Certificate{DNSNames: []string{"api.example"}, NotAfter: time.Now().Add(24 * time.Hour)})
	changeDefault(t, func(d *http.Transport) {
		d.Proxy = nil
		d.TLSClientConfig = &tls.Config{RootCAs: pool}
		d.DialContext = n.dial
	})
	server := &http.Server{
		Handler:   serve,
		ErrorLog:  log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.ServeTLS(n, "", "")
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
		for _, l := range n.all() {
			l.cut()
		}
	})
	return n
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, nearEnd := net.Pipe()
	far, farEnd := net.Pipe()
	select {
	case n.accepted <- far:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l := &line{near: nearEnd, far: farEnd}
	go l.carry(farEnd, nearEnd)
	go l.carry(nearEnd, farEnd)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, l)
	return near, nil
}

func (n *network) all() []*line {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*line(nil), n.lines...)
}

// Accept, Close and Addr make network a net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { close(n.closed); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// line carries bytes between a client and the server until it falls silent:
// then both still write, and neither hears anything, not even an end.
type line struct {
	near, far net.Conn
	silent    atomic.Bool
}

func (l *line) carry(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if l.silent.Load() {
			if err != nil {
				return
			}
			continue
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			to.Close()
			return
		}
	}
}

func (l *line) cut() {
	l.near.Close()
	l.far.Close()
}
