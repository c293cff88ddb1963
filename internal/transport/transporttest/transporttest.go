// Package transporttest is a network in memory, on which a line can fall
// silent, and what it takes to send a transport's clients there.
package transporttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// URL is where a Network's server is.
const URL = "https://api.example/"

// RefusedURL is where every connection is refused. No server is given a port as
// low as that, as it may be one that a closed server has left.
const RefusedURL = "http://127.0.0.1:1"

// Network is a TLS server with HTTP/2 and the lines to it, in memory, so that it
// runs in a synctest bubble.
type Network struct {
	accepted chan net.Conn
	closed   chan struct{}

	mu    sync.Mutex
	lines []*line
}

// NewNetwork serves until the test ends. Clients that transport.New makes until
// then are connected to it, whatever host they ask, and trust it.
func NewNetwork(t *testing.T, serve http.HandlerFunc) *Network {
	t.Helper()
	n := &Network{accepted: make(chan net.Conn), closed: make(chan struct{})}
	certificate, pool := Certify(t, &x509.Certificate{DNSNames: []string{"api.example"}, NotAfter: time.Now().Add(24 * time.Hour)})
	ChangeDefault(t, func(d *http.Transport) {
		d.Proxy = nil
		d.TLSClientConfig = &tls.Config{RootCAs: pool}
		d.DialContext = n.Dial
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
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, l := range n.lines {
			l.near.Close()
			l.far.Close()
		}
	})
	return n
}

// Dial opens a line.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// Lines counts the lines that were opened.
func (n *Network) Lines() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.lines)
}

// Silence makes all lines fall silent that were opened so far.
func (n *Network) Silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		l.silent.Store(true)
	}
}

// Accept implements net.Listener, for the server, as Close and Addr do.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (n *Network) Close() error { close(n.closed); return nil }

// Addr is no address in particular.
func (n *Network) Addr() net.Addr { return &net.TCPAddr{} }

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

// Certify makes a certificate from a template, to which it adds a serial number,
// a beginning and its own signature, and the pool that trusts it.
func Certify(t *testing.T, template *x509.Certificate) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.NotBefore = time.Now().Add(-time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(signed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// ChangeDefault changes the default transport, which transport.New copies, for
// one test.
func ChangeDefault(t *testing.T, change func(*http.Transport)) {
	original := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = original })
	changed := original.(*http.Transport).Clone()
	change(changed)
	http.DefaultTransport = changed
}
