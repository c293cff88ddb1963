// Package resttest tests clients of services against servers on loopback. The connections, transfers and answers of
// these servers fail in every way that a client must survive.
package resttest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/demo/fake/transporttest"
)

// fault is a way in which a service fails to answer. It has either serve or url.
type fault struct {
	name           string
	serve          http.HandlerFunc // the service
	url            string           // of a service that cannot be reached
	want           core.Reason
	wantRetryAfter time.Duration
}

// Time limits of the calls that Check makes.
const (
	ample = time.Minute
	// short is for faults that never answer. It is long enough to connect.
	short = 200 * time.Millisecond
)

// discard is where net/http's servers log their broken connections.
var discard = log.New(io.Discard, "", 0)

// Check calls ask once for each fault. ask must make a call to a service at baseURL, with this time limit, and return
// the call's error. Check fails the test unless that is a *core.Error with the reason and the wait of the fault. The
// text of the error must not contain any of the secrets, any part of the URL except its host, or anything that the
// service answered. The secrets should include the paths and queries that ask requests. Check also cancels a call
// halfway.
func Check(
	t *testing.T, ask func(ctx context.Context, baseURL string, timeout time.Duration) error, secrets ...string,
) {
	t.Helper()
	secrets = append(slices.Clip(secrets), echoed, "://", "?")
	for _, f := range faults(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if f.serve != nil {
				server := httptest.NewUnstartedServer(f.serve)
				server.Config.ErrorLog = discard
				server.Start()
				defer server.Close()
				f.url = server.URL
			}
			timeout := ample
			if f.want == core.SlowAnswer {
				timeout = short
			}
			err := ask(t.Context(), f.url, timeout)
			failure := WantReason(t, err, nil, f.want, secrets...)
			if failure.RetryAfter != f.wantRetryAfter {
				t.Errorf("got %v, retry after %v; want %v", err, failure.RetryAfter, f.wantRetryAfter)
			}
		})
	}
	t.Run("cancelled halfway", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		url := Serve(t, func(w http.ResponseWriter, r *http.Request) {
			cancel(errors.New(echoed))
			hang(w, r)
		})
		err := ask(ctx, url, ample)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want one that is context.Canceled", err)
		}
		wantNoLeak(t, err, echoed)
	})
}

// Serve starts a server until the test ends, and returns its URL.
func Serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// WantReason ends the test unless err is a *core.Error with this reason and of this service. If service is nil, it may
// be of any service. WantReason fails the test if the text of the error contains a secret. It returns the *core.Error.
func WantReason(t *testing.T, err error, service *core.Service, want core.Reason, secrets ...string) *core.Error {
	t.Helper()
	failure, isFailure := errors.AsType[*core.Error](err)
	if !isFailure || failure.Reason != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	if service != nil && failure.Service != service {
		t.Fatalf("got an error of %s, want one of %s", failure.Service.Name, service.Name)
	}
	wantNoLeak(t, err, secrets...)
	return failure
}

// wantNoLeak fails the test if the text of err, or of an error that it wraps, contains one of the secrets. It also
// fails if err wraps a *url.Error, which contains the whole URL.
func wantNoLeak(t *testing.T, err error, secrets ...string) {
	t.Helper()
	var address *url.Error
	if errors.As(err, &address) {
		t.Error("the error wraps a *url.Error")
	}
	for ; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for _, s := range secrets {
			if s != "" && strings.Contains(text, s) {
				t.Errorf("the error contains %q: %s", s, text)
			}
		}
	}
}

// echoed is part of every answer of the failing services. An error must not repeat it.
const echoed = "echo-of-the-service"

const html = "<!doctype html><title>" + echoed + "</title>"

// faults returns all ways to fail.
func faults(t *testing.T) []fault {
	hourAgo := time.Now().Add(-time.Hour).UTC()
	all := []fault{
		{name: "html", want: core.Malformed, serve: answer(200, html)},
		{name: "a part of a number", want: core.Malformed, serve: answer(206, "5")},
		{name: "gzip bomb", want: core.Malformed, serve: zipped(bomb())},
		{name: "corrupt gzip", want: core.Malformed, serve: zipped([]byte(echoed))},
		{
			name:  "redirect",
			want:  core.Malformed,
			serve: http.RedirectHandler(transporttest.RefusedURL+"/"+echoed, http.StatusTemporaryRedirect).ServeHTTP,
		},
		{name: "redirect without location", want: core.Malformed, serve: answer(302, html)},
		{name: "truncated", want: core.Unreachable, serve: Broken("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n5")},
		{name: "reset", want: core.Unreachable, serve: Reset("")},
		{
			name: "a huge header",
			want: core.Unreachable,
			serve: Broken("HTTP/1.1 200 OK\r\nX-Text: " + strings.Repeat(echoed, 1<<20) +
				"\r\nContent-Length: 1\r\n\r\n5"),
		},
		{name: "silent", want: core.SlowAnswer, serve: hang},
		{name: "silent in the body", want: core.SlowAnswer, serve: hangInBody},
		{
			name:           "429 with seconds",
			serve:          retryAfter(429, "7"),
			want:           core.Limited,
			wantRetryAfter: 7 * time.Second,
		},
		{
			name: "429 with a date",
			serve: header("Date", hourAgo.Format(http.TimeFormat),
				retryAfter(429, hourAgo.Add(90*time.Second).Format(http.TimeFormat))),
			want:           core.Limited,
			wantRetryAfter: 90 * time.Second,
		},
		{
			name:           "503 with seconds",
			serve:          retryAfter(503, "3"),
			want:           core.Unreachable,
			wantRetryAfter: 3 * time.Second,
		},
	}
	for status, want := range map[int]core.Reason{
		400: core.Rejected,
		401: core.Denied,
		402: core.Limited,
		403: core.Denied,
		404: core.Rejected,
		408: core.SlowAnswer,
		429: core.Limited,
		500: core.Unreachable,
	} {
		all = append(all, fault{name: fmt.Sprint(status), want: want, serve: answer(status, `{"message":"`+echoed+`"}`)})
	}
	untrusted := httptest.NewUnstartedServer(answer(200, html)) // Its certificate is of an unknown authority.
	untrusted.Config.ErrorLog = discard
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	return append(all,
		fault{name: "connection refused", want: core.Unreachable, url: transporttest.RefusedURL},
		fault{name: "untrusted certificate", want: core.Unreachable, url: untrusted.URL},
		fault{name: "not a URL", want: core.Unreachable, url: "http://" + echoed + ":port"},
	)
}

// answer returns a handler that answers with this status and body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Text", echoed)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// retryAfter returns a handler that answers with this status and Retry-After.
func retryAfter(status int, value string) http.HandlerFunc {
	return header("Retry-After", value, answer(status, html))
}

// hang does not answer. It returns when the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // Until the body is read, the server does not notice that the client gives up.
	<-r.Context().Done()
}

// hangInBody writes a part of its answer, and then hangs.
func hangInBody(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "5")
	w.(http.Flusher).Flush()
	hang(w, r)
}

// bomb returns 16 KiB of gzip. Decompressed, they are 16 MiB of white space and a JSON number.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(bytes.Repeat([]byte{' '}, 16<<20))
	z.Write([]byte{'5'})
	z.Close()
	return b.Bytes()
})

// zipped returns a handler that answers with a body in gzip.
func zipped(body []byte) http.HandlerFunc {
	return header("Content-Encoding", "gzip", answer(200, string(body)))
}

// header returns a handler that sets a header and calls next.
func header(name, value string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		next(w, r)
	}
}

// Broken returns a handler that writes text instead of a response, and then closes the connection.
func Broken(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := writeRaw(w, r, text)
		conn.Close()
	}
}

// Reset returns a handler that writes text instead of a response, and then resets the connection. The client may lose
// the text. The server must not use TLS.
func Reset(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := writeRaw(w, r, text)
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// writeRaw reads the request, writes text instead of a response, and returns the connection. The caller must close it.
func writeRaw(w http.ResponseWriter, r *http.Request, text string) net.Conn {
	io.Copy(io.Discard, r.Body)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	io.WriteString(conn, text)
	return conn
}
