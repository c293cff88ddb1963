package fault

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// Fault is one way in which a service fails. The zero Fault is none.
type Fault struct {
	// Name is unique among the faults of a service.
	Name   string
	Effect Effect

	refuse bool           // nothing listens
	serve  func(exchange) // takes the place of the service
}

// Effect is what an honest client can still tell while a fault lasts. None
// allows a wrong answer.
type Effect int

// The effects.
const (
	// Unanswerable leaves nothing to tell but that it could not be checked, or
	// the last good answer marked as old.
	Unanswerable Effect = iota
	// OnePoolUnread hides one pool for good: who stakes in another one is
	// still a staker, of everybody else it cannot be told.
	OnePoolUnread
	// Answerable leaves a way to the right answer, such as single calls in
	// place of a batch; a client that does not take it could not check.
	Answerable
)

// Answer is a service that answers everything with this status, content type
// and body.
func Answer(status int, contentType, body string) Fault {
	return Fault{
		Name:  fmt.Sprintf("%d %s as given", status, contentType),
		serve: answering(status, http.Header{"Content-Type": {contentType}}, body),
	}
}

// Late is a service that answers rightly after a delay.
func Late(delay time.Duration) Fault {
	right := Fault{Name: "right", Effect: Answerable, serve: func(x exchange) { x.service.right.ServeHTTP(x.w, x.r) }}
	return right.After(delay)
}

// After is f with a delay before each answer. It fits no service whose port is
// closed.
func (f Fault) After(delay time.Duration) Fault {
	f.Name += " after " + delay.String()
	serve := f.serve
	f.serve = func(x exchange) {
		x.wait(delay)
		serve(x)
	}
	return f
}

// Hang is a service that takes requests and never answers.
func Hang() Fault {
	return Fault{Name: "never answers", serve: func(x exchange) { x.wait(math.MaxInt64) }}
}

// Refuse is a service whose port is closed.
func Refuse() Fault { return Fault{Name: "connection refused", refuse: true} }

func answering(status int, header http.Header, body string) func(exchange) {
	return func(x exchange) {
		for name, values := range header {
			x.w.Header()[name] = values
		}
		x.w.WriteHeader(status)
		_, _ = io.WriteString(x.w, body)
	}
}

// exchange is one request met by a fault.
type exchange struct {
	service *Service
	w       http.ResponseWriter
	r       *http.Request
	body    []byte // of the request
}

// rightAnswer is what the service answers without a fault.
func (x exchange) rightAnswer() *httptest.ResponseRecorder { return x.answerOf(x.service.right) }

func (x exchange) answerOf(h http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, x.r)
	return rec
}

// answer passes an answer on, with another status and body.
func (x exchange) answer(like *httptest.ResponseRecorder, status int, body []byte) {
	maps.Copy(x.w.Header(), like.Header())
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// edited is the right answer with an edited body. A refusal is passed on.
func edited(edit func(x exchange, body string) string) func(exchange) {
	return func(x exchange) {
		right := x.rightAnswer()
		body := right.Body.String()
		if right.Code == http.StatusOK {
			body = edit(x, body)
		}
		x.answer(right, right.Code, []byte(body))
	}
}

// replaced is the right answer with another text where pattern matches.
func replaced(pattern, with string) func(exchange) {
	part := regexp.MustCompile(pattern)
	return edited(func(_ exchange, body string) string { return part.ReplaceAllString(body, with) })
}

// wait aborts the exchange if the client leaves or the service closes
// meanwhile: merely to return would send an answer.
func (x exchange) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// breakOff writes raw bytes to the connection and ends it, with a reset rather
// than an orderly end if asked.
func (x exchange) breakOff(raw []byte, reset bool) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write(raw)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
}

func closeAtOnce(x exchange) { x.breakOff(nil, false) }

func resetAtOnce(x exchange) { x.breakOff(nil, true) }

// halfABody announces the whole right answer and breaks off midway.
func halfABody(reset bool) func(exchange) {
	return func(x exchange) {
		right := x.rightAnswer()
		body := right.Body.Bytes()
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
			right.Header().Get("Content-Type"), len(body))
		x.breakOff(append(head, body[:len(body)/2]...), reset)
	}
}

// untilClosed begins an answer whose end is that of its connection.
const untilClosed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

// halfUntilClosed is half of the right answer, and then the end of the
// connection.
func halfUntilClosed(x exchange) {
	body := x.rightAnswer().Body.Bytes()
	x.breakOff(append([]byte(untilClosed), body[:len(body)/2]...), false)
}

// truncated is half of the right answer, announced as the whole.
func truncated(x exchange) {
	right := x.rightAnswer()
	body := right.Body.Bytes()
	x.answer(right, right.Code, body[:len(body)/2])
}

// withStatus is the right answer under another status.
func withStatus(status int) func(exchange) {
	return func(x exchange) {
		right := x.rightAnswer()
		x.answer(right, status, right.Body.Bytes())
	}
}

// drip is the right answer at a byte a second.
func drip(x exchange) {
	right := x.rightAnswer()
	maps.Copy(x.w.Header(), right.Header())
	x.w.Header().Set("Content-Length", strconv.Itoa(right.Body.Len()))
	for _, b := range right.Body.Bytes() {
		if _, err := x.w.Write([]byte{b}); err != nil {
			return
		}
		_ = http.NewResponseController(x.w).Flush()
		x.wait(time.Second)
	}
}

// notHTTP answers in another protocol.
func notHTTP(x exchange) { x.breakOff([]byte("SSH-2.0-OpenSSH_9.6\r\n"), false) }

// hugeBody is how much the endless bodies hold, in bytes.
const hugeBody = 1 << 30

// digits is a megabyte that every service could begin a number with.
var digits = bytes.Repeat([]byte("1"), 1<<20)

func gigabyte(x exchange) {
	x.w.Header().Set("Content-Type", "application/json")
	for range hugeBody / len(digits) {
		if _, err := x.w.Write(digits); err != nil {
			return
		}
	}
}

// packedDigits is digits as one member of a gzip file; a file may have many.
var packedDigits = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	packer := gzip.NewWriter(&b)
	_, _ = packer.Write(digits)
	_ = packer.Close()
	return b.Bytes()
})

// gzipBomb is a gigabyte packed into about one megabyte.
func gzipBomb(x exchange) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Encoding", "gzip")
	for range hugeBody / len(digits) {
		if _, err := x.w.Write(packedDigits()); err != nil {
			return
		}
	}
}

func redirect(status int) func(exchange) {
	return func(x exchange) {
		http.Redirect(x.w, x.r, x.service.elsewhere+x.r.URL.RequestURI(), status)
	}
}

// echo repeats all of the request, credentials included, as error pages do.
func echo(x exchange) {
	dump, err := httputil.DumpRequest(x.r, true)
	if err != nil {
		dump = []byte(err.Error())
	}
	x.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprintf(x.w, "Cannot %s http://%s%s\n\n%s", x.r.Method, x.r.Host, x.r.URL.RequestURI(), dump)
}
