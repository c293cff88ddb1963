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
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"herald/internal/core"
	"herald/internal/rest"
)

// Config says how to reach the API.
type Config struct {
	// BaseURL is its origin, perhaps with a path prefix. The prefix is part of
	// the path that is signed: that is the path of the request, and the service
	// cannot see which part of it the settings call a prefix. A proxy that cuts
	// a prefix off must not be used as BaseURL.
	BaseURL   string
	AppID     string
	SecretKey string
	// NotFoundCodes are the codes of the existence check that mean "no such
	// user".
	NotFoundCodes []string
	// Timeout bounds one call; an answer may need two, see Client.
	Timeout time.Duration
	// MaxConns bounds the connections to the API.
	MaxConns int
	// Now is this machine's clock; nil = time.Now.
	Now func() time.Time
}

// Client is a core.AccountSource.
//
// It learns from every answer how far this machine's clock is off. Timestamps
// are corrected if that is more than 2 seconds, and a call that was refused
// while its timestamp was off by more is repeated once, at once.
type Client struct {
	base     string
	appID    string
	secret   []byte
	notFound []string
	clock    clock
	rest     *rest.Client
}

// New makes a client. It asks nothing.
func New(c Config) *Client {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return &Client{
		base:     strings.TrimRight(c.BaseURL, "/"),
		appID:    c.AppID,
		secret:   []byte(c.SecretKey),
		notFound: slices.Clone(c.NotFoundCodes),
		clock:    clock{now: now},
		rest:     rest.New(core.Partner, c.Timeout, c.MaxConns),
	}
}

// Skew is how far the API's clock is ahead of this machine's, as the last
// answer showed, to about a second; false if no answer has told yet. What the
// round trip may account for is not counted.
func (c *Client) Skew() (time.Duration, bool) { return c.clock.skew() }

// endpoint is one of the API's two questions.
type endpoint struct{ name, path string }

var (
	existence = endpoint{"existence check", "/api/v1/partner/user/exists"}
	history   = endpoint{"login history", "/api/v1/partner/user/dapps/login/log"}
)

// fail makes an error of the endpoint.
func (e endpoint) fail(reason core.Reason, err error) error {
	return &core.Error{Service: core.Partner, Reason: reason, Err: fmt.Errorf("%s: %w", e.name, err)}
}

func (e endpoint) malformed(problem string) error { return e.fail(core.Malformed, errors.New(problem)) }

// Account tells whether the person is registered. They are not if the API says
// success without a DID, or one of the NotFoundCodes; that code counts also
// with a status of 4xx other than those for credentials, time and limits. It
// fails with a *core.Error.
func (c *Client) Account(ctx context.Context, id core.Identity) (core.Account, error) {
	if id.Platform == "" || id.UID == "" {
		return core.Account{}, existence.fail(core.Rejected, errors.New("no user to ask for"))
	}
	got, err := c.ask(ctx, existence, map[string]string{"platform": id.Platform, "platform_uid": id.UID})
	switch {
	case got.code != "" && slices.Contains(c.notFound, got.code):
		return core.Account{}, nil
	case err != nil:
		return core.Account{}, err
	}
	return parseAccount(got.data)
}

// Logins are those of the past 30 days, in no order. Success without a list,
// null included, is no answer: only an empty list says that there are none. It
// fails with a *core.Error.
func (c *Client) Logins(ctx context.Context, of string) ([]core.Login, error) {
	if !did.MatchString(of) {
		return nil, history.fail(core.Rejected, errors.New("no DID to ask for"))
	}
	got, err := c.ask(ctx, history, map[string]string{"did": of})
	if err != nil {
		return nil, err
	}
	now, correction := c.clock.read()
	return parseLogins(got.data, now.Add(correction))
}

// ask sends a signed request and returns its answer. Both are there if the
// service refused with a code of its own. A refusal that may be the clock's
// fault, as the answer itself has just shown, is met with one more attempt.
func (c *Client) ask(ctx context.Context, e endpoint, members map[string]string) (answer, error) {
	address, err := url.Parse(c.base + e.path)
	if err != nil {
		return answer{}, e.fail(core.Unreachable, errors.New("the base URL is not valid"))
	}
	inner := canonical(members)
	got, correction, err := c.attempt(ctx, e, address, inner)
	if got.refused && c.clock.wasOff(correction) {
		got, _, err = c.attempt(ctx, e, address, inner)
	}
	return got, err
}

// attempt makes one call and tells by how much its timestamp was corrected.
func (c *Client) attempt(ctx context.Context, e endpoint, address *url.URL, inner string) (answer, time.Duration, error) {
	before, correction := c.clock.read()
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: e.name,
		Method:  http.MethodPost,
		URL:     address.String(),
		Header:  c.sign(before.Add(correction), address.EscapedPath(), inner),
		Body:    encode(map[string]string{"requestBody": inner}),
	})
	if resp != nil {
		c.clock.learn(resp.Date, before)
	}
	got, err := e.open(resp, err)
	return got, correction, err
}
