package resttest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/transport/transporttest"
)

// echoed stands in all that the faulty services say. It must not come back in
// an error.
const echoed = "echo-of-the-service"

const html = "<!doctype html><title>" + echoed + "</title>"

// Faults are the faults of a service that can be reached.
func Faults() []Fault {
	return append(brokenAnswers(), refusals()...)
}

func brokenAnswers() []Fault {
	return []Fault{
		{Name: "html", Want: core.Malformed, Serve: answer(200, html)},
		{Name: "empty", Want: core.Malformed, Serve: answer(200, "")},
		{Name: "no content", Want: core.Malformed, Serve: answer(204, "")},
		{Name: "partial content", Want: core.Malformed, Serve: answer(206, "5")},
		{Name: "text", Want: core.Malformed, Serve: answer(200, echoed)},
		{Name: "trailing garbage", Want: core.Malformed, Serve: answer(200, `{"code":0} `+echoed)},
		{Name: "duplicate member", Want: core.Malformed, Serve: answer(200, `{"`+echoed+`":0,"`+echoed+`":1}`)},
		{Name: "deep nesting", Want: core.Malformed, Serve: answer(200, strings.Repeat("[", 500_000)+strings.Repeat("]", 500_000))},
		{Name: "gigabyte", Want: core.Malformed, Serve: gigabyte},
		{Name: "gzip bomb", Want: core.Malformed, Serve: zipped(bomb())},
		{Name: "corrupt gzip", Want: core.Malformed, Serve: zipped([]byte(echoed))},
		{Name: "truncated", Want: core.Unreachable, Serve: raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n5")},
		{Name: "truncated chunk", Want: core.Unreachable, Serve: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n5\r\n")},
		{Name: "redirect without location", Want: core.Malformed, Serve: answer(302, html)},
		{Name: "not HTTP", Want: core.Unreachable, Serve: raw(echoed + "\r\n\r\n")},
		{Name: "closed", Want: core.Unreachable, Serve: raw("")},
		{Name: "reset", Want: core.Unreachable, Serve: reset("")},
		{Name: "reset in the body", Want: core.Unreachable, Serve: reset("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n5")},
		{Name: "header without end", Want: core.Unreachable, Serve: endlessHeader},
		{Name: "silent", Want: core.SlowAnswer, Serve: hang},
		{Name: "silent in the body", Want: core.SlowAnswer, Serve: func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "5")
			w.(http.Flusher).Flush()
			hang(w, r)
		}},
	}
}

func refusals() []Fault {
	faults := []Fault{
		{Name: "429 with seconds", Want: core.Limited, RetryAfter: 7 * time.Second, Serve: retryAfter(429, "7")},
		{Name: "429 with a date", Want: core.Limited, RetryAfter: 90 * time.Second, Serve: func(w http.ResponseWriter, _ *http.Request) {
			date := time.Now().Add(-time.Hour).UTC()
			w.Header().Set("Date", date.Format(http.TimeFormat))
			w.Header().Set("Retry-After", date.Add(90*time.Second).Format(http.TimeFormat))
			w.WriteHeader(429)
		}},
		{Name: "429 with a past date", Want: core.Limited, Serve: retryAfter(429, "Fri, 01 Jan 2010 00:00:00 GMT")},
		{Name: "429 with an age", Want: core.Limited, RetryAfter: 31 * 24 * time.Hour, Serve: retryAfter(429, "18446744073709551615")},
		{Name: "429 with nonsense", Want: core.Limited, Serve: retryAfter(429, echoed)},
		{Name: "503 with seconds", Want: core.Unreachable, RetryAfter: 3 * time.Second, Serve: retryAfter(503, "3")},
	}
	for status, want := range map[int]core.Reason{
		400: core.Rejected, 401: core.Denied, 402: core.Limited, 403: core.Denied,
		404: core.Rejected, 405: core.Rejected, 408: core.SlowAnswer, 418: core.Rejected,
		429: core.Limited, 500: core.Unreachable, 502: core.Unreachable,
		503: core.Unreachable, 504: core.Unreachable, 530: core.Unreachable,
	} {
		faults = append(faults,
			Fault{Name: fmt.Sprint(status), Want: want, Serve: answer(status, `{"message":"`+echoed+`"}`)},
			Fault{Name: fmt.Sprintf("%d with html", status), Want: want, Serve: answer(status, html)})
	}
	return faults
}

type addressed struct {
	Fault
	url string
}

// unreachable are the faults of a service that cannot be spoken to.
func unreachable(t *testing.T) []addressed {
	untrusted := httptest.NewUnstartedServer(answer(200, html))
	untrusted.Config.ErrorLog = discard
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	plain := httptest.NewServer(answer(200, html))
	t.Cleanup(plain.Close)
	fault := func(name string) Fault { return Fault{Name: name, Want: core.Unreachable} }
	return []addressed{
		{fault("connection refused"), transporttest.RefusedURL},
		{fault("unknown host"), "http://nowhere.invalid"},
		{fault("untrusted certificate"), untrusted.URL},
		{fault("no TLS"), strings.Replace(plain.URL, "http:", "https:", 1)},
		{fault("not a URL"), "http://" + echoed + ":port"},
	}
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Text", echoed)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func retryAfter(status int, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", value)
		w.WriteHeader(status)
	}
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // only then does the server watch the connection
	<-r.Context().Done()
}

// gigabyte is a valid JSON number behind a gigabyte of white space.
func gigabyte(w http.ResponseWriter, _ *http.Request) {
	blank := bytes.Repeat([]byte{' '}, 1<<20)
	for range 1 << 10 {
		if _, err := w.Write(blank); err != nil {
			return
		}
	}
	io.WriteString(w, "5")
}

// bomb is a valid JSON number behind 16 MiB of white space, in 16 KiB.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(bytes.Repeat([]byte{' '}, 16<<20))
	z.Write([]byte{'5'})
	z.Close()
	return b.Bytes()
})

func zipped(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(body)
	}
}

func endlessHeader(w http.ResponseWriter, r *http.Request) {
	conn := hijack(w, r)
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	for {
		if _, err := io.WriteString(conn, "X-Text: "+strings.Repeat(echoed, 100)+"\r\n"); err != nil {
			return
		}
	}
}

// raw says text instead of a response and closes the connection.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := hijack(w, r)
		io.WriteString(conn, text)
		conn.Close()
	}
}

// reset says text and breaks the connection off. The client has read the text
// by then or has not; it has not read an end.
func reset(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := hijack(w, r)
		io.WriteString(conn, text)
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

func hijack(w http.ResponseWriter, r *http.Request) net.Conn {
	io.Copy(io.Discard, r.Body)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}
