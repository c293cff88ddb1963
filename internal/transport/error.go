package transport

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
)

// ErrBodyTooLarge is what reading a body past MaxBody fails with.
var ErrBodyTooLarge = errors.New("the response is larger than allowed")

// ErrRedirect is what a call fails with that was answered with a redirect: to
// follow one would carry credentials elsewhere.
var ErrRedirect = errors.New("answered with a redirect, which is not followed")

// ErrCorrupt is what reading a body fails with whose compression is broken.
var ErrCorrupt = errors.New("the response's compression is broken")

// Why TLS failed, in the words that an operator needs. The originals quote the
// other side's certificate.
var (
	errExpired      = errors.New("its TLS certificate has expired or is not valid yet: check it and this machine's clock")
	errWrongName    = errors.New("its TLS certificate is for another host name")
	errUntrusted    = errors.New("its TLS certificate is not signed by an authority that this machine trusts")
	errCertificate  = errors.New("its TLS certificate is not acceptable")
	errNoTLS        = errors.New("it does not speak TLS there: perhaps the address should begin with http")
	errNotHTTP      = errors.New("the connection failed or the response was not HTTP")
	errNoURL        = errors.New("the address is not a valid URL")
	errNotDelivered = errors.New("the connection was closed before a response")
)

// Error is a call that got no response, or not the whole of one. It unwraps to
// context.Canceled or context.DeadlineExceeded if the call's context, or the
// client's time limit, ended it.
type Error struct {
	Host string
	Err  error
}

// inWords says what Go's own texts mean here.
var inWords = strings.NewReplacer(
	context.DeadlineExceeded.Error(), "the time ran out",
	io.ErrUnexpectedEOF.Error(), "the answer broke off",
)

func (e *Error) Error() string { return e.Host + ": " + inWords.Replace(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// NeverSent reports whether err proves that the request did not reach the
// server, so that sending it again cannot do anything twice: there was no
// connection to send it on, whatever the reason. For a request that net/http
// itself repeats on a broken connection (GET and HEAD, or with an
// Idempotency-Key) it speaks of the last attempt.
func NeverSent(err error) bool {
	if is[*net.DNSError](err) {
		return true
	}
	for op := (*net.OpError)(nil); errors.As(err, &op); err = op.Err {
		if op.Op == "dial" {
			return true
		}
	}
	return false
}

// notConnected wraps the error of a request that never had a connection, so that
// NeverSent recognises it.
func notConnected(err error) error {
	if NeverSent(err) {
		return err
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: err}
}

// Clean takes the URL out of an error of net/http or net/url: http.Client puts
// it around every error, with the token or key that it carries.
func Clean(err error) error {
	wrapped, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	if wrapped.Op == "parse" {
		// Its cause quotes the part of the URL that could not be parsed.
		return errNoURL
	}
	return Clean(wrapped.Err)
}

// bare drops text of the other side from an error of net/http, which quotes
// malformed responses and certificates.
func bare(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		// Not err, which may be a cause with any text.
		return ctx.Err()
	}
	var op *net.OpError
	var dns *net.DNSError
	var timeout net.Error
	var expired x509.CertificateInvalidError
	switch {
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		return errExpired
	case is[x509.HostnameError](err):
		return errWrongName
	case is[x509.UnknownAuthorityError](err):
		return errUntrusted
	case is[*tls.CertificateVerificationError](err):
		return errCertificate
	case is[tls.RecordHeaderError](err):
		return errNoTLS
	case errors.As(err, &op):
		return op
	case errors.As(err, &dns):
		return dns
	case errors.As(err, &timeout) && timeout.Timeout():
		return context.DeadlineExceeded
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return errNotDelivered
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), is[flate.CorruptInputError](err):
		return ErrCorrupt
	}
	return errNotHTTP
}

// is reports whether err or one that it wraps is an E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
