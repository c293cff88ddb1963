// Package partner asks the partner API whether a person is registered, and for
// their logins.
//
// Both answers are about people, so any doubt is an error: only the contract's forms and
// PARTNER_NOT_FOUND_CODES mean "not registered", and only the contract's forms "no logins".
// An error never holds a DID, a user ID or the service's own text.
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
	"herald/internal/query"
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

// Client asks the API.
//
// Client signs calls with this machine's time plus a correction, 0 at first. If a call is
// refused and the refusal's Date differs from the signed time by more than 2 seconds,
// Client repeats the call once with the time of Date. It keeps a correction that the API
// accepted, and drops it at the next refusal.
type Client struct {
	*query.Upstream
	// Accounts returns a person's account. A person is unregistered if the API reports
	// success without a DID or returns a NotFoundCode, also with a 4xx other than 401,
	// 403, 408 and 429.
	Accounts *query.Query[core.Identity, core.Account]
	// Logins returns the logins of a DID in the past 30 days, newest first. An empty list
	// means none; null is an error.
	Logins *query.Query[string, []core.Login]
	// Ping checks an account and drops the answer.
	Ping *query.Query[struct{}, struct{}]

	settings   Settings
	rest       *rest.Client
	now        func() time.Time
	skew       atomic.Int64 // ns that the last Date was ahead of now; a proxy may have written it
	correction atomic.Int64 // ns to add to now: a skew with which the API accepted a timestamp
}

// anybody is the identity that Ping and Probe ask for.
var anybody = core.Identity{Platform: "Telegram", UID: "1"}

// New returns a Client without contacting the API.
func New(s Settings, cache *query.Cache) *Client {
	client := &Client{settings: s, now: time.Now, rest: rest.New(Service, cache.CallTimeout)}
	client.Upstream = query.NewUpstream(cache, Service, min(s.ExistsTTL, s.LoginsTTL), nil)
	client.Accounts = query.New(client.Upstream, query.Config[core.Identity, core.Account]{
		Name:  "account",
		TTL:   s.ExistsTTL,
		Fetch: client.fetchAccount,
	})
	client.Logins = query.New(client.Upstream, query.Config[string, []core.Login]{
		Name:  "logins",
		TTL:   s.LoginsTTL,
		Fetch: client.fetchLogins,
	})
	client.Ping = query.New(client.Upstream, query.Config[struct{}, struct{}]{
		Name:  "registration",
		TTL:   min(s.ExistsTTL, time.Minute),
		Fetch: func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, client.Probe(ctx) },
	})
	return client
}

// Probe checks an account, past the cache. It returns nil only if the API accepted the
// signature.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.fetchAccount(ctx, anybody)
	return err
}

// Skew returns how far the Date of the API's last answer was ahead of this machine's
// clock, to about a second, less what the duration of the call may explain. It is 0 before
// the first answer.
func (c *Client) Skew() time.Duration { return time.Duration(c.skew.Load()) }

// fetchAccount returns the account of id. It returns an unregistered one only if the API
// knows no spelling of the ID.
func (c *Client) fetchAccount(ctx context.Context, id core.Identity) (found core.Account, err error) {
	for _, uid := range id.Spellings() {
		if found, err = c.exists(ctx, id.Platform, uid); err != nil || found.Registered() {
			break
		}
	}
	return found, err
}

// exists returns the account of one spelling of a user's ID, unregistered for a
// NotFoundCode.
func (c *Client) exists(ctx context.Context, platform, uid string) (core.Account, error) {
	got, err := c.ask(ctx, existenceCheck, map[string]string{"platform": platform, "platform_uid": uid})
	switch {
	case got.code != "" && slices.Contains(c.settings.NotFoundCodes, got.code):
		return core.Account{}, nil
	case err != nil:
		return core.Account{}, err
	}
	return parseAccount(got.data)
}

func (c *Client) fetchLogins(ctx context.Context, did string) ([]core.Login, error) {
	got, err := c.ask(ctx, loginHistory, map[string]string{"did": did})
	if err != nil {
		return nil, err
	}
	return parseLogins(got.data, c.now().Add(time.Duration(c.correction.Load())))
}

// tolerance is the largest difference between skew and correction for which a refused
// call is not repeated. A Date has whole seconds.
const tolerance = 2 * time.Second

// ask sends a signed request, and repeats it once if a wrong clock may be the reason of a
// refusal. It updates correction. For a code other than 0 it returns the code and an error.
func (c *Client) ask(ctx context.Context, e endpoint, members map[string]string) (answer, error) {
	inner := canonical(members)
	correction := time.Duration(c.correction.Load())
	got, err := c.attempt(ctx, e, inner, correction)
	if skew := c.Skew(); c.refused(got, err) && (skew-correction).Abs() > tolerance {
		correction = skew
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

// refused reports whether the API refused the call, which a wrong timestamp may cause. A
// NotFoundCode is an answer and not a refusal.
func (c *Client) refused(got answer, err error) bool {
	refusal := got.code != "" && !slices.Contains(c.settings.NotFoundCodes, got.code)
	return refusal || core.ReasonOf(err) == core.Denied
}

// attempt makes one call, signed with this machine's time plus the correction, and sets
// skew. After a status that rejects the request, the body counts only if it has a code.
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
		// The Date was written during the round trip, and cut to whole seconds. Half of the
		// trip either way is no skew.
		trip := c.now().Sub(sent)
		ahead := resp.Date.Add(time.Second / 2).Sub(sent.Add(trip / 2))
		c.skew.Store(int64(ahead - min(max(ahead, -trip/2), trip/2)))
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

// canonical returns members as JSON in the form that the service signs: in alphabetical
// order, without white space, and with HTML characters unescaped.
func canonical(members map[string]string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(members) // a map of strings cannot fail to encode
	return strings.TrimSuffix(b.String(), "\n")
}

// endpoint is one of the API's two calls. Errors hold its name.
type endpoint struct{ name, path string }

var (
	existenceCheck = endpoint{name: "existence check", path: "/api/v1/partner/user/exists"}
	loginHistory   = endpoint{name: "login history", path: "/api/v1/partner/user/dapps/login/log"}
)

func (e endpoint) fail(reason core.Reason, err error) error {
	failed := Service.Fail(reason, err).During(e.name)
	failed.Asked = http.MethodPost + " " + e.path
	return failed
}

func (e endpoint) malformed(problem string) error { return e.fail(core.Malformed, errors.New(problem)) }

// answer is the parsed body of a response.
type answer struct {
	code string // the API's own; empty: success
	data any    // of a success; nil: null or absent
}

// parse returns the answer in a body. For a code other than 0 it returns the code and a
// Rejected error. It takes absent data for null, unless another member may be the answer.
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
		// A refusal's code may be a text, but success is promised as the number 0.
		return answer{}, e.malformed("no code that is a number")
	case code != "0":
		err := errors.New("answered with a code other than 0")
		// Operators need the code for PARTNER_NOT_FOUND_CODES; a text or a long number may
		// be somebody's ID.
		if n, notNumber := strconv.Atoi(code); notNumber == nil && len(code) <= 6 {
			err = fmt.Errorf("answered with code %d", n)
		}
		return answer{code: code}, e.fail(core.Rejected, err)
	}
	data, named := object["data"]
	delete(object, "success") // repeats the code
	if !named && slices.ContainsFunc(slices.Collect(maps.Values(object)), mayBeAnswer) {
		return answer{}, e.malformed("no data, and something else in its place")
	}
	return answer{data: data}, nil
}

// mayBeAnswer reports whether the value of an unknown member may be the answer in place of
// data: a DID, true, an object or a list. A message or a time is not.
func mayBeAnswer(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return true
	case string:
		return didPattern.MatchString(v)
	}
	return v == true
}

// didPattern matches a DID: its method and an identifier of printable ASCII.
var didPattern = regexp.MustCompile(`^did:[A-Za-z0-9]+:[!-~]{1,255}$`)

// parseAccount returns the account in data. It is unregistered for null, for an object
// without members, and for an empty or null "did". It fails for any other data without a
// DID.
func parseAccount(data any) (core.Account, error) {
	user, isObject := data.(map[string]any)
	id, named := user["did"]
	text, _ := id.(string)
	switch {
	case data == nil, isObject && len(user) == 0, named && (id == nil || id == ""):
		return core.Account{}, nil
	case !didPattern.MatchString(text):
		return core.Account{}, existenceCheck.malformed("no DID of the form did:<method>:<identifier>")
	}
	return core.Account{DID: text}, nil
}

// maxAge bounds the age of a login that parseLogins returns.
const maxAge = 30 * 24 * time.Hour

// earliestLogin is the earliest time of a login that is plausible. A time in minutes or
// days would be before it.
var earliestLogin = time.Unix(1_000_000_000, 0)

// maxAhead bounds how far a login's time may be after now. A time in milliseconds would
// be far beyond it.
const maxAhead = time.Hour

// parseLogins returns the logins of the past 30 days, newest first. A record with an empty
// name is valid, one without a name is an error.
func parseLogins(data any, now time.Time) (logins []core.Login, err error) {
	records, ok := data.([]any)
	if !ok {
		return nil, loginHistory.malformed("data is not a list")
	}
	for _, r := range records {
		record, _ := r.(map[string]any)
		dapp, named := record["dapp_name"].(string)
		platform, placed := record["login_platform"].(string)
		seconds, err := strconv.ParseInt(rest.Text(record["login_time"]), 10, 64)
		at := time.Unix(seconds, 0).UTC()
		switch {
		case !named || !placed:
			return nil, loginHistory.malformed("a login without the names of its dapp and platform")
		case err != nil || at.Before(earliestLogin) || at.After(now.Add(maxAhead)):
			return nil, loginHistory.malformed("a login without a possible time in Unix seconds")
		case !at.Before(now.Add(-maxAge)):
			logins = append(logins, core.Login{Dapp: dapp, Platform: platform, At: at})
		}
	}
	slices.SortStableFunc(logins, func(a, b core.Login) int { return b.At.Compare(a.At) })
	return logins, nil
}
