package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"herald/internal/core"
)

// maxRetryAfter bounds what Retry-After is taken for: no limit of a service
// here outlasts its month.
const maxRetryAfter = 31 * 24 * time.Hour

// refused turns a status into an error; it is nil for success. 206 is no
// success: nobody asked for a part, and a part of a number is another number.
func (c *Client) refused(attempt string, resp *http.Response, date time.Time) error {
	status, retryAfter := resp.StatusCode, resp.Header.Get("Retry-After")
	failure := &core.Error{Service: c.service, Err: fmt.Errorf("%s: answered with status %d", attempt, status)}
	switch {
	case status == http.StatusPartialContent:
		failure.Reason = core.Malformed
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		failure.Reason = core.Denied
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		failure.Reason = core.Limited
		failure.RetryAfter = parseRetryAfter(retryAfter, date)
	case status == http.StatusRequestTimeout:
		failure.Reason = core.SlowAnswer
	case status >= 500:
		failure.Reason = core.Unreachable
		failure.RetryAfter = parseRetryAfter(retryAfter, date)
	case status >= 400:
		failure.Reason = core.Rejected
	default:
		failure.Reason = core.Malformed
	}
	return failure
}

// parseRetryAfter reads seconds or an HTTP date (RFC 9110, section 10.2.3); 0
// if it is neither. A date is counted from the response's own, so that this
// machine's clock does not matter.
func parseRetryAfter(value string, date time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date.IsZero() {
		date = time.Now()
	}
	return min(max(until.Sub(date), 0), maxRetryAfter)
}
