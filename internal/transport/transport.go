// Package transport makes the HTTP clients with which everything outside is
// asked: pooled, bounded, without redirects, and with errors that name a host
// and nothing more.
//
// It exists because the defaults of net/http and of the client libraries lack
// all four, and URLs here carry tokens and keys.
package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Options bound a client.
type Options struct {
	// Timeout bounds one call from its start to the end of its body; 0 leaves
	// that to the call's context.
	Timeout time.Duration
	// MaxBody bounds a response's body in bytes, after decompression.
	MaxBody int64
	// MaxConns bounds the connections to one host.
	MaxConns int
}

// ErrBodyTooLarge is what reading a body past MaxBody fails with.
var ErrBodyTooLarge = errors.New("the response is larger than allowed")

// ErrRedirect is what a call fails with that was answered with a redirect: to
// follow one would carry credentials elsewhere.
var ErrRedirect = errors.New("answered with a redirect, which is not followed")

// New makes a client. Its errors hold no URL: only the method, the host and
// what happened.
func New(o Options) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns = 0
	base.MaxIdleConnsPerHost = o.MaxConns
	base.MaxConnsPerHost = o.MaxConns
	return &http.Client{
		Timeout:   o.Timeout,
		Transport: &bounded{base: base, maxBody: o.MaxBody},
	}
}

// bounded is the RoundTripper of New. A redirect is turned into an error here
// rather than in CheckRedirect, so that no *url.Error repeats the Location.
type bounded struct {
	base    *http.Transport
	maxBody int64
}

func (t *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, &Error{Host: req.URL.Host, Err: bare(err)}
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		return nil, &Error{Host: req.URL.Host, Err: ErrRedirect}
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: t.maxBody, host: req.URL.Host}
	return resp, nil
}

func (t *bounded) CloseIdleConnections() { t.base.CloseIdleConnections() }

// Error is a call that got no response.
type Error struct {
	Host string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Host, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// NeverSent tells whether err proves that the request did not reach the
// server, so that sending it again cannot do anything twice.
func NeverSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// Clean takes the URL out of an error of net/http: http.Client puts it around
// every error, with the token or key that it carries.
func Clean(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// bare drops text of the other side from an error of net/http, which quotes
// malformed responses.
func bare(err error) error {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.As(err, &op), errors.As(err, &dns):
		return err
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	return errors.New("the connection failed or the response was not HTTP")
}

type limitedBody struct {
	io.ReadCloser
	left int64
	host string
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, &Error{Host: b.host, Err: ErrBodyTooLarge}
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, &Error{Host: b.host, Err: ErrBodyTooLarge}
	}
	if err != nil && err != io.EOF {
		err = &Error{Host: b.host, Err: bare(err)}
	}
	return n, err
}
