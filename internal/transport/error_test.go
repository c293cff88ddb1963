package transport_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/transport"
)

const token = "t0ken"

// failing calls baseURL with a token in its path and query, and returns the
// error as Clean leaves it, and as it was.
func failing(t *testing.T, c *http.Client, baseURL string) (clean, raw error) {
	t.Helper()
	resp, err := c.Post(baseURL+"/bot"+token+"/send?key="+token, "text/plain", strings.NewReader("body"))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Fatal("the call did not fail")
	}
	return transport.Clean(err), err
}

func TestCleanErrorsNameTheHostAlone(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, server := range map[string]*httptest.Server{
		"refused":   gone,
		"redirect":  httptest.NewServer(http.RedirectHandler("/elsewhere/"+token, http.StatusFound)),
		"not HTTP":  httptest.NewServer(hijacked(token + "\r\n\r\n")),
		"bad":       httptest.NewServer(hijacked("HTTP/1.1 " + token + "\r\n\r\n")),
		"header":    httptest.NewServer(hijacked("HTTP/1.1 200 OK\r\n" + token + "\r\n\r\n")),
		"length":    httptest.NewServer(hijacked("HTTP/1.1 200 OK\r\nContent-Length: " + token + "\r\n\r\n")),
		"transfer":  httptest.NewServer(hijacked("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + token + "\r\n\r\n")),
		"chunk":     httptest.NewServer(hijacked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + token + "\r\n")),
		"closed":    httptest.NewServer(hijacked("")),
		"truncated": httptest.NewServer(hijacked("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + token)),
	} {
		err, _ := failing(t, client(), server.URL)
		server.Close()
		host := strings.TrimPrefix(server.URL, "http://")
		var address *url.Error
		if errors.As(err, &address) || strings.Contains(fmt.Sprintf("%v %+v", err, err), token) || !strings.Contains(err.Error(), host) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func hijacked(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, answer)
		conn.Close()
	}
}

func TestCleanDropsTheURLOfAnyDepth(t *testing.T) {
	cause := errors.New("cause")
	deep := fmt.Errorf("outer: %w", &url.Error{Op: "Get", URL: token, Err: &url.Error{Op: "Get", URL: token, Err: cause}})
	if got := transport.Clean(deep); got != cause {
		t.Errorf("got %v", got)
	}
	if got := transport.Clean(cause); got != cause {
		t.Errorf("got %v", got)
	}
	for _, address := range []string{"http://host:" + token, "http://h%" + token, "://" + token, "http://a b/" + token} {
		_, err := http.NewRequest("GET", address, nil)
		if err == nil || strings.Contains(transport.Clean(err).Error(), token) {
			t.Errorf("%s: got %v", address, transport.Clean(err))
		}
	}
}

func TestTLSErrorsTellWhatIsWrong(t *testing.T) {
	here := []net.IP{{127, 0, 0, 1}}
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		certificate *x509.Certificate
		trusted     bool
		want        string
	}{
		"untrusted":  {&x509.Certificate{IPAddresses: here, NotAfter: later}, false, "authority"},
		"other name": {&x509.Certificate{DNSNames: []string{token + ".example"}, NotAfter: later}, true, "another host name"},
		"expired":    {&x509.Certificate{IPAddresses: here, NotAfter: earlier}, true, "expired"},
	} {
		server, pool := tlsServer(t, c.certificate)
		if !c.trusted {
			pool = x509.NewCertPool()
		}
		err, _ := failing(t, trusting(t, pool), server)
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) || !transport.NeverSent(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	err, _ := failing(t, client(), strings.Replace(plain.URL, "http:", "https:", 1))
	if !strings.Contains(err.Error(), "does not speak TLS") {
		t.Errorf("plain HTTP: got %v", err)
	}
}

func tlsServer(t *testing.T, template *x509.Certificate) (string, *x509.CertPool) {
	t.Helper()
	certificate, pool := certify(t, template)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, pool
}

// certify makes a certificate that signs itself, and the pool that trusts it.
func certify(t *testing.T, template *x509.Certificate) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.Subject = pkix.Name{CommonName: token}
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

// trusting makes a client that trusts the pool's certificates.
func trusting(t *testing.T, pool *x509.CertPool) *http.Client {
	changeDefault(t, func(d *http.Transport) { d.TLSClientConfig = &tls.Config{RootCAs: pool} })
	return client()
}

// changeDefault changes the default transport, which New copies, for one test.
func changeDefault(t *testing.T, change func(*http.Transport)) {
	original := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = original })
	changed := original.(*http.Transport).Clone()
	change(changed)
	http.DefaultTransport = changed
}

func TestNeverSentIsTrueOnlyWithProof(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, address := range []string{gone.URL, "http://nowhere.invalid"} {
		clean, raw := failing(t, client(), address)
		if !transport.NeverSent(clean) || !transport.NeverSent(raw) || !transport.NeverSent(fmt.Errorf("asking: %w", raw)) {
			t.Errorf("%s: %v is taken for sent", address, raw)
		}
	}
	for _, answer := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "no HTTP\r\n\r\n"} {
		server := httptest.NewServer(hijacked(answer))
		clean, raw := failing(t, client(), server.URL)
		server.Close()
		if transport.NeverSent(clean) || transport.NeverSent(raw) {
			t.Errorf("%q: %v is taken for never sent", answer, raw)
		}
	}
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for err, want := range map[error]bool{
		dial: true,
		&net.OpError{Op: "proxyconnect", Err: dial}:               true,
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}:         false,
		&net.OpError{Op: "write", Err: syscall.EPIPE}:             false,
		&net.DNSError{Name: "host"}:                               true,
		&transport.Error{Host: "host", Err: dial}:                 true,
		&transport.Error{Host: "host", Err: context.Canceled}:     false,
		&transport.Error{Host: "host", Err: io.ErrUnexpectedEOF}:  false,
		&transport.Error{Host: "host", Err: transport.ErrCorrupt}: false,
	} {
		if got := transport.NeverSent(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	if transport.NeverSent(nil) {
		t.Error("no error is taken for never sent")
	}
}
