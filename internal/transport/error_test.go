package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/demo/fake/transporttest"
	"herald/internal/service/rest/resttest"
	"herald/internal/transport"
)

const token = "t0ken"

// failing calls baseURL with a token in its path and query, and returns the error after
// Clean.
func failing(t *testing.T, c *http.Client, baseURL string) error {
	t.Helper()
	resp, err := c.Post(baseURL+"/bot"+token+"/send?key="+token, "text/plain", strings.NewReader("body"))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Fatal("the call did not fail")
	}
	return transport.Clean(err)
}

func TestCleanErrorsNameTheHostAlone(t *testing.T) {
	for name, serve := range map[string]http.Handler{
		"moved":     http.RedirectHandler("/elsewhere/"+token, http.StatusFound),
		"not HTTP":  resttest.Broken(token+"\r\n\r\n", false),
		"header":    resttest.Broken("HTTP/1.1 200 OK\r\n"+token+"\r\n\r\n", false),
		"length":    resttest.Broken("HTTP/1.1 200 OK\r\nContent-Length: "+token+"\r\n\r\n", false),
		"chunk":     resttest.Broken("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+token+"\r\n", false),
		"closed":    resttest.Broken("", false),
		"truncated": resttest.Broken("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"+token, false),
	} {
		server := httptest.NewServer(serve)
		err := failing(t, client(), server.URL)
		server.Close()
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), token) || !strings.Contains(err.Error(), server.Listener.Addr().String()) {
			t.Errorf("%s: got %v", name, err)
		}
		if transport.NeverSent(err) {
			t.Errorf("%s: %v is taken for never sent", name, err)
		}
		words := map[string]string{"moved": "a redirect", "closed": "closed before a response", "truncated": "broke off"}
		if !strings.Contains(err.Error(), words[name]) {
			t.Errorf("%s: got %v, want %q", name, err, words[name])
		}
	}
}

func TestRedirectsAreErrors(t *testing.T) {
	for status, want := range map[int]error{299: nil, 300: transport.ErrRedirect, 308: transport.ErrRedirect, 399: transport.ErrRedirect, 400: nil} {
		_, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", status, err, want)
		}
	}
}

func TestCleanDropsTheURLOfAnyDepth(t *testing.T) {
	cause := errors.New("cause")
	deep := fmt.Errorf("outer: %w", &url.Error{Op: "Get", URL: token, Err: &url.Error{Op: "Get", URL: token, Err: cause}})
	if got := transport.Clean(deep); got != cause {
		t.Errorf("got %v", got)
	}
	for _, address := range []string{"http://host:" + token, "http://h%" + token, "://" + token} {
		_, err := http.NewRequest("GET", address, nil)
		if err == nil || strings.Contains(transport.Clean(err).Error(), token) {
			t.Errorf("%s: got %v", address, transport.Clean(err))
		}
	}
}

func TestTLSErrorsTellWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		certificate, _ := transporttest.Certify(t, &x509.Certificate{Subject: pkix.Name{CommonName: token}, NotAfter: time.Now().Add(time.Hour)})
		for want, serve := range map[string]func(net.Conn){
			"not signed by an authority": func(conn net.Conn) {
				tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}}).Handshake()
			},
			"does not speak TLS": func(conn net.Conn) {
				go io.Copy(io.Discard, conn)
				io.WriteString(conn, "HTTP/1.0 400 Bad Request\r\n\r\n")
			},
		} {
			transporttest.ChangeDefault(t, func(d *http.Transport) {
				d.Proxy, d.DialContext = nil, func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					go func() {
						defer far.Close()
						serve(far)
					}()
					return near, nil
				}
			})
			err := failing(t, client(), "https://127.0.0.1")
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) || !transport.NeverSent(err) {
				t.Errorf("%s: got %v", want, err)
			}
		}
	})
}

func TestNeverSentIsTrueOnlyWithProof(t *testing.T) {
	for _, address := range []string{transporttest.RefusedURL, "http://nowhere.invalid"} {
		err := failing(t, client(), address)
		if !transport.NeverSent(fmt.Errorf("asking: %w", err)) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v is taken for sent", address, err)
		}
	}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
	for text, c := range map[string]struct {
		err  error
		want bool
	}{
		"h: dial tcp: the time ran out":     {dial, true},
		"h: read: connection reset by peer": {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		"h: context canceled":               {context.Canceled, false},
		"h: the time ran out":               {context.DeadlineExceeded, false},
		"h: the answer broke off":           {io.ErrUnexpectedEOF, false},
	} {
		err := &transport.Error{Host: "h", Err: c.err}
		if got := transport.NeverSent(err); got != c.want || err.Error() != text || !errors.Is(err, c.err) {
			t.Errorf("%v, %v; want %q, %v", err, got, text, c.want)
		}
	}
}
