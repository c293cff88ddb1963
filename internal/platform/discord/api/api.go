// Package api makes a bot's REST calls, for interactions and for roles. It decides how long each call may take, which
// calls are retried, and what kind of error a failure is. It does not know commands.
//
// Calls go through discordgo, but not through its rate limiter, which allows one call of a bucket at a time, ignores
// the context while it sleeps, and keeps every bucket for ever. This package delays calls only by the limits on all of
// them (limit.go). Its errors contain neither URLs, which carry tokens, nor text of the server.
package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/semaphore"

	"herald/internal/ratelimit"
	"herald/internal/secret"
	"herald/internal/transport"
)

// How long an interaction can be answered, at first and at all.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	FirstResponse = 3 * time.Second
	TokenLife     = 15 * time.Minute
)

const (
	// respondFor is how long after the arrival a first response is tried.
	respondFor = 4 * time.Second
	// respondTry bounds one try of a first response, so that a lost one leaves time for
	// another.
	respondTry = 1500 * time.Millisecond
	// callTime bounds one try of any other call.
	callTime = 10 * time.Second
	// overtaking is how long an edit is retried after "Unknown Webhook": it can overtake
	// the first response, which may be the body of an HTTP response.
	overtaking = 5 * time.Second
)

// MaxFirst, MaxOther and maxOwn bound the calls under way, and with them the connections to
// Discord: first responses, edits and follow-ups, and the calls for no interaction, such as
// changes of roles. So slow calls of one kind hold up none of another. At 50 ms a call,
// MaxFirst calls make 5,000 a second.
const (
	MaxFirst = 256
	MaxOther = 128
	maxOwn   = 32
)

const (
	// maxRepeats is how often a call is repeated that may have shown its message already.
	maxRepeats = 2
	// repeatAfter is the least wait before that.
	repeatAfter = 3 * time.Second
)

// Client makes the calls of one bot.
type Client struct {
	session    *discordgo.Session
	withOrigin discordgo.RequestOption
	// first, other and own hold the permits of calls under way.
	first, other, own *semaphore.Weighted
	limit             *globalLimit
	count             func(event string)
}

// New returns a Client for the REST origin "scheme://host". It counts rate_limited and
// retried; count must not block.
func New(token secret.Value, origin string, log *slog.Logger, count func(event string)) *Client {
	s, _ := discordgo.New("") // which never fails; it would print a token
	// Below LogError, because discordgo's log prints addresses, which hold tokens.
	s.LogLevel = discordgo.LogError - 1
	s.Client = transport.New(transport.Options{MaxBody: 4 << 20, MaxConns: MaxFirst + MaxOther + maxOwn})
	s.Client.Transport = &apiTransport{base: s.Client.Transport}
	scheme, host, _ := strings.Cut(origin, "://")
	return &Client{
		session: s,
		first:   semaphore.NewWeighted(MaxFirst), other: semaphore.NewWeighted(MaxOther), own: semaphore.NewWeighted(maxOwn),
		limit: &globalLimit{log: log, counts: ratelimit.NewMemory()}, count: count,
		// discordgo fixes its addresses when it is loaded.
		withOrigin: func(c *discordgo.RequestConfig) {
			c.Request.URL.Scheme, c.Request.URL.Host, c.Request.Host = scheme, host, host
			c.Request.Header.Set("Authorization", "Bot "+token.Reveal())
		},
	}
}

// Interaction identifies the interaction that a call answers.
type Interaction struct {
	ID            string `json:"id"`
	ApplicationID string `json:"application_id"`
	Token         string `json:"token"`
	// Arrived is when the interaction arrived, or when a replayed one should have arrived.
	Arrived time.Time `json:"-"`
}

// Message is what Edit and FollowUp send: JSON and, unless PNG is nil, a picture.
type Message struct {
	Body any    // becomes the JSON
	Name string // of the picture's file
	PNG  []byte
	// Outdated reports whether the message is not worth sending any more, because a newer one is shown; nil: it always
	// is. The call then makes no further try, and succeeds.
	Outdated func() bool
}

// Respond sends the first response to i, and retries it until respondFor after the
// arrival. Discord accepts only one.
func (c *Client) Respond(ctx context.Context, i Interaction, response any) error {
	return c.repeat(ctx, &call{
		kind:     firstResponse,
		method:   http.MethodPost,
		endpoint: discordgo.EndpointInteractionResponse(i.ID, url.PathEscape(i.Token)),
		until:    i.Arrived.Add(respondFor),
		Message:  Message{Body: response},
	})
}

// Edit replaces the message of the first response to i, or what stands for a deferred
// one, by m. Edit retries until the given time; a repeated picture replaces the one before.
func (c *Client) Edit(ctx context.Context, i Interaction, m Message, until time.Time) error {
	return c.repeat(ctx, &call{
		kind:     edit,
		method:   http.MethodPatch,
		endpoint: discordgo.EndpointWebhookMessage(i.ApplicationID, url.PathEscape(i.Token), "@original"),
		until:    until,
		Message:  m,
	})
}

// FollowUp sends another message after the first response to i. FollowUp retries until the
// given time, at most maxRepeats times if the outcome is unknown. Discord makes the first
// follow-up after the deferral of a new message an edit, and ignores its ephemeral flag.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (c *Client) FollowUp(ctx context.Context, i Interaction, m Message, until time.Time) error {
	return c.repeat(ctx, &call{
		kind:     followUp,
		method:   http.MethodPost,
		endpoint: discordgo.EndpointWebhookToken(i.ApplicationID, url.PathEscape(i.Token)),
		until:    until,
		Message:  m,
	})
}

// Call makes one call, with a body and a result that may be nil.
func (c *Client) Call(ctx context.Context, method, endpoint string, body, result any) error {
	return c.try(ctx, &call{method: method, endpoint: endpoint, Message: Message{Body: body}, result: result})
}

// RoleChange gives a member of a guild a role, or removes it.
type RoleChange struct {
	Guild, User, Role string
	Remove            bool
	// Reason is shown in the guild's audit log: 1 to 400 characters of ASCII.
	Reason string
}

// SetRole makes a RoleChange with one call. It also succeeds if nothing had to be changed.
func (c *Client) SetRole(ctx context.Context, change RoleChange) error {
	method := http.MethodPut
	if change.Remove {
		method = http.MethodDelete
	}
	endpoint := discordgo.EndpointGuildMemberRole(change.Guild, change.User, change.Role)
	return c.try(ctx, &call{method: method, endpoint: endpoint, reason: change.Reason})
}

// Application is what Discord says of the application that the token belongs to.
// https://discord.com/developers/docs/resources/application#application-object
type Application struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Bot  struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	} `json:"bot"`
	VerifyKey string `json:"verify_key"` // hex
	// Endpoint is the URL that gets all interactions by HTTP; empty is the gateway.
	Endpoint string `json:"interactions_endpoint_url"`
}

// Application asks Discord which application the token belongs to. The result's Name is
// that of its bot if there is one.
func (c *Client) Application(ctx context.Context) (a Application, err error) {
	err = c.Call(ctx, http.MethodGet, discordgo.EndpointApplication("@me"), nil, &a)
	if err == nil && a.ID == "" {
		err = errors.New("discord names no application")
	}
	a.Name = cmp.Or(a.Bot.Username, a.Name)
	return a, err
}

// kind is what a call is for.
type kind int

const (
	// own is a call for no interaction. It is tried once.
	own kind = iota
	// firstResponse, edit and followUp answer an interaction. Each accepted try of a followUp creates a message.
	firstResponse
	edit
	followUp
)

// call is one call, with the state of its retries.
type call struct {
	Message
	kind             kind
	method, endpoint string
	result           any
	reason           string    // for the audit log; empty: none
	until            time.Time // no try begins later; zero for kind own
	began            time.Time // when the first try began
	unknownTries     int       // tries whose outcome is unknown
}

// repeat makes a call until Discord accepts it, refuses it for good, or the next try
// would come too late. Its error wraps ErrOutcomeUnknown if that of any try did.
func (c *Client) repeat(ctx context.Context, call *call) error {
	call.began = time.Now()
	err := transport.Policy{
		Backoff:     transport.Backoff{First: 200 * time.Millisecond, Max: 30 * time.Second},
		Until:       call.until,
		ShouldRetry: call.again,
		OnRetry:     func(error) { c.count("retried") },
	}.Do(ctx, func(ctx context.Context) error {
		if call.Outdated != nil && call.Outdated() {
			return nil
		}
		err := c.try(ctx, call)
		if call.unknownTries > 0 && errorOf(err).Code == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged {
			return nil // The try whose outcome is unknown was accepted.
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			call.unknownTries++
		}
		return err
	})
	if err != nil && call.unknownTries > 0 && !errors.Is(err, ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// again reports whether the call is retried after err, and the least wait before.
func (c *call) again(err error) (retry bool, atLeast time.Duration) {
	retry, atLeast = Retryable(err)
	switch {
	case c.kind != firstResponse && errorOf(err).Code == discordgo.ErrCodeUnknownWebhook:
		return time.Since(c.began) < overtaking, 0
	case c.kind == followUp && errors.Is(err, ErrOutcomeUnknown):
		return retry && c.unknownTries <= maxRepeats, max(atLeast, repeatAfter)
	}
	return retry, atLeast
}

// try makes a call once. It blocks until a permit is free and no rate limit holds the call
// back, at most until call.until, and then for the call. It waits before it encodes the
// body: a waiting call must not hold a copy of its picture. It fails with an *Error,
// ErrOutcomeUnknown, ErrToken, or an error that holds no URL and no text of the server.
func (c *Client) try(ctx context.Context, call *call) error {
	permits, timeout := c.other, callTime
	switch call.kind {
	case firstResponse:
		permits, timeout = c.first, respondTry
	case own:
		permits = c.own
	}
	waiting, cancel := context.WithDeadline(ctx, cmp.Or(call.until, time.Now().Add(TokenLife)))
	defer cancel()
	if err := permits.Acquire(waiting, 1); err != nil {
		return fmt.Errorf("wait for other calls: %w", err)
	}
	defer permits.Release(1)
	for pause := c.limit.reserve(call); pause > 0; pause = c.limit.reserve(call) {
		if !transport.Sleep(waiting, pause) {
			return fmt.Errorf("wait for a rate limit: %w", waiting.Err())
		}
	}
	contentType, body, err := call.encode()
	if err != nil {
		return fmt.Errorf("encode a call: %w", err)
	}
	ctx, cancel = context.WithTimeout(ctx, timeout)
	defer cancel()
	bucket := new(discordgo.Bucket) // A new one limits nothing.
	bucket.Lock()
	options := []discordgo.RequestOption{discordgo.WithContext(ctx), c.withOrigin}
	if call.reason != "" {
		options = append(options, discordgo.WithHeader("X-Audit-Log-Reason", url.PathEscape(call.reason)))
	}
	response, err := c.session.RequestWithLockedBucket(
		call.method, call.endpoint, contentType, body, bucket, 0, options...)
	c.limit.note(call, err)
	if err != nil {
		return c.failure(err)
	}
	if len(response) > 0 && !json.Valid(response) { // a proxy's page, for instance
		return fmt.Errorf("%w: the response is not JSON", ErrOutcomeUnknown)
	}
	if call.result != nil && json.Unmarshal(response, call.result) != nil {
		return errors.New("discord's response is not the JSON expected")
	}
	return nil
}

// failure returns the error of a try that failed with err: ErrToken, one that wraps
// ErrOutcomeUnknown, or err without URLs. It counts a 429 as rate_limited.
func (c *Client) failure(err error) error {
	switch refused := errorOf(err); {
	case refused.Status == http.StatusUnauthorized && refused.Code != discordgo.ErrCodeInvalidWebhookTokenProvided:
		return ErrToken
	case refused.Status == http.StatusTooManyRequests:
		c.count("rate_limited")
	case refused.Status == 0 && (transport.NeverSent(err) || errors.Is(err, transport.ErrRedirect)):
		// Discord does not have the call.
	case refused.Status == 0 || refused.Status >= 500:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, transport.Clean(err))
	}
	return transport.Clean(err)
}

// encode returns the body of a call.
func (m Message) encode() (contentType string, body []byte, err error) {
	if m.PNG != nil {
		file := &discordgo.File{Name: m.Name, ContentType: "image/png", Reader: bytes.NewReader(m.PNG)}
		return discordgo.MultipartBodyWithJSON(m.Body, []*discordgo.File{file})
	}
	if m.Body != nil {
		body, err = json.Marshal(m.Body)
	}
	return "application/json", body, err
}

// apiTransport returns an *Error for every status but success. Discordgo's own error
// would hold the response's body and the address.
type apiTransport struct{ base http.RoundTripper }

func (t *apiTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		refused := &Error{Status: resp.StatusCode, RetryAfter: transport.RetryAfter(resp.Header)}
		_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(refused) // or there is no Code
		header := resp.Header.Get
		refused.Global = refused.Global || header("X-RateLimit-Global") == "true" || header("X-RateLimit-Scope") == "global"
		return nil, refused
	}
	// Without headers: discordgo's limiter fails on some.
	return &http.Response{StatusCode: http.StatusOK, Body: resp.Body}, nil
}

// FatalError is a fault of the settings. No later call or connection succeeds.
type FatalError string

func (e FatalError) Error() string { return string(e) }

// ErrOutcomeUnknown is wrapped by the error of a call that Discord may have accepted.
var ErrOutcomeUnknown = errors.New("nobody knows whether Discord has it")

// ErrToken is the error of every call while Discord refuses the token.
const ErrToken FatalError = "DISCORD_BOT_TOKEN: Discord refuses it"

// Error is a response with a status other than success.
type Error struct {
	Status int `json:"-"`
	// Code is Discord's own, or 0 if the body has none.
	// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
	Code       int           `json:"code"`
	RetryAfter time.Duration `json:"-"`
	// Global is true for a 429 that is about all calls of the bot.
	Global bool `json:"global"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("discord refused with status %d, code %d", e.Status, e.Code)
}

// errorOf returns the Error in err, or a zero one.
func errorOf(err error) Error {
	if refused, is := errors.AsType[*Error](err); is {
		return *refused
	}
	return Error{}
}

// Retryable reports whether another try may succeed after err, and the least wait
// before.
func Retryable(err error) (retry bool, atLeast time.Duration) {
	if refused := errorOf(err); refused.Status != 0 {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= 500, refused.RetryAfter
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, ErrToken) && !errors.Is(err, transport.ErrRedirect), 0
}

// Expired reports whether err means that the interaction can no longer be answered.
func Expired(err error) bool {
	refused := errorOf(err)
	return refused.Status == http.StatusNotFound && refused.Code != discordgo.ErrCodeUnknownMessage ||
		refused.Code == discordgo.ErrCodeInvalidWebhookTokenProvided
}

// Unacceptable reports whether err means that Discord refuses this answer but may take
// another: the message to edit may be deleted.
func Unacceptable(err error) bool {
	retry, _ := Retryable(err)
	return errorOf(err).Status != 0 && !retry && !Expired(err)
}
