// Package api makes a bot's REST calls to Discord, for interactions and for roles. It decides how long each call may
// take, which calls are retried, and what kind of error a failure is. It does not know commands.
//
// An interaction is a command or the press of a button. The bot answers it by a first response, which Discord accepts
// only once, and then by edits of the message and by follow-ups, which are further messages. All other calls are called
// the bot's own.
//
// Calls go through discordgo, but not through its rate limiter, which allows one call per bucket at a time, ignores the
// context while it sleeps, and never deletes a bucket. This package delays calls only by the limits in limit.go. Its
// errors contain neither URLs, which contain tokens, nor text from the server.
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

// How long after its creation an interaction can be answered: FirstResponse is the limit for the first response, and
// TokenLife the limit for edits and follow-ups.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	FirstResponse = 3 * time.Second
	TokenLife     = 15 * time.Minute
)

const (
	// respondFor is how long after the arrival of an interaction a first response may be retried.
	respondFor = 4 * time.Second
	// respondTimeout is the time limit for one attempt of a first response. It leaves time for a second one.
	respondTimeout = 1500 * time.Millisecond
	// callTimeout is the time limit for one attempt of any other call.
	callTimeout = 10 * time.Second
	// unknownWebhookFor is how long an edit or a follow-up is retried if Discord answers "Unknown Webhook". It does so if
	// the call arrives before the first response, which may be the body of an HTTP response.
	unknownWebhookFor = 5 * time.Second
)

// The maximum numbers of calls in flight, and therefore of connections to Discord. Each kind of call has its own
// maximum, so that slow calls of one kind do not delay the others. If a call takes 50 ms, MaxFirst allows 5,000 first
// responses a second.
const (
	MaxFirst = 256 // first responses
	MaxOther = 128 // edits and follow-ups
	maxOwn   = 32  // the bot's own calls, such as changes of roles
)

const (
	// maxResends is how often a follow-up is sent again after an attempt with an unknown outcome. Each time, Discord may
	// show the message once more.
	maxResends = 2
	// resendAfter is the minimum wait before a follow-up is sent again.
	resendAfter = 3 * time.Second
)

// Client makes the calls of one bot.
type Client struct {
	session            *discordgo.Session
	withOriginAndToken discordgo.RequestOption
	// A call in flight holds a permit of one of these.
	first, other, own *semaphore.Weighted
	limits            *callLimits
	count             func(event string)
}

// New returns a Client for the REST origin "scheme://host". It calls count with "rate_limited" for each response with
// status 429, and with "retried" for each retry. count must not block.
func New(token secret.Value, origin string, log *slog.Logger, count func(event string)) *Client {
	// New never fails. The Session gets no token, because printing the Session would show it. The Session logs nothing,
	// because its log would show URLs, which contain tokens.
	s, _ := discordgo.New("")
	s.LogLevel = discordgo.LogError - 1
	s.Client = transport.New(transport.Options{MaxBody: 4 << 20, MaxConns: MaxFirst + MaxOther + maxOwn})
	s.Client.Transport = &apiTransport{base: s.Client.Transport}
	scheme, host, _ := strings.Cut(origin, "://")
	return &Client{
		session: s,
		first:   semaphore.NewWeighted(MaxFirst),
		other:   semaphore.NewWeighted(MaxOther),
		own:     semaphore.NewWeighted(maxOwn),
		limits:  &callLimits{log: log, counts: ratelimit.NewMemory()},
		count:   count,
		// discordgo's endpoints are the same for all Sessions, so the origin is set in each request.
		withOriginAndToken: func(c *discordgo.RequestConfig) {
			c.Request.URL.Scheme = scheme
			c.Request.URL.Host = host
			c.Request.Host = host
			c.Request.Header.Set("Authorization", "Bot "+token.Reveal())
		},
	}
}

// Interaction identifies the interaction that a call answers.
type Interaction struct {
	ID            string `json:"id"`
	ApplicationID string `json:"application_id"`
	Token         string `json:"token"`
	// Arrived is when the interaction arrived, or would have arrived if the gateway had not replayed it late.
	Arrived time.Time `json:"-"`
}

// Message is what Edit and FollowUp send: JSON and, unless PNG is nil, a picture.
type Message struct {
	Body any    // becomes the JSON
	Name string // the file name of the picture
	PNG  []byte
	// Outdated is called before each attempt, unless it is nil. If it returns true, a newer message is shown, and the call
	// succeeds without another attempt.
	Outdated func() bool
}

// Respond sends the first response to i. It retries until respondFor after the arrival of i.
func (c *Client) Respond(ctx context.Context, i Interaction, response any) error {
	return c.retry(ctx, &call{
		kind:     firstResponse,
		method:   http.MethodPost,
		endpoint: discordgo.EndpointInteractionResponse(i.ID, url.PathEscape(i.Token)),
		until:    i.Arrived.Add(respondFor),
		Message:  Message{Body: response},
	})
}

// Edit replaces the message of the first response to i with m. If the first response was a deferral, m is the deferred
// answer. Edit retries until the given time. If it sends a picture twice, the second replaces the first.
func (c *Client) Edit(ctx context.Context, i Interaction, m Message, until time.Time) error {
	return c.retry(ctx, &call{
		kind:     edit,
		method:   http.MethodPatch,
		endpoint: discordgo.EndpointWebhookMessage(i.ApplicationID, url.PathEscape(i.Token), "@original"),
		until:    until,
		Message:  m,
	})
}

// FollowUp sends another message after the first response to i. It retries until the given time, but after unknown
// outcomes at most maxResends times. If the first response was the deferral of a new message, Discord treats the first
// follow-up as an edit, and ignores its ephemeral flag.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (c *Client) FollowUp(ctx context.Context, i Interaction, m Message, until time.Time) error {
	return c.retry(ctx, &call{
		kind:     followUp,
		method:   http.MethodPost,
		endpoint: discordgo.EndpointWebhookToken(i.ApplicationID, url.PathEscape(i.Token)),
		until:    until,
		Message:  m,
	})
}

// Call makes one of the bot's own calls, without retries. It sends body as JSON, and stores the response in result.
// Either may be nil.
func (c *Client) Call(ctx context.Context, method, endpoint string, body, result any) error {
	return c.attempt(ctx, &call{method: method, endpoint: endpoint, Message: Message{Body: body}, result: result})
}

// RoleChange gives a member of a guild a role, or removes it.
type RoleChange struct {
	Guild, User, Role string
	Remove            bool
	// Reason is shown in the guild's audit log: 1 to 400 characters of ASCII.
	Reason string
}

// SetRole makes a RoleChange with one call, without retries. It also succeeds if nothing had to be changed.
func (c *Client) SetRole(ctx context.Context, change RoleChange) error {
	method := http.MethodPut
	if change.Remove {
		method = http.MethodDelete
	}
	endpoint := discordgo.EndpointGuildMemberRole(change.Guild, change.User, change.Role)
	return c.attempt(ctx, &call{method: method, endpoint: endpoint, reason: change.Reason})
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
	VerifyKey string `json:"verify_key"` // hexadecimal
	// Endpoint is the URL to which Discord sends all interactions. If it is "", they come over the gateway.
	Endpoint string `json:"interactions_endpoint_url"`
}

// Application asks Discord which application the token belongs to. The Name of the result is the name of the bot, if
// the application has one.
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
	// own is one of the bot's own calls. It is not retried.
	own kind = iota
	// firstResponse, edit and followUp answer an interaction. If a followUp is accepted twice, two messages are shown.
	firstResponse
	edit
	followUp
)

// call is a call to Discord, with the state of its retries.
type call struct {
	Message
	kind             kind
	method, endpoint string
	result           any    // see Call
	reason           string // for the audit log; may be ""
	// until is the latest time at which an attempt may begin. It is zero for kind own.
	until time.Time
	began time.Time // when the first attempt began
	// unknownOutcomes counts the attempts that Discord may have accepted.
	unknownOutcomes int
}

// retry repeats a call until Discord accepts it, refuses it for good, or the next attempt would be too late. The error
// wraps ErrOutcomeUnknown if the error of any attempt did.
func (c *Client) retry(ctx context.Context, call *call) error {
	call.began = time.Now()
	err := transport.Policy{
		Backoff:     transport.Backoff{First: 200 * time.Millisecond, Max: 30 * time.Second},
		Until:       call.until,
		ShouldRetry: call.shouldRetry,
		OnRetry:     func(error) { c.count("retried") },
	}.Do(ctx, func(ctx context.Context) error {
		if call.Outdated != nil && call.Outdated() {
			return nil
		}
		err := c.attempt(ctx, call)
		if call.unknownOutcomes > 0 && errorOf(err).Code == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged {
			return nil // An earlier attempt with an unknown outcome was accepted.
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			call.unknownOutcomes++
		}
		return err
	})
	if err != nil && call.unknownOutcomes > 0 && !errors.Is(err, ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// shouldRetry reports whether the call is retried after err, and returns the minimum wait before the retry.
func (c *call) shouldRetry(err error) (retry bool, minWait time.Duration) {
	retry, minWait = Retryable(err)
	switch {
	case c.kind != firstResponse && errorOf(err).Code == discordgo.ErrCodeUnknownWebhook:
		return time.Since(c.began) < unknownWebhookFor, 0
	case c.kind == followUp && errors.Is(err, ErrOutcomeUnknown):
		return retry && c.unknownOutcomes <= maxResends, max(minWait, resendAfter)
	default:
		return retry, minWait
	}
}

// permits returns the permits of the calls of a kind.
func (c *Client) permits(k kind) *semaphore.Weighted {
	switch k {
	case firstResponse:
		return c.first
	case own:
		return c.own
	default:
		return c.other
	}
}

// timeout returns the time limit for one attempt of a call.
func (c *call) timeout() time.Duration {
	if c.kind == firstResponse {
		return respondTimeout
	}
	return callTimeout
}

// attempt makes a call once. It blocks until a permit is free and no rate limit holds the call back, but at most until
// call.until, or for TokenLife if call.until is zero. Then it blocks for the call. It fails with an *Error,
// ErrOutcomeUnknown, ErrToken, or an error that contains no URL and no text from the server.
func (c *Client) attempt(ctx context.Context, call *call) error {
	waiting, cancel := context.WithDeadline(ctx, cmp.Or(call.until, time.Now().Add(TokenLife)))
	defer cancel()
	permits := c.permits(call.kind)
	if err := permits.Acquire(waiting, 1); err != nil {
		return fmt.Errorf("wait for other calls: %w", err)
	}
	defer permits.Release(1)
	for {
		pause := c.limits.reserve(call)
		if pause <= 0 {
			return c.send(ctx, call)
		}
		if !transport.Sleep(waiting, pause) {
			return fmt.Errorf("wait for a rate limit: %w", waiting.Err())
		}
	}
}

// send sends a call now, and blocks until it is answered.
func (c *Client) send(ctx context.Context, call *call) error {
	// Encoded only now, so that a waiting call does not hold a copy of its picture.
	contentType, body, err := call.encode()
	if err != nil {
		return fmt.Errorf("encode a call: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, call.timeout())
	defer cancel()
	bucket := new(discordgo.Bucket) // A new bucket does not limit the call.
	bucket.Lock()
	options := []discordgo.RequestOption{discordgo.WithContext(ctx), c.withOriginAndToken}
	if call.reason != "" {
		options = append(options, discordgo.WithHeader("X-Audit-Log-Reason", url.PathEscape(call.reason)))
	}
	response, err := c.session.RequestWithLockedBucket(
		call.method, call.endpoint, contentType, body, bucket, 0, options...)
	c.limits.note(call, err)
	if err != nil {
		return c.failure(err)
	}
	if len(response) > 0 && !json.Valid(response) { // It may be a page of a proxy.
		return fmt.Errorf("%w: the response is not JSON", ErrOutcomeUnknown)
	}
	if call.result != nil && json.Unmarshal(response, call.result) != nil {
		return errors.New("discord's response is not the JSON expected")
	}
	return nil
}

// failure returns the error of an attempt, made of discordgo's error err, without URLs:
//
//	401, except for the token of an interaction    ErrToken
//	429                                            err; it is counted
//	5xx                                            ErrOutcomeUnknown, wrapping err
//	any other response                             err
//	no response, and Discord cannot have the call  err
//	no response otherwise                          ErrOutcomeUnknown, wrapping err
func (c *Client) failure(err error) error {
	clean := transport.Clean(err)
	unknown := fmt.Errorf("%w: %w", ErrOutcomeUnknown, clean)
	refused, isAnswered := errors.AsType[*Error](err)
	if !isAnswered {
		if transport.NeverSent(err) || errors.Is(err, transport.ErrRedirect) {
			return clean
		}
		return unknown
	}
	isForInteraction := refused.Code == discordgo.ErrCodeInvalidWebhookTokenProvided
	switch {
	case refused.Status == http.StatusUnauthorized && !isForInteraction:
		return ErrToken
	case refused.Status == http.StatusTooManyRequests:
		c.count("rate_limited")
		return clean
	case refused.Status >= 500:
		return unknown
	default:
		return clean
	}
}

// encode returns the message as the body of a call. body is nil if the message has no Body.
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

// apiTransport fails with an *Error for every status other than success. discordgo's own error would contain the body
// of the response and the URL.
type apiTransport struct{ base http.RoundTripper }

func (t *apiTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		refused := &Error{Status: resp.StatusCode, RetryAfter: transport.RetryAfter(resp.Header)}
		_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(refused) // If it fails, there is no Code.
		if resp.Header.Get("X-RateLimit-Global") == "true" || resp.Header.Get("X-RateLimit-Scope") == "global" {
			refused.Global = true
		}
		return nil, refused
	}
	// Without headers, because discordgo's limiter fails on some.
	return &http.Response{StatusCode: http.StatusOK, Body: resp.Body}, nil
}
