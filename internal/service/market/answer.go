package market

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

const (
	// retryRefused is how long to wait after a refusal that only an operator can end.
	retryRefused = time.Minute
	// retryUsedUp is the maximum time to wait after a plan was used up. It is short, because the plan may be upgraded,
	// this machine's clock may be wrong, and the plan's month may not be the calendar's.
	retryUsedUp = time.Hour
)

// noResponse stands for the HTTP status of a call that got no response.
const noResponse = 0

// call is a call of the API that has ended.
type call struct {
	path    string
	request string    // for core.Error.Asked
	status  int       // of HTTP, or noResponse
	date    time.Time // the provider's time of the response; zero: unknown
	data    any       // the data in the answer; nil if there is an err
	err     error
}

// withRequest returns a copy of err, a *core.Error, that names the request of the call. It returns nil if err is nil.
func (c call) withRequest(err error) error {
	failed, is := errors.AsType[*core.Error](err)
	if !is {
		return err
	}
	copied := *failed
	copied.Asked = c.request
	return &copied
}

// isGone reports whether the provider says that it no longer has the path.
func (c call) isGone() bool {
	return c.status == http.StatusNotFound || c.status == http.StatusGone
}

// get makes a GET request to a path of the API, and blocks for the call. attempt names the call in errors.
func (c *Client) get(ctx context.Context, attempt, path string, parameters url.Values) call {
	// On a connection that was used before, net/http repeats a request that got no answer. The provider may count both.
	header := http.Header{"Connection": {"close"}}
	if c.settings.APIKey.IsSet() {
		header.Set("X-CMC_PRO_API_KEY", c.settings.APIKey.Reveal())
	}
	pathAndQuery := path
	if len(parameters) > 0 {
		pathAndQuery += "?" + parameters.Encode()
	}
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: attempt,
		Base:    c.settings.URL,
		Path:    pathAndQuery,
		Header:  header,
	})
	ended := call{path: path, status: noResponse, request: http.MethodGet + " " + pathAndQuery}
	if resp == nil {
		ended.err = err
		return ended
	}
	ended.status = resp.Status
	ended.date = resp.Date
	data, refusal := parseAnswer(resp.Body, time.Now().UTC())
	if refusal != nil && !ended.isGone() {
		c.logRefusal(ctx, resp)
	}
	ended.err = ended.errorOf(attempt, err, refusal)
	if ended.err == nil {
		ended.data = data
	}
	return ended
}

// errorOf returns the error of a call with a response, or nil if it succeeded. byStatus is the error that its status
// and header stand for, and refusal is what parseAnswer returned for its body. Either may be nil. If both are failures,
// the refusal counts only if it says more.
func (c call) errorOf(attempt string, byStatus error, refusal *core.Error) error {
	switch {
	case byStatus == nil && refusal == nil:
		return nil
	case byStatus == nil:
		return c.withRequest(refusal.During(attempt))
	case saysMoreThanStatus(refusal):
		return c.withRequest(withLongerWait(refusal, byStatus).During(attempt))
	}
	return byStatus
}

// saysMoreThanStatus reports whether the body of a failed response refuses the call for a known reason. refusal is what
// parseAnswer returned for the body. It may be nil.
func saysMoreThanStatus(refusal *core.Error) bool {
	if refusal == nil || refusal.Reason == core.Malformed {
		return false
	}
	// refusalOf sets no wait for a code that it does not know.
	isUnknownCode := refusal.Reason == core.Rejected && refusal.RetryAfter == 0
	return !isUnknownCode
}

// withLongerWait returns the refusal in a body with the longer of two waits: its own, and the wait that the response's
// header asks for. byStatus is the error that status and header stand for. A UsedUp refusal keeps its own wait, because
// the header's wait ends with the month, and an upgrade of the plan may end the refusal earlier.
func withLongerWait(refusal *core.Error, byStatus error) *core.Error {
	byHeader, is := errors.AsType[*core.Error](byStatus)
	if !is || refusal.Reason == core.UsedUp {
		return refusal
	}
	longer := *refusal
	longer.RetryAfter = max(refusal.RetryAfter, byHeader.RetryAfter)
	return &longer
}

// logRefusal logs the provider's sentence about a refusal, unless it was also the last sentence that was logged. The
// sentence is not in the error, because errors contain no text of a service.
func (c *Client) logRefusal(ctx context.Context, resp *rest.Response) {
	said := sentence(resp.Body)
	if said == "" {
		return
	}
	isRepeated := c.loggedRefusal.Swap(said) == said
	if !isRepeated {
		c.log.WarnContext(ctx, "the price provider refuses a request", "status", resp.Status, "says", said)
	}
}

// Said returns the provider's sentence about its latest refusal, or "" if there was none. It is not sanitized.
func (c *Client) Said() string {
	said, _ := c.loggedRefusal.Load().(string)
	return said
}

// maxSentence is how much of the provider's sentence is logged, in characters.
const maxSentence = 200

// sentence returns the words of a refusal in one line, or "" if it has none.
func sentence(body []byte) string {
	v, err := rest.Parse(body)
	if err != nil {
		return ""
	}
	words := strings.Fields(rest.Text(valueAt(v, "status", "error_message")))
	said := []rune(strings.Join(words, " "))
	return string(said[:min(len(said), maxSentence)])
}

// parseAnswer returns the data of an answer. If the answer has an error code, parseAnswer returns the refusal that the
// code stands for. If the answer has another form, it returns a Malformed refusal.
func parseAnswer(body []byte, now time.Time) (data any, refusal *core.Error) {
	v, err := rest.Parse(body)
	if err != nil {
		return nil, Service.Fail(core.Malformed, err)
	}
	answer, _ := v.(map[string]any)
	code, err := strconv.Atoi(rest.Text(valueAt(answer, "status", "error_code")))
	if err != nil {
		return nil, Service.Fail(core.Malformed, errors.New("no status with an error code"))
	}
	if code == 0 {
		return answer["data"], nil
	}
	return nil, refusalOf(code, now)
}

// refusalOf returns the refusal that an error code other than 0 stands for. A code below 1001 repeats an HTTP status.
// An unknown code is Rejected, without a RetryAfter.
// https://coinmarketcap.com/api/documentation/guides/errors-and-rate-limits
func refusalOf(code int, now time.Time) *core.Error {
	refusal := Service.Fail(core.Rejected, fmt.Errorf("answered with error code %d", code))
	switch {
	case code >= 500 && code < 600:
		refusal.Reason = core.Unreachable
	case code == http.StatusBadRequest: // a parameter is wrong
		refusal.RetryAfter = retryRefused
	case code == http.StatusUnauthorized, code == http.StatusForbidden,
		code >= 1001 && code <= 1007: // the key is invalid, missing, not paid for, disabled …
		refusal.Reason = core.Denied
		refusal.RetryAfter = retryRefused
	case code == http.StatusTooManyRequests,
		code == 1008, // resets every 60 seconds
		code == 1011: // limits this machine's address; no time is published
		refusal.Reason = core.Limited
		refusal.RetryAfter = time.Minute
	case code == 1009: // resets at midnight, UTC
		refusal.Reason = core.UsedUp
		refusal.RetryAfter = min(untilMidnight(now), retryUsedUp)
	case code == 1010: // resets with the plan's month
		refusal.Reason = core.UsedUp
		refusal.RetryAfter = retryUsedUp
	}
	return refusal
}

// untilMidnight returns the time from now until the next midnight, UTC.
func untilMidnight(now time.Time) time.Duration {
	return now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}
