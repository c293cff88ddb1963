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

var (
	// ErrBodyTooLarge is the error of reading a body past MaxBody.
	ErrBodyTooLarge = errors.New("the response is larger than allowed")
	// ErrRedirect is the error of a call that was answered with a redirect.
	// Following one would send credentials elsewhere.
	ErrRedirect = errors.New("answered with a redirect, which is not followed")
	// ErrCorrupt is the error of reading a body whose compression is broken.
	ErrCorrupt = errors.New("the response's compression is broken")
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
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its TLS certificate has expired or is not valid yet: check it and this machine's clock")
	case is[x509.HostnameError](err):
		return errors.New("its TLS certificate is for another host name")
	case is[x509.UnknownAuthorityError](err):
		return errors.New("its TLS certificate is not signed by an authority that this machine trusts")
	case is[*tls.CertificateVerificationError](err):
		return errors.New("its TLS certificate is not acceptable")
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
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), is[flate.CorruptInputError](err):
		return ErrCorrupt
	}
	return errors.New("the connection failed or the response was not HTTP")
}

// is reports whether err or an error that it wraps is an E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
