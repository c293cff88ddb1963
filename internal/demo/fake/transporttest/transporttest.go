// Package transporttest connects a transport's clients to a server in memory, over connections that can fall silent.
package transporttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"testing"
	"time"

	"herald/internal/demo/fake/faketest"
)

// URL is where a network's server is.
const URL = "https://api.example/"

// RefusedURL refuses every connection: nothing listens on so low a port.
const RefusedURL = "http://127.0.0.1:1"

// NewNetwork serves TLS and HTTP/2 in memory until the test ends, so that it runs
// in a synctest bubble. Clients that transport.New makes until then are connected
// to it, whatever host they ask, and trust it.
func NewNetwork(t *testing.T, serve http.HandlerFunc) *faketest.Network {
	t.Helper()
	n := faketest.NewNetwork()
	certificate, pool := Certify(t, &x509.Certificate{
		DNSNames: []string{"api.example"},
		NotAfter: time.Now().Add(24 * time.Hour),
	})
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
		n.Break()
	})
	return n
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
