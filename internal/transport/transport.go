// Package transport makes the HTTP clients of all services and platforms, decides when to retry, and describes
// failures. Its clients pool connections, limit the time and size of calls, do not follow redirects, and notice a
// dead connection within seconds. Their errors name only the host of a URL, because the URLs contain tokens and
// keys.
//
// The package does not know services and platforms.
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

// Options are the limits of a client.
type Options struct {
	// Timeout limits one call, from its start to the end of the response's body. If it is 0, the limit is an hour, for
	// callers whose contexts have deadlines.
	Timeout time.Duration
	// MaxBody is the maximum size of a response's body in bytes.
	MaxBody int64
	// MaxConns is the maximum number of connections to one host. All of them may be idle.
	MaxConns int
}

// defaultTimeout is used if Options.Timeout is 0.
const defaultTimeout = time.Hour

const (
	// maxHeader is the maximum size of a response's header in bytes. The services send less than 8 KiB; net/http's
	// default is 10 MiB.
	maxHeader = 256 << 10

	// dialTimeout and tlsTimeout limit how long connecting takes, to 5 seconds together. Linux resends a lost SYN after
	// 1 second.
	dialTimeout = 3 * time.Second
	tlsTimeout  = 2 * time.Second

	// An HTTP/2 connection is pinged after pingAfter without data, and closed if there is no answer within pingTimeout.
	// Without pings, net/http would use a dead connection until TCP gives up, after about 15 minutes
	// (https://go.dev/issue/36026). Both times together are less than the default of UPSTREAM_TIMEOUT, 5 seconds, so that
	// there is time for a retry.
	pingAfter   = 2 * time.Second
	pingTimeout = 2 * time.Second
)

// New returns a client. If a call fails, the error is http.Client's *url.Error, which contains the URL and wraps an
// *Error without the URL. Callers must therefore pass every error through Clean. A call that cannot connect fails
// within 5 seconds.
func New(o Options) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns = 0
	base.MaxIdleConnsPerHost = o.MaxConns
	base.MaxConnsPerHost = o.MaxConns
	base.MaxResponseHeaderBytes = maxHeader
	base.TLSHandshakeTimeout = tlsTimeout
	base.DisableCompression = true // The responses are small. A compressed one could expand to gigabytes.
	base.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx, network, address)
	}
	limited := &limitedTransport{
		Transport: base,
		timeout:   cmp.Or(o.Timeout, defaultTimeout),
		maxBody:   o.MaxBody,
	}
	return &http.Client{Transport: limited}
}

// limitedTransport is the RoundTripper of New. It does two things that http.Client could do: it refuses redirects,
// because the error of CheckRedirect contains the Location, and it limits the time, because http.Client's error does
// not show whether the request was sent.
type limitedTransport struct {
	*http.Transport
	timeout time.Duration
	maxBody int64
}

// RoundTrip implements http.RoundTripper. Its errors are *Error.
func (t *limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	var isConnected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Each attempt of net/http begins with GetConn.
		GetConn: func(string) { isConnected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { isConnected.Store(true) },
	})
	resp, err := t.Transport.RoundTrip(req.WithContext(traced))
	if err != nil {
		err = sanitized(ctx, err)
		cancel()
		if !isConnected.Load() && !NeverSent(err) {
			err = &net.OpError{Op: "dial", Net: "tcp", Err: err} // NeverSent recognizes it.
		}
		return nil, &Error{Host: req.URL.Host, Err: err}
	}
	isRedirect := resp.StatusCode >= 300 && resp.StatusCode < 400
	if isRedirect {
		resp.Body.Close()
		cancel()
		return nil, &Error{Host: req.URL.Host, Err: ErrRedirect}
	}
	limited := http.MaxBytesReader(nil, resp.Body, t.maxBody)
	resp.Body = &body{ReadCloser: limited, ctx: ctx, cancel: cancel, host: req.URL.Host}
	return resp, nil
}

// body is a response's body. Its errors are *Error, and Close calls cancel.
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
	// ErrBodyTooLarge is returned if a body is larger than MaxBody.
	ErrBodyTooLarge = errors.New("the response is larger than allowed")
	// ErrRedirect is returned if the response is a redirect. Following it would send credentials to another address.
	ErrRedirect = errors.New("answered with a redirect, which is not followed")
)

// Error is returned for a call without a complete response. If the call's context or the client's Timeout ended the
// call, it wraps context.Canceled or context.DeadlineExceeded.
type Error struct {
	Host string
	Err  error
}

// plainWords replaces the texts of some errors of Go with plain words.
var plainWords = strings.NewReplacer(
	context.DeadlineExceeded.Error(), "the time ran out",
	io.ErrUnexpectedEOF.Error(), "the answer broke off",
)

func (e *Error) Error() string { return e.Host + ": " + plainWords.Replace(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// NeverSent reports whether err proves that the request did not reach the server, because no connection was made.
// Sending the request again is then safe. err must be an error of a client of this package. If net/http itself
// retried the request, as it does with GET and HEAD, err is about the last attempt.
func NeverSent(err error) bool {
	op, isOpError := errors.AsType[*net.OpError](err)
	return isOpError && op.Op == "dial"
}

// Clean returns err without the URL, which http.Client adds to every error. The URL may contain a token or key.
func Clean(err error) error {
	withURL, isURLError := errors.AsType[*url.Error](err)
	if !isURLError {
		return err
	}
	if withURL.Op == "parse" {
		// The wrapped error quotes the part of the URL that could not be parsed.
		return errors.New("the address is not a valid URL")
	}
	return Clean(withURL.Err)
}

// sanitized returns an error that means the same as err, an error of net/http, but contains no text that the server
// sent. net/http quotes malformed responses and certificates.
func sanitized(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // err may be the context's cause, and have any text.
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
