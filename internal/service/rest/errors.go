package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"herald/internal/core"
	"herald/internal/transport"
)

// StatusError returns the error that a response's status and Retry-After stand
// for, or nil for success. 206 is a failure: nobody asked for a part, and a part of
// a number is another number.
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

// CallError returns the error of a call that got no whole response. err is the
// HTTP client's.
func CallError(service *core.Service, err error) *core.Error {
	err = transport.Clean(err)
	failure := service.Fail(core.Unreachable, err)
	var timeout net.Error
	switch {
	case transport.NeverSent(err):
		// Unreachable also if that took long: nothing was asked.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		failure.Reason = core.SlowAnswer
	case errors.Is(err, transport.ErrRedirect), errors.Is(err, transport.ErrBodyTooLarge):
		failure.Reason = core.Malformed
	}
	return failure
}
