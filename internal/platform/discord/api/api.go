// Package api makes the REST calls that a bot for interactions needs: it says
// how long each may take, which are repeated, and what went wrong. It knows
// nothing of commands.
//
// Calls go through discordgo, but not through its rate limiter, which lets one
// call of a bucket through at a time, sleeps whatever the context says, and
// keeps every bucket for ever. Nor are its errors passed on: they hold URLs with
// tokens, and text of the server. A limit of its own holds calls back only while Discord
// limits all of them (limit.go).
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
	// respondFor is how long after the arrival a first response is tried, and
	// respondTry bounds one try, so that a lost one leaves time for another.
	respondFor = 4 * time.Second
	respondTry = 1500 * time.Millisecond
	// callTime bounds one try of any other call.
	callTime = 10 * time.Second
	// overtaking is how long an edit is retried after "Unknown Webhook": it can overtake
	// the first response, which may be the body of an HTTP response.
	overtaking = 5 * time.Second
)

// MaxFirst and MaxOther bound the calls under way, and the connections to
// Discord. First responses, and what is asked for no interaction, have places of
// their own, because nothing slow may hold them up: at 50 ms a call, MaxFirst carry
// 5,000 of them within a second.
const (
	MaxFirst = 256
	MaxOther = 128
)

// A message that may be out already, and would then be there twice, is repeated
// at most maxRepeats times, and not before repeatAfter.
const (
	maxRepeats  = 2
	repeatAfter = 3 * time.Second
)

// Client makes the calls of one bot.
type Client struct {
	session      *discordgo.Session
	addressed    discordgo.RequestOption
	first, other *semaphore.Weighted
	limit        *globalLimit
	count        func(event string)
}

// New makes a Client for the REST origin "scheme://host". It counts
// rate_limited and retried; count must not block.
func New(token secret.Value, origin string, log *slog.Logger, count func(event string)) *Client {
	s, _ := discordgo.New("") // which never fails; it would print a token
	// Below LogError: its log prints addresses, which hold tokens.
	s.LogLevel = discordgo.LogError - 1
	s.Client = transport.New(transport.Options{MaxBody: 4 << 20, MaxConns: MaxFirst + MaxOther})
	s.Client.Transport = &apiTransport{base: s.Client.Transport}
	scheme, host, _ := strings.Cut(origin, "://")
	return &Client{
		session: s, first: semaphore.NewWeighted(MaxFirst), other: semaphore.NewWeighted(MaxOther),
		limit: &globalLimit{log: log}, count: count,
		// discordgo fixes its addresses when it is loaded.
		addressed: func(c *discordgo.RequestConfig) {
			c.Request.URL.Scheme, c.Request.URL.Host, c.Request.Host = scheme, host, host
			c.Request.Header.Set("Authorization", "Bot "+token.Reveal())
		},
	}
}

// Interaction is where answers to one interaction go.
type Interaction struct {
	ID            string `json:"id"`
	ApplicationID string `json:"application_id"`
	Token         string `json:"token"`
	// Arrived is when it came; for one that is replayed, when it was created.
	Arrived time.Time `json:"-"`
}

// Message is what Edit and FollowUp send: JSON and, unless PNG is nil, a picture
// beside it.
type Message struct {
	Body any
	Name string // of the picture's file
	PNG  []byte
}

// Respond gives the first response to i. It may be repeated, because Discord
// takes one alone.
func (c *Client) Respond(ctx context.Context, i Interaction, response any) error {
	return c.repeat(ctx, call{
		method: http.MethodPost, first: true, until: i.Arrived.Add(respondFor),
		endpoint: discordgo.EndpointInteractionResponse(i.ID, url.PathEscape(i.Token)), Message: Message{Body: response},
	})
}

// Edit makes m of what the first response to i showed or promised, trying until
// the given time. It may be repeated: a picture replaces the one before.
func (c *Client) Edit(ctx context.Context, i Interaction, m Message, until time.Time) error {
	return c.repeat(ctx, call{
		method: http.MethodPatch, until: until,
		endpoint: discordgo.EndpointWebhookMessage(i.ApplicationID, url.PathEscape(i.Token), "@original"), Message: m,
	})
}

// FollowUp sends another message after the first response to i, trying until the
// given time. Straight after a deferral of a new message Discord takes it for
// that one, and shows it to whoever the deferral was for. If its outcome is
// unknown it is sent again, twice at most.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (c *Client) FollowUp(ctx context.Context, i Interaction, m Message, until time.Time) error {
	return c.repeat(ctx, call{
		method: http.MethodPost, until: until, doubles: true,
		endpoint: discordgo.EndpointWebhookToken(i.ApplicationID, url.PathEscape(i.Token)), Message: m,
	})
}

// Call makes one call, with a body and a result that may be nil.
func (c *Client) Call(ctx context.Context, method, endpoint string, body, result any) error {
	return c.try(ctx, call{method: method, endpoint: endpoint, Message: Message{Body: body}, result: result})
}

// Application is what Discord says of the one that the token belongs to.
// https://discord.com/developers/docs/resources/application#application-object
type Application struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Bot  struct {
		Username string `json:"username"`
	} `json:"bot"`
	VerifyKey string `json:"verify_key"` // hex
	// Endpoint is where all interactions go by HTTP; empty is the gateway.
	Endpoint string `json:"interactions_endpoint_url"`
}

// Application asks Discord which application the token belongs to. Its Name is
// what people see the bot called.
func (c *Client) Application(ctx context.Context) (a Application, err error) {
	err = c.Call(ctx, http.MethodGet, discordgo.EndpointApplication("@me"), nil, &a)
	if err == nil && a.ID == "" {
		err = errors.New("discord names no application")
	}
	a.Name = cmp.Or(a.Bot.Username, a.Name)
	return a, err
}

// call is one call, and how it is repeated.
type call struct {
	Message
	method, endpoint string
	result           any
	first            bool      // it is a first response
	until            time.Time // no try begins later
	doubles          bool      // a repetition may be seen twice
}

// repeat makes a call until Discord accepts it, refuses it for good, or the next
// try would come too late. It fails with ErrOutcomeUnknown if any try did.
func (c *Client) repeat(ctx context.Context, call call) error {
	began, unknown := time.Now(), 0 // outcomes
	err := transport.Policy{
		Backoff: transport.Backoff{First: 200 * time.Millisecond, Max: 30 * time.Second},
		Until:   call.until,
		Again: func(err error) (bool, time.Duration) {
			again, atLeast := Retryable(err)
			if !call.first && errorOf(err).Code == discordgo.ErrCodeUnknownWebhook {
				return time.Since(began) < overtaking, 0
			}
			if call.doubles && errors.Is(err, ErrOutcomeUnknown) {
				return again && unknown <= maxRepeats, max(atLeast, repeatAfter)
			}
			return again, atLeast
		},
		Failed: func(error, int, time.Duration) { c.count("retried") },
	}.Do(ctx, func(ctx context.Context) error {
		err := c.try(ctx, call)
		if unknown > 0 && errorOf(err).Code == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged {
			return nil // The try whose outcome is unknown was accepted.
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			unknown++
		}
		return err
	})
	if err != nil && unknown > 0 && !errors.Is(err, ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// try makes a call once, and bounds the time from when there is a place for it.
// It fails with an *Error, ErrOutcomeUnknown, ErrToken, or an error that holds no URL
// and no text of the server.
func (c *Client) try(ctx context.Context, call call) error {
	places, limit := c.other, callTime
	if call.first {
		limit = respondTry
	}
	if call.first || call.until.IsZero() {
		places = c.first
	}
	waiting, cancel := context.WithDeadline(ctx, cmp.Or(call.until, time.Now().Add(TokenLife)))
	defer cancel()
	// Beyond a bound a call waits here and not in the transport, where it would
	// hold many times the memory, and an encoded picture.
	if err := places.Acquire(waiting, 1); err != nil {
		return fmt.Errorf("wait for other calls: %w", err)
	}
	defer places.Release(1)
	for pause := c.limit.reserve(call); pause > 0; pause = c.limit.reserve(call) {
		if !transport.Sleep(waiting, pause) {
			return fmt.Errorf("wait for a rate limit: %w", waiting.Err())
		}
	}
	ctx, cancel = context.WithTimeout(ctx, limit)
	defer cancel()
	contentType, body, err := call.encode()
	if err != nil {
		return fmt.Errorf("encode a call: %w", err)
	}
	bucket := new(discordgo.Bucket) // A new one limits nothing.
	bucket.Lock()
	response, err := c.session.RequestWithLockedBucket(call.method, call.endpoint, contentType, body, bucket, 0,
		discordgo.WithContext(ctx), c.addressed)
	c.limit.note(call, err)
	refused := errorOf(err)
	switch {
	case refused.Status == http.StatusUnauthorized && refused.Code != discordgo.ErrCodeInvalidWebhookTokenProvided:
		return ErrToken
	case refused.Status == http.StatusTooManyRequests:
		c.count("rate_limited")
	case err == nil && call.result != nil && json.Unmarshal(response, call.result) != nil:
		return errors.New("discord's response is not the JSON expected")
	// Discord does not have the call.
	case refused.Status == 0 && (transport.NeverSent(err) || errors.Is(err, transport.ErrRedirect)):
	case err != nil && (refused.Status == 0 || refused.Status >= 500):
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, transport.Clean(err))
	}
	return transport.Clean(err)
}

// encode makes the body of a call.
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

// apiTransport makes an *Error of every status but success, before discordgo
// makes one with the response's body and the address.
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

// FatalError is a fault of the settings: no later call or connection will
// succeed.
type FatalError string

func (e FatalError) Error() string { return string(e) }

// ErrOutcomeUnknown is wrapped by the error of a call that Discord may have taken.
var ErrOutcomeUnknown = errors.New("nobody knows whether Discord has it")

// ErrToken is what every call fails with if Discord refuses the token.
const ErrToken FatalError = "DISCORD_BOT_TOKEN: Discord refuses it"

// Error is a response with a status other than success.
type Error struct {
	Status int `json:"-"`
	// Code is Discord's own, 0 where the body has none.
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

// Retryable reports whether another try may succeed after err, and the least
// that it has to wait.
func Retryable(err error) (again bool, atLeast time.Duration) {
	if refused := errorOf(err); refused.Status != 0 {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= 500, refused.RetryAfter
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, ErrToken) && !errors.Is(err, transport.ErrRedirect), 0
}

// Expired reports whether err says that Discord takes no answer to the
// interaction any more.
func Expired(err error) bool {
	refused := errorOf(err)
	return refused.Status == http.StatusNotFound && refused.Code != discordgo.ErrCodeUnknownMessage ||
		refused.Code == discordgo.ErrCodeInvalidWebhookTokenProvided
}

// Unacceptable reports whether err says that Discord takes answers to the
// interaction, but not this one: the message to edit may be deleted.
func Unacceptable(err error) bool {
	again, _ := Retryable(err)
	return errorOf(err).Status != 0 && !again && !Expired(err)
}
