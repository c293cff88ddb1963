// Package transport makes the HTTP clients with which everything outside is
// asked: pooled, bounded, without redirects, and with errors that name a host
// and nothing more.
//
// It exists because the defaults of net/http and of the client libraries lack
// all four, and URLs here carry tokens and keys.
package transport

import (
	"errors"
	"io"
	"net/http"
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

// maxHeader bounds a response's header in bytes. The services' own are below 8
// KiB; net/http alone would take 10 MiB.
const maxHeader = 256 << 10

// New makes a client. What its Transport fails with is an *Error, which holds
// no URL. http.Client itself wraps that in a *url.Error, which does: pass what
// Do and its like return through Clean before it goes anywhere.
func New(o Options) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns = 0
	base.MaxIdleConnsPerHost = o.MaxConns
	base.MaxConnsPerHost = o.MaxConns
	base.MaxResponseHeaderBytes = maxHeader
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
		return nil, &Error{Host: req.URL.Host, Err: bare(req.Context(), err)}
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		return nil, &Error{Host: req.URL.Host, Err: ErrRedirect}
	}
	resp.Body = body{http.MaxBytesReader(nil, resp.Body, t.maxBody), req}
	return resp, nil
}

func (t *bounded) CloseIdleConnections() { t.base.CloseIdleConnections() }

// body is a response's body whose errors are *Error.
type body struct {
	io.ReadCloser
	req *http.Request
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case is[*http.MaxBytesError](err):
		err = ErrBodyTooLarge
	default:
		err = bare(b.req.Context(), err)
	}
	return n, &Error{Host: b.req.URL.Host, Err: err}
}
