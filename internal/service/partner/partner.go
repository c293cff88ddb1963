// Package partner asks the partner API whether a person is registered, and for
// their logins.
//
// Both answers are about people, so the smallest doubt is an error: only what
// the API's contract names means "not registered" or "no logins". DIDs, user
// IDs and what the service says never get into an error.
package partner

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
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

// Client asks the API.
//
// Calls are signed with this machine's time. One that was refused, perhaps for
// its timestamp, is made once more at once with the time by the refusal's Date,
// if that is more than 2 seconds away. If that time is accepted, later calls are
// signed with it, until one of them is refused for good.
type Client struct {
	// Accounts are whether people are registered. Somebody is not if the API
	// says success without a DID, or one of the NotFoundCodes; that code counts
	// also with a status of 4xx other than those for credentials, time and
	// limits.
	Accounts *core.Cached[core.Identity, core.Account]
	// Logins are those of a DID in the past 30 days, newest first. Success
	// without a list, null included, is no answer: only an empty list says
	// that there are none.
	Logins *core.Cached[string, []core.Login]
	// Registration asks for the account that Probe asks for, and forgets the
	// answer. That it was answered is kept for a minute at most.
	Registration *core.Cached[struct{}, struct{}]

	settings Settings
	clock    clock
	rest     *rest.Client
}

// New makes a client. It asks nothing.
func New(s Settings, c *core.Cache) *Client {
	p := &Client{settings: s, clock: clock{now: time.Now}, rest: rest.New(Service, c.CallTimeout)}
	breaker := core.NewBreaker(c, Service, min(s.ExistsTTL, s.LoginsTTL), nil)
	p.Accounts = core.NewCached(breaker, core.Query[core.Identity, core.Account]{
		Name: "account", TTL: s.ExistsTTL, Fetch: p.account,
	})
	p.Logins = core.NewCached(breaker, core.Query[string, []core.Login]{
		Name: "logins", TTL: s.LoginsTTL, Fetch: p.logins, Clone: slices.Clone[[]core.Login],
	})
	p.Registration = core.NewCached(breaker, core.Query[struct{}, struct{}]{
		Name: "registration", TTL: min(s.ExistsTTL, registrationTTL),
		Fetch: func(ctx context.Context, _ struct{}) (struct{}, error) {
			_, err := p.account(ctx, anybody)
			return struct{}{}, err
		},
	})
	return p
}

// registrationTTL is how long it is known that Registration was answered.
const registrationTTL = time.Minute

// anybody is whom Probe and Registration ask for; the answer does not matter.
var anybody = core.Identity{Platform: "Telegram", UID: "1"}

// Clocks is what Probe has learned of the service's clock.
type Clocks struct {
	// Known is whether an answer was dated. Then Ahead is how far its date was
	// ahead of this machine's clock; 0 is less than two seconds.
	Known bool
	Ahead time.Duration
	// Allowed is whether the service accepts what is signed with its own time,
	// and the client does so.
	Allowed bool
}

// Probe asks for an account, past the cache. Without an error the service has
// accepted the signature.
func (c *Client) Probe(ctx context.Context) (Clocks, error) {
	_, err := c.account(ctx, anybody)
	found := Clocks{Known: c.clock.dated.Load()}
	if ahead := c.Skew(); !same(ahead, 0) {
		found.Ahead, found.Allowed = ahead, same(ahead, c.clock.corrected())
	}
	return found, err
}

// Skew is how far the Date of the API's last answer was ahead of this machine's
// clock, to about a second; 0 before the first answer. What the round trip may
// account for is not counted.
func (c *Client) Skew() time.Duration { return time.Duration(c.clock.ahead.Load()) }

// endpoint is one of the API's two questions.
type endpoint struct{ name, path string }

var (
	existence = endpoint{"existence check", "/api/v1/partner/user/exists"}
	history   = endpoint{"login history", "/api/v1/partner/user/dapps/login/log"}
)

// fail makes an error of the endpoint.
func (e endpoint) fail(reason core.Reason, err error) error {
	return Service.Fail(reason, err).During(e.name)
}

func (e endpoint) malformed(problem string) error { return e.fail(core.Malformed, errors.New(problem)) }

func (c *Client) account(ctx context.Context, id core.Identity) (core.Account, error) {
	if id.Platform == "" || id.UID == "" {
		return core.Account{}, existence.fail(core.Rejected, errors.New("no user to ask for"))
	}
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
	return parseLogins(got.data, c.clock.now().Add(c.clock.corrected()))
}

// ask sends a signed request and returns its answer. Both are there if the
// service refused with a code of its own. A refusal may be the clock's fault, so
// the call is made once more with the time by the refusal's Date.
func (c *Client) ask(ctx context.Context, e endpoint, members map[string]string) (answer, error) {
	address, err := url.Parse(c.settings.URL + e.path)
	if err != nil {
		return answer{}, e.fail(core.Unreachable, errors.New("the base URL is not valid"))
	}
	inner := canonical(members)
	correction := c.clock.corrected()
	got, err := c.attempt(ctx, e, address, inner, correction)
	if byDate := c.Skew(); c.refused(got, err) && !same(byDate, correction) {
		correction = byDate
		got, err = c.attempt(ctx, e, address, inner, correction)
	}
	switch {
	case c.refused(got, err):
		c.clock.correction.Store(0)
	case err == nil || got.code != "":
		c.clock.correction.Store(int64(correction))
	}
	return got, err
}

// refused reports whether the service may have refused a call for its
// timestamp. A code that means "no such user" is an answer.
func (c *Client) refused(got answer, err error) bool {
	failure, _ := errors.AsType[*core.Error](err)
	return got.code != "" && !slices.Contains(c.settings.NotFoundCodes, got.code) || failure != nil && failure.Reason == core.Denied
}

// attempt makes one call, signed for this machine's time with that correction.
func (c *Client) attempt(ctx context.Context, e endpoint, address *url.URL, inner string, correction time.Duration) (answer, error) {
	before := c.clock.now()
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: e.name,
		Method:  http.MethodPost,
		URL:     address.String(),
		Header:  c.sign(before.Add(correction), address.EscapedPath(), inner),
		Body:    []byte(canonical(map[string]string{"requestBody": inner})),
	})
	if resp != nil {
		c.clock.learn(resp.Date, before)
	}
	return e.open(resp, err)
}
