// Package partner asks the partner API whether a person is registered, and for their logins.
//
// An answer has a code. 0 is a success. A code that the operator lists in PARTNER_NOT_FOUND_CODES means "no such user"
// and is called a NotFoundCode here. Any other code is a refusal.
//
// The answers are about people, so an answer that is not clear is an error. Only the documented form of an answer and a
// NotFoundCode mean "not registered", and only the documented form means "no logins". An error never contains a DID, a
// user ID or text of the service.
//
// The files: partner.go (the client and its questions), call.go (a signed call, and the clock), answer.go (the forms of
// answers), settings.go.
package partner

import (
	"context"
	"slices"
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
// Client signs calls with this machine's time plus a correction, which is 0 at first. The skew is how far the Date
// header of the API's last answer was ahead of this machine. If a call is refused, and skew and correction differ by
// more than 2 seconds, Client makes the call once more with the skew as its correction. It keeps a correction that the
// API accepted, until the next refusal. A NotFoundCode is no refusal.
type Client struct {
	*query.Upstream
	// Accounts returns a person's account. The person is not registered if the API reports success without a DID, or if it
	// returns a NotFoundCode. A NotFoundCode also counts if the HTTP status is 4xx, except 401, 402, 403, 408 and 429,
	// which always are errors.
	Accounts *query.Query[core.Identity, core.Account]
	// Logins returns the logins of a DID in the past 30 days, newest first.
	Logins *query.Query[string, []core.Login]
	// Ping asks for the account of anyIdentity.
	Ping *query.Query[struct{}, struct{}]

	settings Settings
	rest     *rest.Client
	now      func() time.Time
	// skew is in nanoseconds. A proxy may have written the Date header.
	skew atomic.Int64
	// correction is added to now in timestamps, in nanoseconds. The API has accepted it, or it is 0.
	correction atomic.Int64
}

// anyIdentity is the identity that Ping and Probe ask for.
var anyIdentity = core.Identity{Platform: "Telegram", UID: "1"}

// New returns a Client. It does not contact the API.
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

// Probe asks for the account of anyIdentity, without the cache. It returns nil only if the API accepted the signature.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.fetchAccount(ctx, anyIdentity)
	return err
}

// fetchAccount returns the account of id. It asks for one spelling of the ID after another, until the API knows one. If
// the API knows none, the account is unregistered.
func (c *Client) fetchAccount(ctx context.Context, id core.Identity) (core.Account, error) {
	for _, uid := range id.Spellings() {
		found, err := c.fetchSpelling(ctx, id.Platform, uid)
		if err != nil || found.Registered() {
			return found, err
		}
	}
	return core.Account{}, nil
}

// fetchSpelling returns the account of one spelling of an ID. The account is unregistered if the API returns a
// NotFoundCode.
func (c *Client) fetchSpelling(ctx context.Context, platform, uid string) (core.Account, error) {
	got, err := c.ask(ctx, existenceCheck, map[string]string{"platform": platform, "platform_uid": uid})
	if c.isNotFound(got) {
		return core.Account{}, nil // ask returns no code with a status that is always an error: see Accounts.
	}
	if err != nil {
		return core.Account{}, err
	}
	return parseAccount(got.data)
}

// isNotFound reports whether the answer's code means "no such user". A success and an unreadable answer have noCode.
func (c *Client) isNotFound(got answer) bool {
	return got.code != noCode && slices.Contains(c.settings.NotFoundCodes, got.code)
}

// fetchLogins returns the logins of a DID, as Logins does.
func (c *Client) fetchLogins(ctx context.Context, did string) ([]core.Login, error) {
	got, err := c.ask(ctx, loginHistory, map[string]string{"did": did})
	if err != nil {
		return nil, err
	}
	correctedNow := c.now().Add(time.Duration(c.correction.Load()))
	return parseLogins(got.data, correctedNow)
}
