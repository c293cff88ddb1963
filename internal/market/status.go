package market

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"herald/internal/core"
	"herald/internal/rest"
)

// The codes of status.error_code that say more than an HTTP status
// (https://coinmarketcap.com/api/documentation/guides/errors-and-rate-limits).
const (
	firstKeyCode = 1001 // key invalid; up to 1007: missing, not paid for, disabled …
	lastKeyCode  = 1007
	minuteCode   = 1008 // resets every 60 seconds
	dayCode      = 1009
	monthCode    = 1010
	addressCode  = 1011 // limits this machine's address; no time is published
)

// parseStatus reads a whole answer and its status.error_code.
func parseStatus(body []byte) (answer map[string]any, code int, err error) {
	v, err := rest.Parse(body)
	if err != nil {
		return nil, 0, err
	}
	answer, _ = v.(map[string]any)
	status, ok := answer["status"].(map[string]any)
	if !ok {
		return nil, 0, errors.New("no status")
	}
	code, err = strconv.Atoi(rest.Text(status["error_code"]))
	if err != nil {
		return nil, 0, errors.New("status without an error code")
	}
	return answer, code, nil
}

// codeError words a code other than 0. Anything but the provider's own codes
// repeats an HTTP status.
func codeError(code int, now time.Time) *core.Error {
	e := Service.Fail(core.Rejected, fmt.Errorf("quote: answered with error code %d", code))
	now = now.UTC()
	switch {
	case code >= firstKeyCode && code <= lastKeyCode:
		e.Reason = core.Denied
	case code == minuteCode:
		e.Reason, e.RetryAfter = core.Limited, time.Minute
	case code == dayCode:
		tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
		e.Reason, e.RetryAfter = core.Limited, tomorrow.Sub(now)
	case code == monthCode:
		next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		e.Reason, e.RetryAfter = core.Limited, next.Sub(now)
	case code == addressCode:
		e.Reason = core.Limited
	}
	return e
}

// refusal is the error of a call that failed: by the provider's own code if
// its answer has one, else as it was. The longer of two times to wait counts.
func refusal(resp *rest.Response, err error, now time.Time) error {
	failure, ok := errors.AsType[*core.Error](err)
	if resp == nil || !ok {
		return err
	}
	_, code, statusErr := parseStatus(resp.Body)
	if statusErr != nil || code < firstKeyCode || code > addressCode {
		return err
	}
	e := codeError(code, now)
	e.RetryAfter = max(e.RetryAfter, failure.RetryAfter)
	return e
}
