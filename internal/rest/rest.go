// Package rest asks one question of a service over HTTP and turns everything
// that can go wrong into a *core.Error.
//
// One call is one attempt: it neither retries nor remembers failures, because
// core does both around the sources, once for all of them. What a service
// answers is believed only as far as its bytes go: bodies are bounded, JSON is
// parsed strictly, and nothing of either, nor of a URL, gets into an error.
package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"herald/internal/core"
	"herald/internal/transport"
)

// MaxBody bounds a response's body in bytes, after decompression.
const MaxBody = 1 << 20

// Client asks one service. It is safe for concurrent use.
type Client struct {
	service core.Service
	http    *http.Client
}

// New makes a client whose every call takes at most timeout, over at most
// maxConns connections to a host.
func New(service core.Service, timeout time.Duration, maxConns int) *Client {
	return &Client{service, transport.New(transport.Options{
		Timeout:  timeout,
		MaxBody:  MaxBody,
		MaxConns: maxConns,
	})}
}

// Request is one call. Header may be nil; it is not kept.
type Request struct {
	// Attempt names the question in errors.
	Attempt string
	Method  string
	URL     string
	Header  http.Header
	Body    []byte
}

// Response is an answer, whatever its status.
type Response struct {
	Status int
	// Date is the service's clock when it answered, in whole seconds; zero if
	// it did not tell.
	Date time.Time
	Body []byte
}

// Do sends r once and reads the whole answer. It blocks until then, until the
// client's time limit or until ctx is done; in the last case the error unwraps
// to ctx.Err().
//
// Errors are *core.Error. With a status other than success there is both an
// error and a Response, whose body a caller may search for the service's own
// code; it is empty if it could not be read.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, c.fail(r.Attempt, err)
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	req.Header.Set("Accept", "application/json, text/plain")
	req.Header.Set("User-Agent", "herald")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.fail(r.Attempt, err)
	}
	defer resp.Body.Close()
	answer := &Response{Status: resp.StatusCode}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		answer.Date = date
	}
	failure := c.refused(r.Attempt, resp, answer.Date)
	body, err := io.ReadAll(resp.Body)
	switch {
	case failure != nil && err != nil:
		return answer, failure
	case failure != nil:
		answer.Body = body
		return answer, failure
	case err != nil:
		return nil, c.fail(r.Attempt, err)
	}
	answer.Body = body
	return answer, nil
}

// fail words a call that got no whole answer.
func (c *Client) fail(attempt string, err error) error {
	err = transport.Clean(err)
	return &core.Error{Service: c.service, Reason: reason(err), Err: fmt.Errorf("%s: %w", attempt, err)}
}

func reason(err error) core.Reason {
	var timeout net.Error
	switch {
	case transport.NeverSent(err):
		return core.Unreachable // also if that took long: nothing was asked
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return core.SlowAnswer
	case errors.Is(err, transport.ErrRedirect), errors.Is(err, transport.ErrBodyTooLarge),
		errors.Is(err, transport.ErrCorrupt):
		return core.Malformed
	}
	return core.Unreachable
}
