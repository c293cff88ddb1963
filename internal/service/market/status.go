package market

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// The codes of status.error_code that say more than an HTTP status
// (https://coinmarketcap.com/api/documentation/guides/errors-and-rate-limits).
const (
	firstKeyCode = 1001 // key invalid; up to 1007: missing, not paid for, disabled …
	lastKeyCode  = 1007
	minuteCode   = 1008 // resets every 60 seconds
	dayCode      = 1009 // resets at midnight, UTC
	monthCode    = 1010 // resets with the month, UTC
	addressCode  = 1011 // limits this machine's address; no time is published
)

// firstAddressPause follows the first of several answers in a row that limit
// this machine's address. Each further one doubles it, up to what core allows.
const firstAddressPause = time.Minute

// status is what an answer says of itself.
type status struct {
	code int
	// at is the provider's clock; zero if it does not say.
	at time.Time
}

// parseStatus reads a whole answer and its status.
func parseStatus(body []byte) (answer map[string]any, s status, err error) {
	v, err := rest.Parse(body)
	if err != nil {
		return nil, status{}, err
	}
	answer, _ = v.(map[string]any)
	told, ok := answer["status"].(map[string]any)
	if !ok {
		return nil, status{}, errors.New("no status")
	}
	s.code, err = strconv.Atoi(rest.Text(told["error_code"]))
	if err != nil {
		return nil, status{}, errors.New("status without an error code")
	}
	s.at, _ = time.Parse(time.RFC3339, rest.Text(told["timestamp"]))
	return answer, s, nil
}

// err words a code other than 0. Anything but the provider's own codes repeats
// an HTTP status. When a limit is reset goes by the provider's clock, or by now
// if it does not tell: this machine's may be off. times counts how often in a row
// this machine's address has been limited.
func (s status) err(now time.Time, times int) *core.Error {
	e := Service.Fail(core.Rejected, fmt.Errorf("quote: answered with error code %d", s.code))
	if !s.at.IsZero() {
		now = s.at
	}
	now = now.UTC()
	switch {
	case s.code >= firstKeyCode && s.code <= lastKeyCode:
		e.Reason = core.Denied
	case s.code == minuteCode:
		e.Reason, e.RetryAfter = core.Limited, time.Minute
	case s.code == dayCode:
		tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
		e.Reason, e.RetryAfter = core.UsedUp, tomorrow.Sub(now)
	case s.code == monthCode:
		next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		e.Reason, e.RetryAfter = core.UsedUp, next.Sub(now)
	case s.code == addressCode:
		e.Reason, e.RetryAfter = core.Limited, firstAddressPause<<min(times-1, 10)
	}
	return e
}

// refused is the error of a call that failed: by the provider's own code if its
// answer has one, else as it was. Of two times to wait the longer counts, unless
// the reset of a limit is known.
func (c *Client) refused(resp *rest.Response, err error) error {
	failure, ok := errors.AsType[*core.Error](err)
	if resp == nil || !ok {
		return err
	}
	_, s, statusErr := parseStatus(resp.Body)
	if statusErr != nil || s.code < firstKeyCode || s.code > addressCode {
		return err
	}
	e := c.limited(s)
	if e.Reason != core.UsedUp {
		e.RetryAfter = max(e.RetryAfter, failure.RetryAfter)
	}
	return e
}

// limited is s.err, with the count of how often in a row the address was limited.
func (c *Client) limited(s status) *core.Error {
	times := int32(0)
	if s.code == addressCode {
		times = c.addressLimits.Add(1)
	} else {
		c.addressLimits.Store(0)
	}
	return s.err(time.Now(), int(times))
}
