// Package rest makes one HTTP call to a service, and turns every failure into a *core.Error.
//
// It does not retry, and does not remember failures; package query does both. It limits the size of bodies, and parses
// JSON strictly. The text of an error contains nothing of a body or a URL.
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

// MaxBody is the maximum size of a response's body in bytes. Bodies are not compressed, because transport does not ask
// for that.
const MaxBody = 1 << 20

// Client calls one service. It is safe for concurrent use.
type Client struct {
	service *core.Service
	http    *http.Client
}

// New returns a Client. Each of its calls takes at most timeout.
func New(service *core.Service, timeout time.Duration) *Client {
	options := transport.Options{Timeout: timeout, MaxBody: MaxBody, MaxConns: query.MaxCalls}
	return &Client{service: service, http: transport.New(options)}
}

// Request is one call: a POST if it has a Body, and else a GET. Header may be nil.
type Request struct {
	// Attempt names the call in errors.
	Attempt string
	// Base is the URL that an operator has set. Errors do not contain it, because it may contain a key.
	Base string
	// Path is appended to Base. It may have a query. Errors contain it, in core.Error.Asked, so it must not contain a
	// secret.
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

// fail returns failure with the name of the attempt and, if the request may have been sent, with the request in Asked.
func (r Request) fail(failure *core.Error) *core.Error {
	failed := failure.During(r.Attempt)
	if !NeverSent(failed) {
		failed.Asked = r.method() + " " + r.Path
	}
	return failed
}

// Response is an answer. It may have any status.
type Response struct {
	Status int
	// Date is the time in the answer's header Date, in whole seconds. It is zero if there is none.
	Date time.Time
	// Body does not begin with a ByteOrderMark.
	Body []byte
}

// ByteOrderMark is U+FEFF in UTF-8. Some hosts put it before an answer.
var ByteOrderMark = []byte("\uFEFF")

// Do sends r once and reads the whole answer. It blocks until the answer is read, the client's time limit has passed,
// or ctx is done.
//
// If an answer has neither a Content-Length nor chunks, it ends when the service closes the connection, as in HTTP/1.0.
// A connection that is reset, or closed before the Content-Length is reached, is an error.
//
// Every error is a *core.Error. If ctx is done, it wraps ctx.Err(). If the status is not a success or the body could
// not be read, Do returns an error and a Response. The Body is empty if it could not be read.
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

// NeverSent reports whether err, an error of Do, proves that the request did not reach the service.
func NeverSent(err error) bool { return transport.NeverSent(err) }

// Figure sends r as Do does, and returns the number in the answer, which must be above zero. The answer is a number,
// a text with a number, or an object with either as its only member, under one of these names. An object with more
// members is an error, because it may report a failure.
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

// StatusError returns the error that a response's status and Retry-After stand for, or nil for a success. A redirect is
// Malformed. So is 206, because a part of a number is another number.
func StatusError(service *core.Service, resp *http.Response) *core.Error {
	status := resp.StatusCode
	isSuccess := status >= 200 && status < 300 && status != http.StatusPartialContent
	if isSuccess {
		return nil
	}
	failure := service.Fail(core.Malformed, fmt.Errorf("answered with status %d", status))
	switch {
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

// CallError returns the error of a call that had no complete response. err is the HTTP client's error.
func CallError(service *core.Service, err error) *core.Error {
	err = transport.Clean(err)
	failure := service.Fail(core.Unreachable, err)
	switch {
	case transport.NeverSent(err):
		// It is Unreachable even after a timeout, because nothing was asked.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		failure.Reason = core.SlowAnswer
	case errors.Is(err, transport.ErrRedirect), errors.Is(err, transport.ErrBodyTooLarge):
		failure.Reason = core.Malformed
	}
	return failure
}

// isTimeout reports whether err is a net.Error that says that a time limit was reached.
func isTimeout(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return is && timeout.Timeout()
}
