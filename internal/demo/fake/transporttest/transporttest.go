// Package transporttest connects the HTTP clients of package transport to a server in memory. Its connections can stop
// delivering without being closed.
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

const host = "api.example"

// URL is the URL of the server of NewNetwork.
const URL = "https://" + host + "/"

// RefusedURL is a URL where every connection is refused, because no program listens on port 1.
const RefusedURL = "http://127.0.0.1:1"

// NewNetwork returns a network in memory with a server for HTTP/2 over TLS, which runs until the test ends. serve
// handles its requests. A client that transport.New returns before the end of the test connects to this server, for any
// URL, and trusts it. NewNetwork may be called in a synctest bubble.
func NewNetwork(t *testing.T, serve http.HandlerFunc) *faketest.Network {
	t.Helper()
	n := faketest.NewNetwork()
	certificate, pool := Certify(t, &x509.Certificate{
		DNSNames: []string{host},
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

// Certify makes a self-signed certificate, valid since an hour ago, and a pool that trusts it. It sets the template's
// SerialNumber and NotBefore.
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

// ChangeDefault changes http.DefaultTransport, which transport.New copies, until the test ends.
func ChangeDefault(t *testing.T, change func(*http.Transport)) {
	original := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = original })
	changed := original.(*http.Transport).Clone()
	change(changed)
	http.DefaultTransport = changed
}
