// Package rest makes one HTTP call to a service and turns every failure into a
// *core.Error.
//
// It neither retries nor remembers failures: query does both for every service. Bodies are
// bounded and JSON is parsed strictly. The text of an error holds nothing of a body or a URL.
package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/transport"
)

// MaxBody bounds a response's body in bytes. None is compressed: transport does not ask for it.
const MaxBody = 1 << 20

// Client calls one service. It is safe for concurrent use.
type Client struct {
	service *core.Service
	http    *http.Client
}

// New makes a client whose every call takes at most timeout.
func New(service *core.Service, timeout time.Duration) *Client {
	options := transport.Options{Timeout: timeout, MaxBody: MaxBody, MaxConns: query.MaxCalls}
	return &Client{service: service, http: transport.New(options)}
}

// Request is one call: a POST of Body if there is one, else a GET. Header may be
// nil; it is not kept.
type Request struct {
	// Attempt names the call in errors.
	Attempt string
	// Base is the URL that an operator has set. No error holds it, because it may hold a key.
	Base string
	// Path is appended to Base. It may have a query. Errors have it in their Asked, so it must hold no secret.
	Path   string
	Header http.Header
	Body   []byte
}

func (r Request) method() string {
	if len(r.Body) > 0 {
		return http.MethodPost
	}
	return http.MethodGet
}

// fail returns failure with what r attempted and, if r may have been sent, with what it asked.
func (r Request) fail(failure *core.Error) *core.Error {
	failed := failure.During(r.Attempt)
	if !NeverSent(failed) {
		failed.Asked = r.method() + " " + r.Path
	}
	return failed
}

// Response is an answer, whatever its status.
type Response struct {
	Status int
	// Date is the time of the answer by the service's clock, in whole seconds; zero if the
	// header lacks it.
	Date time.Time
	// Body lacks the ByteOrderMark.
	Body []byte
}

// ByteOrderMark is U+FEFF in UTF-8. Some hosts put it before an answer.
var ByteOrderMark = []byte("\uFEFF")

// Do sends r once and reads the whole answer. It blocks until then, until the client's
// time limit or until ctx is done; the error then unwraps to ctx.Err().
//
// If an answer has neither a Content-Length nor chunks, it ends when the service closes the
// connection, as in HTTP/1.0. A connection that is reset, or that ends before the Content-Length
// is reached, is an error.
//
// Errors are *core.Error. A status other than success, and a body that could not be read,
// return an error and a Response; its Body is empty then.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method(), r.Base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, CallError(c.service, err).During(r.Attempt)
	}
	maps.Copy(req.Header, r.Header)
	req.Header.Set("Accept", "application/json, text/plain")
	req.Header.Set("User-Agent", "herald")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, r.fail(CallError(c.service, err))
	}
	defer resp.Body.Close()
	answer := Response{Status: resp.StatusCode}
	answer.Date, _ = http.ParseTime(resp.Header.Get("Date"))
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		answer.Body = bytes.TrimPrefix(body, ByteOrderMark)
	}
	if refusal := StatusError(c.service, resp); refusal != nil {
		return &answer, r.fail(refusal)
	}
	if err != nil {
		return &answer, r.fail(CallError(c.service, err))
	}
	return &answer, nil
}

// NeverSent reports whether err, which Do returned, proves that the request did not reach the
// service.
func NeverSent(err error) bool { return transport.NeverSent(err) }

// Figure sends r as Do does, and returns the number above zero in the answer: a bare number, a
// text with one, or either as the only member of an object, under one of these names. It
// refuses an object with more members, which may report a failure.
func (c *Client) Figure(ctx context.Context, r Request, names ...string) (decimal.Decimal, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return decimal.Decimal{}, err
	}
	figure, err := resp.figure(names)
	if err != nil {
		return figure, r.fail(c.service.Fail(core.Malformed, err))
	}
	return figure, nil
}

// StatusError returns the error that a response's status and Retry-After stand for, or nil
// for success. 206 is a failure: a part of a number is another number.
func StatusError(service *core.Service, resp *http.Response) *core.Error {
	failure := service.Fail(core.Malformed, fmt.Errorf("answered with status %d", resp.StatusCode))
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300 && status != http.StatusPartialContent:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		failure.Reason = core.Denied
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		failure.Reason = core.Limited
		failure.RetryAfter = transport.RetryAfter(resp.Header)
	case status == http.StatusRequestTimeout:
		failure.Reason = core.SlowAnswer
	case status >= 500:
		failure.Reason = core.Unreachable
		failure.RetryAfter = transport.RetryAfter(resp.Header)
	case status >= 400:
		failure.Reason = core.Rejected
	}
	return failure
}

// CallError returns the error of a call without a whole response. err is the HTTP
// client's.
func CallError(service *core.Service, err error) *core.Error {
	err = transport.Clean(err)
	failure := service.Fail(core.Unreachable, err)
	var timeout net.Error
	switch {
	case transport.NeverSent(err):
		// Unreachable even if that took long: nothing was asked.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		failure.Reason = core.SlowAnswer
	case errors.Is(err, transport.ErrRedirect), errors.Is(err, transport.ErrBodyTooLarge):
		failure.Reason = core.Malformed
	}
	return failure
}
