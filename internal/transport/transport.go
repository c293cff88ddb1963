// Package transport makes the HTTP clients for everything outside, decides when to retry,
// and words failures. Its clients are pooled and bounded, follow no redirect, and notice a
// dead connection within seconds. Of a URL, an error holds the host alone, because URLs
// here carry tokens and keys.
//
// net/http's defaults and the client libraries do none of that. The package knows no
// service and no platform.
package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Options bound a client.
type Options struct {
	// Timeout bounds one call, from its start to the end of its body. 0 is an hour, for
	// calls that their context bounds.
	Timeout time.Duration
	// MaxBody bounds a response's body, in bytes.
	MaxBody int64
	// MaxConns bounds the connections to one host; as many are kept idle.
	MaxConns int
}

const (
	// maxHeader bounds a response's header, in bytes. The services' own are below
	// 8 KiB; net/http alone would take 10 MiB.
	maxHeader = 256 << 10

	// dialTimeout and tlsTimeout bound how long connecting takes, 5 seconds in all.
	// Linux repeats a lost SYN after 1 second.
	dialTimeout = 3 * time.Second
	tlsTimeout  = 2 * time.Second

	// An HTTP/2 connection is pinged after pingAfter of silence, and dropped after
	// pingTimeout more. net/http alone would use a dead one until TCP gives up, after some
	// 15 minutes (https://go.dev/issue/36026). Their sum is below UPSTREAM_TIMEOUT's
	// default of 5 seconds, so that there is time to repeat the call.
	pingAfter   = 2 * time.Second
	pingTimeout = 2 * time.Second
)

// New makes a client. A call fails with http.Client's *url.Error, which holds the URL,
// around an *Error, which does not: callers pass every error through Clean. A call that
// cannot connect fails within 5 seconds.
func New(o Options) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns = 0
	base.MaxIdleConnsPerHost = o.MaxConns
	base.MaxConnsPerHost = o.MaxConns
	base.MaxResponseHeaderBytes = maxHeader
	base.TLSHandshakeTimeout = tlsTimeout
	base.DisableCompression = true // the answers are small, and a small bomb stays small
	base.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx, network, address)
	}
	return &http.Client{Transport: &bounded{Transport: base, timeout: cmp.Or(o.Timeout, time.Hour), maxBody: o.MaxBody}}
}

// bounded is the RoundTripper of New. It refuses redirects, because CheckRedirect's error
// repeats the Location. It keeps the time limit, because http.Client's error hides whether
// the request was sent.
type bounded struct {
	*http.Transport
	timeout time.Duration
	maxBody int64
}

func (t *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	var connected atomic.Bool
	resp, err := t.Transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Each attempt of net/http begins with GetConn.
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})))
	switch {
	case err != nil:
		err = sanitized(ctx, err)
		if !connected.Load() && !NeverSent(err) {
			err = &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		resp.Body.Close()
		err = ErrRedirect
	default:
		limited := http.MaxBytesReader(nil, resp.Body, t.maxBody)
		resp.Body = &body{ReadCloser: limited, ctx: ctx, cancel: cancel, host: req.URL.Host}
		return resp, nil
	}
	cancel()
	return nil, &Error{Host: req.URL.Host, Err: err}
}

// body is a response's body. Its errors are *Error, and Close ends the call.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
	host   string
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case errors.As(err, new(*http.MaxBytesError)):
		err = ErrBodyTooLarge
	default:
		err = sanitized(b.ctx, err)
	}
	return n, &Error{Host: b.host, Err: err}
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

var (
	// ErrBodyTooLarge is the error of reading a body past MaxBody.
	ErrBodyTooLarge = errors.New("the response is larger than allowed")
	// ErrRedirect is the error of a redirect. Following one would send credentials
	// elsewhere.
	ErrRedirect = errors.New("answered with a redirect, which is not followed")
)

// Error is the error of a call without a whole response. It unwraps to context.Canceled or
// context.DeadlineExceeded if the call's context or the client's Timeout ended the call.
type Error struct {
	Host string
	Err  error
}

// inWords replaces texts of Go's errors with plain words.
var inWords = strings.NewReplacer(
	context.DeadlineExceeded.Error(), "the time ran out",
	io.ErrUnexpectedEOF.Error(), "the answer broke off",
)

func (e *Error) Error() string { return e.Host + ": " + inWords.Replace(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// NeverSent reports whether err proves that the request did not reach the server, because
// there was no connection: sending it again does nothing twice. err is of a client of this
// package. If net/http repeated the request (GET and HEAD), err is of the last attempt.
func NeverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// Clean returns err without the URL that http.Client wraps around every error: the URL may
// hold a token or key.
func Clean(err error) error {
	wrapped, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	if wrapped.Op == "parse" {
		// Its cause quotes the part of the URL that could not be parsed.
		return errors.New("the address is not a valid URL")
	}
	return Clean(wrapped.Err)
}

// sanitized returns the meaning of net/http's err without the other side's text: net/http
// quotes malformed responses and certificates.
func sanitized(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // err may be the context's cause, with any text
	}
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errors.New("its TLS certificate has expired, is for another host name, " +
			"or is not signed by an authority that this machine trusts; perhaps this machine's clock is wrong")
	case errors.As(err, new(tls.RecordHeaderError)):
		return errors.New("it does not speak TLS there: perhaps the address should begin with http")
	case errors.As(err, &op):
		return op
	case errors.As(err, &timeout) && timeout.Timeout():
		return context.DeadlineExceeded
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return errors.New("the connection was closed before a response")
	}
	return errors.New("the connection failed or the response was not HTTP")
}
