// Package transport makes the HTTP clients with which everything outside is
// asked: pooled, bounded, without redirects, soon aware of a connection that is
// dead, and with errors that name a host and nothing more.
//
// It exists because the defaults of net/http and of the client libraries lack
// all of that, and URLs here carry tokens and keys.
package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Options bound a client.
type Options struct {
	// Timeout bounds one call from its start to the end of its body; 0 leaves
	// that to the call's context.
	Timeout time.Duration
	// MaxBody bounds a response's body in bytes, after decompression.
	MaxBody int64
	// MaxConns bounds the connections to one host; as many are kept idle.
	MaxConns int
}

const (
	// maxHeader bounds a response's header in bytes. The services' own are
	// below 8 KiB; net/http alone would take 10 MiB.
	maxHeader = 256 << 10

	// dialTimeout and tlsTimeout bound how long it may take to connect, 5
	// seconds in all. Linux repeats a lost SYN after 1 second.
	dialTimeout = 3 * time.Second
	tlsTimeout  = 2 * time.Second

	// An HTTP/2 connection on which nothing has come for pingAfter is asked for
	// a sign of life, and given up if there is none within pingTimeout: net/http
	// alone would use a dead one until TCP gives up, after some 15 minutes
	// (https://go.dev/issue/36026). Together they are below UPSTREAM_TIMEOUT's
	// default of 5 seconds, so that a call on a dead connection fails while
	// there is time to make it again.
	pingAfter   = 2 * time.Second
	pingTimeout = 2 * time.Second
)

// New makes a client. What its Transport fails with is an *Error, which holds
// no URL. http.Client itself wraps that in a *url.Error, which does: pass what
// Do and its like return through Clean before it goes anywhere. A call fails if
// it cannot connect within 5 seconds.
func New(o Options) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns = 0
	base.MaxIdleConnsPerHost = o.MaxConns
	base.MaxConnsPerHost = o.MaxConns
	base.MaxResponseHeaderBytes = maxHeader
	base.TLSHandshakeTimeout = tlsTimeout
	base.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx, network, address)
	}
	return &http.Client{Transport: &bounded{base: base, timeout: o.Timeout, maxBody: o.MaxBody}}
}

// bounded is the RoundTripper of New. A redirect is turned into an error here
// rather than in CheckRedirect, so that no *url.Error repeats the Location. The
// time limit is kept here rather than by http.Client, whose error would hide
// whether the request was sent.
type bounded struct {
	base    *http.Transport
	timeout time.Duration
	maxBody int64
}

func (t *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := t.limit(req.Context())
	var connected atomic.Bool
	resp, err := t.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Each attempt of net/http begins with GetConn.
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})))
	switch {
	case err != nil:
		err = bare(ctx, err)
		if !connected.Load() {
			err = notConnected(err)
		}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		resp.Body.Close()
		err = ErrRedirect
	default:
		resp.Body = &body{http.MaxBytesReader(nil, resp.Body, t.maxBody), ctx, cancel, req.URL.Host}
		return resp, nil
	}
	cancel()
	return nil, &Error{Host: req.URL.Host, Err: err}
}

// limit is ctx for the time that one call may take.
func (t *bounded) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.timeout > 0 {
		return context.WithTimeout(ctx, t.timeout)
	}
	return context.WithCancel(ctx)
}

func (t *bounded) CloseIdleConnections() { t.base.CloseIdleConnections() }

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
		err = bare(b.ctx, err)
	}
	return n, &Error{Host: b.host, Err: err}
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
