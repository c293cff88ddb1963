// Package transport makes the HTTP clients for everything outside, says when to try
// again, and words what failed. Its clients are pooled and bounded, follow no redirect,
// notice a dead connection within seconds, and name a host in an error, nothing more.
//
// It exists because net/http's defaults and the client libraries have none of that,
// and URLs here carry tokens and keys. It knows no service and no platform.
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
	// Timeout bounds one call, from its start to the end of its body. 0 is an hour:
	// the call's context bounds it.
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

	// An HTTP/2 connection on which nothing has come for pingAfter is pinged, and
	// dropped if nothing comes within pingTimeout: net/http alone would use a dead one
	// until TCP gives up, after some 15 minutes (https://go.dev/issue/36026). Together
	// they are below UPSTREAM_TIMEOUT's default of 5 seconds, so that a call on a dead
	// connection fails while there is time to repeat it.
	pingAfter   = 2 * time.Second
	pingTimeout = 2 * time.Second
)

// New makes a client. A call fails with a *url.Error of http.Client, which holds the
// URL, around an *Error, which does not: pass it through Clean before it goes
// anywhere. A call that cannot connect fails within 5 seconds.
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

// bounded is the RoundTripper of New. It refuses redirects, which CheckRedirect would
// do with a *url.Error that repeats the Location, and keeps the time limit, which
// http.Client would do with an error that hides whether the request was sent.
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

// body is a response's body whose errors are *Error. Closing it ends the call.
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
	case is[*http.MaxBytesError](err):
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
	// ErrRedirect is the error of a call that was answered with a redirect.
	// Following one would send credentials elsewhere.
	ErrRedirect = errors.New("answered with a redirect, which is not followed")
)

// Error is a call that got no response, or only a part of one. It unwraps to
// context.Canceled or context.DeadlineExceeded if the call's context or the client's
// Timeout ended it.
type Error struct {
	Host string
	Err  error
}

// inWords replaces Go's own texts with what they mean here.
var inWords = strings.NewReplacer(
	context.DeadlineExceeded.Error(), "the time ran out",
	io.ErrUnexpectedEOF.Error(), "the answer broke off",
)

func (e *Error) Error() string { return e.Host + ": " + inWords.Replace(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// NeverSent reports whether err, of a client of this package, proves that the request
// did not reach the server, so that sending it again cannot do anything twice: there
// was no connection to send it on. If net/http itself repeated the request on a new
// connection (GET and HEAD), that is about the last attempt.
func NeverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// Clean removes the URL from an error of net/http or net/url. http.Client wraps every
// error in one, with the token or key that is in the URL.
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

// sanitized returns an error that says the same as err, of net/http, without the other
// side's text: net/http quotes malformed responses and certificates.
func sanitized(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // err may be the context's cause, with any text
	}
	var op *net.OpError
	var timeout net.Error
	switch {
	case is[*tls.CertificateVerificationError](err):
		return errors.New("its TLS certificate has expired, is for another host name, " +
			"or is not signed by an authority that this machine trusts; perhaps this machine's clock is wrong")
	case is[tls.RecordHeaderError](err):
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

// is reports whether err or an error that it wraps is an E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
