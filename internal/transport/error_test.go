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

// cleanError makes a call that has the token in its path and query, and returns its error after Clean. The test fails
// if the call succeeds.
func cleanError(t *testing.T, c *http.Client, baseURL string) error {
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

func TestCleanErrorsNameOnlyTheHost(t *testing.T) {
	for name, test := range map[string]struct {
		serve http.Handler
		want  string // in the error
	}{
		"moved": {
			serve: http.RedirectHandler("/elsewhere/"+token, http.StatusFound),
			want:  "a redirect",
		},
		"not HTTP": {
			serve: resttest.Broken(token + "\r\n\r\n"),
		},
		"header": {
			serve: resttest.Broken("HTTP/1.1 200 OK\r\n" + token + "\r\n\r\n"),
		},
		"length": {
			serve: resttest.Broken("HTTP/1.1 200 OK\r\nContent-Length: " + token + "\r\n\r\n"),
		},
		"chunk": {
			serve: resttest.Broken("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + token + "\r\n"),
		},
		"closed": {
			serve: resttest.Broken(""),
			want:  "closed before a response",
		},
		"truncated": {
			serve: resttest.Broken("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + token),
			want:  "broke off",
		},
	} {
		server := httptest.NewServer(test.serve)
		err := cleanError(t, client(), server.URL)
		server.Close()
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), token) {
			t.Errorf("%s: the error repeats the token: %v", name, err)
		}
		if host := server.Listener.Addr().String(); !strings.Contains(err.Error(), host) {
			t.Errorf("%s: got %v, want %s in it", name, err, host)
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, test.want)
		}
		if transport.NeverSent(err) {
			t.Errorf("%s: %v counts as never sent", name, err)
		}
	}
}

func TestRedirectsAreErrors(t *testing.T) {
	for status, want := range map[int]error{
		299: nil,
		300: transport.ErrRedirect,
		308: transport.ErrRedirect,
		399: transport.ErrRedirect,
		400: nil,
	} {
		_, err := read(t.Context(), time.Minute, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		})
		if !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", status, err, want)
		}
	}
}

func TestCleanDropsNestedURLs(t *testing.T) {
	cause := errors.New("cause")
	deep := fmt.Errorf("outer: %w", &url.Error{
		Op:  "Get",
		URL: token,
		Err: &url.Error{Op: "Get", URL: token, Err: cause},
	})
	if got := transport.Clean(deep); got != cause {
		t.Errorf("got %v, want %v", got, cause)
	}
}

func TestCleanDropsAnInvalidURL(t *testing.T) {
	for _, address := range []string{"http://host:" + token, "http://h%" + token, "://" + token} {
		_, err := http.NewRequest("GET", address, nil)
		if err == nil || strings.Contains(transport.Clean(err).Error(), token) {
			t.Errorf("%s: got %v", address, transport.Clean(err))
		}
	}
}

// serveOverPipes makes serve answer every connection of clients that are made later.
func serveOverPipes(t *testing.T, serve func(net.Conn)) {
	transporttest.ChangeDefault(t, func(d *http.Transport) {
		d.Proxy = nil
		d.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				serve(far)
			}()
			return near, nil
		}
	})
}

func TestTLSErrorsNameTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		certificate, _ := transporttest.Certify(t, &x509.Certificate{
			Subject:  pkix.Name{CommonName: token},
			NotAfter: time.Now().Add(time.Hour),
		})
		for want, serve := range map[string]func(net.Conn){
			"not signed by an authority": func(conn net.Conn) {
				tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}}).Handshake()
			},
			"does not speak TLS": func(conn net.Conn) {
				go io.Copy(io.Discard, conn)
				io.WriteString(conn, "HTTP/1.0 400 Bad Request\r\n\r\n")
			},
		} {
			serveOverPipes(t, serve)
			err := cleanError(t, client(), "https://127.0.0.1")
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
				t.Errorf("got %v, want %s", err, want)
			}
			if !transport.NeverSent(err) {
				t.Errorf("%s: %v counts as sent", want, err)
			}
		}
	})
}

func TestACallWithoutAConnectionWasNeverSent(t *testing.T) {
	for _, address := range []string{transporttest.RefusedURL, "http://nowhere.invalid"} {
		err := cleanError(t, client(), address)
		if !transport.NeverSent(fmt.Errorf("asking: %w", err)) {
			t.Errorf("%s: %v counts as sent", address, err)
		}
		if strings.Contains(err.Error(), token) {
			t.Errorf("%s: the error repeats the token: %v", address, err)
		}
	}
}

func TestOnlyAFailedDialProvesThatACallWasNeverSent(t *testing.T) {
	for text, test := range map[string]struct {
		err       error
		neverSent bool
	}{
		"h: dial tcp: the time ran out": {
			err:       &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded},
			neverSent: true,
		},
		"h: read: connection reset by peer": {
			err: &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		},
		"h: context canceled": {
			err: context.Canceled,
		},
		"h: the time ran out": {
			err: context.DeadlineExceeded,
		},
		"h: the answer broke off": {
			err: io.ErrUnexpectedEOF,
		},
	} {
		err := &transport.Error{Host: "h", Err: test.err}
		if err.Error() != text || !errors.Is(err, test.err) {
			t.Errorf("got %v, want %q, which wraps %v", err, text, test.err)
		}
		if got := transport.NeverSent(err); got != test.neverSent {
			t.Errorf("%s: never sent is %t, want %t", text, got, test.neverSent)
		}
	}
}
