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
	"net/http"
	"net/url"
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
	// Accounts are whether people are registered. Somebody is not if the API
	// says success without a DID, or one of the NotFoundCodes, which count also with
	// a status of 4xx, but for credentials, time and limits.
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

// maxPingTTL is how long an answer to Ping is cached at most.
const maxPingTTL = time.Minute

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
		Name: "registration", TTL: min(s.ExistsTTL, maxPingTTL),
		Fetch: func(ctx context.Context, _ struct{}) (struct{}, error) {
			_, err := p.account(ctx, anybody)
			return struct{}{}, err
		},
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

// tolerance is how far apart two times may be and still count as the same. The
// resolution of a Date is a second.
const tolerance = 2 * time.Second

func same(a, b time.Duration) bool { return (a - b).Abs() <= tolerance }

// account asks who somebody is. Nobody says whether the service compares letters
// exactly, so a "no" about an EVM wallet counts only if its lower-case form gets
// one too.
func (c *Client) account(ctx context.Context, id core.Identity) (core.Account, error) {
	found, err := c.exists(ctx, id)
	if lower := strings.ToLower(id.UID); err == nil && !found.Registered() && id.Platform == core.EVM && lower != id.UID {
		return c.exists(ctx, core.Identity{Platform: id.Platform, UID: lower})
	}
	return found, err
}

func (c *Client) exists(ctx context.Context, id core.Identity) (core.Account, error) {
	got, err := c.ask(ctx, existence, map[string]string{"platform": id.Platform, "platform_uid": id.UID})
	switch {
	case got.code != "" && slices.Contains(c.settings.NotFoundCodes, got.code):
		return core.Account{}, nil
	case err != nil:
		return core.Account{}, err
	}
	return parseAccount(got.data)
}

func (c *Client) logins(ctx context.Context, of string) ([]core.Login, error) {
	if !did.MatchString(of) {
		return nil, history.fail(core.Rejected, errors.New("no DID to ask for"))
	}
	got, err := c.ask(ctx, history, map[string]string{"did": of})
	if err != nil {
		return nil, err
	}
	return parseLogins(got.data, c.now().Add(time.Duration(c.correction.Load())))
}

// ask sends a signed request, once more if the clock may be why it was refused.
// There is an answer beside the error if the service refused with a code of its
// own.
func (c *Client) ask(ctx context.Context, e endpoint, members map[string]string) (answer, error) {
	inner := canonical(members)
	correction := time.Duration(c.correction.Load())
	got, err := c.attempt(ctx, e, inner, correction)
	if byDate := c.Skew(); c.refused(got, err) && !same(byDate, correction) {
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
	failure, _ := errors.AsType[*core.Error](err)
	rejected := got.code != "" && !slices.Contains(c.settings.NotFoundCodes, got.code)
	return rejected || failure != nil && failure.Reason == core.Denied
}

// attempt makes one call, signed for this machine's time with that correction.
func (c *Client) attempt(ctx context.Context, e endpoint, inner string, correction time.Duration) (answer, error) {
	address, err := url.Parse(c.settings.URL + e.path)
	if err != nil {
		return answer{}, e.fail(core.Unreachable, errors.New("the base URL is not valid"))
	}
	sent := c.now()
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: e.name,
		Method:  http.MethodPost,
		URL:     address.String(),
		Header:  c.sign(sent.Add(correction), address.EscapedPath(), inner),
		Body:    []byte(canonical(map[string]string{"requestBody": inner})),
	})
	if resp != nil && !resp.Date.IsZero() {
		// The service wrote the Date at some time in between, and cut it to whole
		// seconds. What the round trip may account for is no skew.
		trip := c.now().Sub(sent)
		ahead := resp.Date.Add(time.Second / 2).Sub(sent.Add(trip / 2))
		doubt := max(trip/2, 0)
		ahead -= min(max(ahead, -doubt), doubt)
		c.ahead.Store(int64(ahead))
	}
	return e.open(resp, err)
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
