// Package partner asks the partner API whether a person is registered, and for
// their logins.
//
// Both answers are about people, so any doubt is an error: only what the API's
// contract names means "not registered" or "no logins". DIDs, user IDs and what
// the service says never get into an error.
package partner

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// Service is the partner API.
var Service = &core.Service{
	Name:  "partner",
	Title: "partner API",
	Settings: map[core.Reason]string{
		"":          "PARTNER_BASE_URL",
		core.Denied: "PARTNER_APP_ID and PARTNER_SECRET_KEY",
		core.Rejected: "PARTNER_BASE_URL, PARTNER_APP_ID and PARTNER_SECRET_KEY; " +
			`or list the code in PARTNER_NOT_FOUND_CODES if it means "no such user"`,
	},
}

// Client asks the API. Its Upstream's Ping asks for an account and forgets the
// answer.
//
// Calls are signed with this machine's time. A refused call, perhaps for its
// timestamp, is repeated once at once with the time by the refusal's Date, if that
// differs by more than 2 seconds. If that time is accepted, later calls are signed
// with it, until one of them is refused for good.
type Client struct {
	*core.Upstream
	// Accounts tells whether a person is registered. A person is unregistered if the API
	// reports success without a DID or returns a NotFoundCode, also with a 4xx other than
	// 401, 403, 408 and 429.
	Accounts *core.Query[core.Identity, core.Account]
	// Logins are the logins of a DID in the past 30 days, newest first. Only an empty
	// list says that there are none; null does not.
	Logins *core.Query[string, []core.Login]

	settings Settings
	rest     *rest.Client
	now      func() time.Time
	// A Date may be a proxy's whose clock is off, so it is only a guess: a correction
	// is kept once the service has accepted a timestamp made with it.
	ahead      atomic.Int64 // nanoseconds that the last Date was ahead of now
	correction atomic.Int64 // nanoseconds to add to now
}

// anybody is whom Ping and Probe ask for.
var anybody = core.Identity{Platform: "Telegram", UID: "1"}

// New makes a client. It asks nothing.
func New(s Settings, c *core.Cache) *Client {
	p := &Client{settings: s, now: time.Now, rest: rest.New(Service, c.CallTimeout)}
	p.Upstream = core.NewUpstream(c, Service, min(s.ExistsTTL, s.LoginsTTL), nil)
	p.Accounts = core.NewQuery(p.Upstream, &core.Query[core.Identity, core.Account]{
		Name: "account", TTL: s.ExistsTTL, Fetch: p.account,
	})
	p.Logins = core.NewQuery(p.Upstream, &core.Query[string, []core.Login]{
		Name: "logins", TTL: s.LoginsTTL, Fetch: p.logins,
	})
	core.PingWith(p.Upstream, core.NewQuery(p.Upstream, &core.Query[struct{}, struct{}]{
		Name: "registration", TTL: min(s.ExistsTTL, time.Minute),
		Fetch: func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, p.Probe(ctx) },
	}))
	return p
}

// Probe asks for an account, past the cache. Without an error the service has
// accepted the signature.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.account(ctx, anybody)
	return err
}

// Skew is how far the Date of the API's last answer was ahead of this machine's
// clock, to about a second; 0 before the first answer. What the round trip may
// account for is not counted.
func (c *Client) Skew() time.Duration { return time.Duration(c.ahead.Load()) }

// account asks who somebody is. It is "no" only if every spelling of their ID gets
// a "no".
func (c *Client) account(ctx context.Context, id core.Identity) (found core.Account, err error) {
	for _, uid := range id.Spellings() {
		if found, err = c.exists(ctx, id.Platform, uid); err != nil || found.Registered() {
			break
		}
	}
	return found, err
}

func (c *Client) exists(ctx context.Context, platform, uid string) (core.Account, error) {
	got, err := c.ask(ctx, existence, map[string]string{"platform": platform, "platform_uid": uid})
	switch {
	case got.code != "" && slices.Contains(c.settings.NotFoundCodes, got.code):
		return core.Account{}, nil
	case err != nil:
		return core.Account{}, err
	}
	return parseAccount(got.data)
}

func (c *Client) logins(ctx context.Context, of string) ([]core.Login, error) {
	got, err := c.ask(ctx, history, map[string]string{"did": of})
	if err != nil {
		return nil, err
	}
	return parseLogins(got.data, c.now().Add(time.Duration(c.correction.Load())))
}

// tolerance is how far apart two times may be and still count as the same. The
// resolution of a Date is a second.
const tolerance = 2 * time.Second

// ask sends a signed request, once more if the clock may be why it was refused.
// There is an answer beside the error if the service refused with a code of its
// own.
func (c *Client) ask(ctx context.Context, e endpoint, members map[string]string) (answer, error) {
	inner := canonical(members)
	correction := time.Duration(c.correction.Load())
	got, err := c.attempt(ctx, e, inner, correction)
	if byDate := c.Skew(); c.refused(got, err) && (byDate-correction).Abs() > tolerance {
		correction = byDate
		got, err = c.attempt(ctx, e, inner, correction)
	}
	switch {
	case c.refused(got, err):
		c.correction.Store(0)
	case err == nil || got.code != "":
		c.correction.Store(int64(correction))
	}
	return got, err
}

// refused reports whether the service may have refused a call for its
// timestamp. A code that means "no such user" is an answer.
func (c *Client) refused(got answer, err error) bool {
	rejected := got.code != "" && !slices.Contains(c.settings.NotFoundCodes, got.code)
	return rejected || core.ReasonOf(err) == core.Denied
}

// attempt makes one call, signed for this machine's time with that correction. The
// body of a status other than success counts only if the service understood the
// request and rejected it with a code.
func (c *Client) attempt(ctx context.Context, e endpoint, inner string, correction time.Duration) (answer, error) {
	address, err := url.Parse(c.settings.URL + e.path)
	if err != nil {
		return answer{}, e.fail(core.Unreachable, errors.New("the base URL is not valid"))
	}
	sent := c.now()
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: e.name,
		URL:     address.String(),
		Header:  c.sign(sent.Add(correction), address.EscapedPath(), inner),
		Body:    []byte(canonical(map[string]string{"requestBody": inner})),
	})
	if resp != nil && !resp.Date.IsZero() {
		// The service wrote the Date at some time in between, and cut it to whole
		// seconds. What the round trip may account for is no skew.
		trip := c.now().Sub(sent)
		ahead := resp.Date.Add(time.Second / 2).Sub(sent.Add(trip / 2))
		c.ahead.Store(int64(ahead - min(max(ahead, -trip/2), trip/2)))
	}
	if err != nil && core.ReasonOf(err) != core.Rejected {
		return answer{}, err
	}
	got, parseErr := e.parse(resp.Body)
	if err != nil && got.code == "" {
		return answer{}, err
	}
	return got, parseErr
}

// sign returns the headers of a POST of inner to path at that time.
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

// canonical writes members as the service does when it checks a signature: in
// alphabetical order, without white space. HTML characters stay as they are: only
// Go escapes them, and the service would sign other bytes.
func canonical(members map[string]string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(members) // a map of strings cannot fail to encode
	return strings.TrimSuffix(b.String(), "\n")
}

// endpoint is one of the API's two questions.
type endpoint struct{ name, path string }

var (
	existence = endpoint{name: "existence check", path: "/api/v1/partner/user/exists"}
	history   = endpoint{name: "login history", path: "/api/v1/partner/user/dapps/login/log"}
)

func (e endpoint) fail(reason core.Reason, err error) error {
	return Service.Fail(reason, err).During(e.name)
}

func (e endpoint) malformed(problem string) error { return e.fail(core.Malformed, errors.New(problem)) }

// answer is what the service said.
type answer struct {
	code string // the service's own, if it refused with one
	data any
}

// parse reads a body. Any code but 0 makes it a rejection. Data that is absent is
// null, unless something else is there in its place.
func (e endpoint) parse(body []byte) (answer, error) {
	v, err := rest.Parse(body)
	if err != nil {
		return answer{}, e.fail(core.Malformed, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return answer{}, e.malformed("not an object")
	}
	switch code := rest.Text(object["code"]); {
	case code == "", object["code"] == "0":
		// A refusal's code may be a text. Success is promised as the number 0, so
		// what comes with "0" is not to be trusted.
		return answer{}, e.malformed("no code that is a number")
	case code != "0":
		err := errors.New("answered with a code other than 0")
		// An operator may list the code, unless it is a text or a number as long as
		// somebody's ID.
		if n, notNumber := strconv.Atoi(code); notNumber == nil && len(code) <= 6 {
			err = fmt.Errorf("answered with code %d", n)
		}
		return answer{code: code}, e.fail(core.Rejected, err)
	}
	data, named := object["data"]
	delete(object, "success") // which says no more than the code
	if !named && slices.ContainsFunc(slices.Collect(maps.Values(object)), says) {
		return answer{}, e.malformed("no data, and something else in its place")
	}
	return answer{data: data}, nil
}

// says reports whether a member beside the code may be the answer in place of data.
// Texts and numbers such as a message or a time are not.
func says(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return true
	case string:
		return did.MatchString(v)
	}
	return v == true
}

// did is the form of a DID: its method and an identifier of printable ASCII.
var did = regexp.MustCompile(`^did:[A-Za-z0-9]+:[!-~]{1,255}$`)

// parseAccount reads who somebody is. An object with members but without "did" is
// an answer of another form, and not a no.
func parseAccount(data any) (core.Account, error) {
	user, isObject := data.(map[string]any)
	id, named := user["did"]
	text, _ := id.(string)
	switch {
	case data == nil, isObject && len(user) == 0, named && (id == nil || id == ""):
		return core.Account{}, nil
	case !did.MatchString(text):
		return core.Account{}, existence.malformed("no DID of the form did:<method>:<identifier>")
	}
	return core.Account{DID: text}, nil
}

// maxAge is how far back logins count.
const maxAge = 30 * 24 * time.Hour

// A login's time is in seconds only if it lies between earliest and a little
// after now: a time in milliseconds would be in the far future, one in days or
// minutes in the far past.
var earliest = time.Unix(1_000_000_000, 0)

const maxAhead = time.Hour

// parseLogins reads the records, newest first. Names may be empty, but not missing.
func parseLogins(data any, now time.Time) (logins []core.Login, err error) {
	records, ok := data.([]any)
	if !ok {
		return nil, history.malformed("data is not a list")
	}
	for _, r := range records {
		record, _ := r.(map[string]any)
		dapp, named := record["dapp_name"].(string)
		platform, placed := record["login_platform"].(string)
		seconds, err := strconv.ParseInt(rest.Text(record["login_time"]), 10, 64)
		at := time.Unix(seconds, 0).UTC()
		switch {
		case !named || !placed:
			return nil, history.malformed("a login without the names of its dapp and platform")
		case err != nil || at.Before(earliest) || at.After(now.Add(maxAhead)):
			return nil, history.malformed("a login without a possible time in Unix seconds")
		case !at.Before(now.Add(-maxAge)):
			logins = append(logins, core.Login{Dapp: dapp, Platform: platform, At: at})
		}
	}
	slices.SortStableFunc(logins, func(a, b core.Login) int { return b.At.Compare(a.At) })
	return logins, nil
}
