package partner

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// endpoint is one of the API's two calls.
type endpoint struct {
	name string // in errors
	path string
}

var (
	existenceCheck = endpoint{name: "existence check", path: "/api/v1/partner/user/exists"}
	loginHistory   = endpoint{name: "login history", path: "/api/v1/partner/user/dapps/login/log"}
)

// fail returns the error of a call of the endpoint that failed for a reason.
func (e endpoint) fail(reason core.Reason, err error) error {
	failed := Service.Fail(reason, err).During(e.name)
	failed.Asked = http.MethodPost + " " + e.path
	return failed
}

func (e endpoint) malformed(problem string) error { return e.fail(core.Malformed, errors.New(problem)) }

// Skew returns how far the Date of the API's last answer was ahead of this machine's clock, to about a second. A
// difference that the duration of the call may explain does not count. Skew is 0 before the first answer.
func (c *Client) Skew() time.Duration { return time.Duration(c.skew.Load()) }

// tolerance is the minimum difference between skew and correction for a second attempt. A Date has whole seconds.
const tolerance = 2 * time.Second

// ask makes a signed call of an endpoint, with these members as the question. If the API refuses the call, and a wrong
// clock may be the reason, ask makes a second one. It updates correction. If the API returns a code other than 0, ask
// returns the code and an error.
func (c *Client) ask(ctx context.Context, e endpoint, members map[string]string) (answer, error) {
	inner := canonical(members)
	correction := time.Duration(c.correction.Load())
	got, err := c.attempt(ctx, e, inner, correction)
	skew := c.Skew()
	mayBeClock := (skew - correction).Abs() > tolerance
	if c.isRefused(got, err) && mayBeClock {
		correction = skew
		got, err = c.attempt(ctx, e, inner, correction)
	}
	if c.isRefused(got, err) {
		c.correction.Store(0)
		return got, err
	}
	isAccepted := err == nil || c.isNotFound(got)
	if isAccepted {
		c.correction.Store(int64(correction))
	}
	return got, err
}

// isRefused reports whether the API refused the call, perhaps because of its timestamp. A NotFoundCode is not a
// refusal.
func (c *Client) isRefused(got answer, err error) bool {
	if core.ReasonOf(err) == core.Denied {
		return true
	}
	return got.code != noCode && !c.isNotFound(got)
}

// attempt makes one call, signed with this machine's time plus the correction, and sets skew. inner is the JSON that is
// signed, and sent as a text in the request's JSON. If the HTTP status rejects the request, the body counts only if it
// has a code other than 0.
func (c *Client) attempt(ctx context.Context, e endpoint, inner string, correction time.Duration) (answer, error) {
	address, err := url.Parse(c.settings.URL + e.path)
	if err != nil {
		return answer{}, e.fail(core.Unreachable, errors.New("the base URL is not valid"))
	}
	sent := c.now()
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: e.name,
		Base:    c.settings.URL,
		Path:    e.path,
		Header:  c.sign(sent.Add(correction), address.EscapedPath(), inner),
		Body:    []byte(canonical(map[string]string{"requestBody": inner})),
	})
	if resp != nil && !resp.Date.IsZero() {
		c.skew.Store(int64(skewOf(resp.Date, sent, c.now())))
	}
	if err != nil && core.ReasonOf(err) != core.Rejected {
		return answer{}, err
	}
	got, parseErr := e.parse(resp.Body)
	isRejectedByStatus := err != nil
	if isRejectedByStatus && got.code == noCode {
		return answer{}, err
	}
	return got, parseErr
}

// skewOf returns how far date was ahead of this machine's clock. The service wrote date during a call, in whole
// seconds. sent and received are when the call began and ended by this machine's clock. Because date may be of any
// moment of the call, a difference of up to half of its duration does not count.
//
// For example, a call is sent at 12:00:00.0 and answered at 12:00:01.0. The middle of a Date of 12:00:05 is 12:00:05.5,
// which is 5 s ahead of the middle of the call: the skew is 4.5 s.
func skewOf(date, sent, received time.Time) time.Duration {
	half := received.Sub(sent) / 2
	ahead := date.Add(time.Second / 2).Sub(sent.Add(half))
	explained := min(max(ahead, -half), half)
	return ahead - explained
}

// sign returns the headers of a POST of inner to path, with at as the timestamp.
func (c *Client) sign(at time.Time, path, inner string) http.Header {
	timestamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(c.settings.SecretKey.Reveal()))
	mac.Write([]byte(timestamp + http.MethodPost + path + inner))
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("appid", c.settings.AppID)
	header.Set("timestamp", timestamp)
	header.Set("sign", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return header
}

// canonical returns members as JSON in the form that the service signs: in alphabetical order, without white space, and
// without escapes of HTML characters.
func canonical(members map[string]string) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(members) // A map of strings can always be encoded.
	return strings.TrimSuffix(text.String(), "\n")
}
