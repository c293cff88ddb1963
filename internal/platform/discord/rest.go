package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/gateway"
	"herald/internal/secret"
	"herald/internal/transport"
)

const (
	// overtaking is how long a call may come before the first response it needs.
	overtaking = 5 * time.Second
	// callbackTry bounds one try of the first response, so that a lost one
	// leaves time for another.
	callbackTry = 1500 * time.Millisecond
	// callTime bounds one try of any other call.
	callTime = 10 * time.Second
	// pictureTime is for how long a picture is tried before the answer goes
	// without.
	pictureTime = 30 * time.Second
	// maxCalls bounds the calls under way, and the connections to Discord. At 50
	// ms a call, that many carry 5,000 first responses within a second.
	maxCalls = 256
)

// unclearWaits are the waits before each repetition of a message that may be out
// or not, and would be there twice.
var unclearWaits = [...]time.Duration{2 * time.Second, 5 * time.Second}

// newSession makes the Session that REST calls go through. It is never opened,
// and does not know the token, which it would show when it is printed.
func newSession(token secret.Value, apiURL string) *discordgo.Session {
	s, _ := discordgo.New("") // which never fails
	// Below LogError: its log prints addresses, which hold tokens.
	s.LogLevel = discordgo.LogError - 1
	client := transport.New(transport.Options{MaxBody: 4 << 20, MaxConns: maxCalls})
	scheme, host, _ := strings.Cut(apiURL, "://")
	client.Transport = &origin{base: client.Transport, scheme: scheme, host: host, token: token}
	s.Client = client
	return s
}

// origin sends every request to one origin, because discordgo fixes its
// addresses when it is loaded, and adds the bot's token. It turns every status
// but success into a refusal, because discordgo puts the response's body and the
// address into its errors.
type origin struct {
	base         http.RoundTripper
	scheme, host string
	token        secret.Value
}

func (o *origin) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = o.scheme, o.host, ""
	req.Header.Set("Authorization", "Bot "+o.token.Reveal())
	resp, err := o.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, newRefusal(resp)
	}
	// Without headers, on some of which discordgo's limiter fails.
	return &http.Response{StatusCode: http.StatusOK, Body: resp.Body}, nil
}

// CloseIdleConnections lets http.Client reach those of base.
func (o *origin) CloseIdleConnections() {
	if c, ok := o.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// refusal is a response with a status other than success.
type refusal struct {
	Status int `json:"-"`
	// Code is Discord's own, 0 where the body has none.
	// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
	Code       int           `json:"code"`
	RetryAfter time.Duration `json:"-"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("discord refused with status %d, code %d", r.Status, r.Code)
}

func newRefusal(resp *http.Response) *refusal {
	r := &refusal{Status: resp.StatusCode, RetryAfter: transport.RetryAfter(resp.Header)}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = json.Unmarshal(body, r) // where that fails there is no Code
	return r
}

// encode makes the body of a call: JSON, and the picture of a message beside it.
func encode(body any) (contentType string, sent []byte, err error) {
	if body == nil {
		return "", nil, nil
	}
	if m, ok := body.(message); ok && m.picture != nil {
		picture := &discordgo.File{Name: m.Attachments[0].Filename, ContentType: "image/png", Reader: bytes.NewReader(m.picture)}
		return discordgo.MultipartBodyWithJSON(m, []*discordgo.File{picture})
	}
	sent, err = json.Marshal(body)
	return "application/json", sent, err
}

// call makes one REST call, with a body and a result that may be nil. Once there
// is room for it, it takes at most limit. Its error is a refusal,
// gateway.ErrToken, or one that holds no URL and no text of the server.
func (a *Adapter) call(ctx context.Context, limit time.Duration, method, endpoint string, body, result any) error {
	// Beyond the bound a call waits here and not in the transport, where it would
	// hold many times the memory.
	if err := a.calls.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for other calls: %w", err)
	}
	defer a.calls.Release(1)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Here and not before the wait, so that no more than maxCalls copies of pictures
	// are held at a time.
	contentType, sent, err := encode(body)
	if err != nil {
		return fmt.Errorf("encode a call: %w", err)
	}
	// A bucket for this call alone: discordgo's limiter lets only one call of a
	// bucket through at a time, sleeps whatever the context says, and keeps every
	// bucket for ever.
	bucket := new(discordgo.Bucket)
	bucket.Lock()
	answer, err := a.rest.RequestWithLockedBucket(method, endpoint, contentType, sent, bucket, 0,
		discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0))
	var r *refusal
	switch {
	case errors.As(err, &r) && r.Status == http.StatusUnauthorized && r.Code != discordgo.ErrCodeInvalidWebhookTokenProvided:
		return gateway.ErrToken
	case errors.As(err, &r):
		if r.Status == http.StatusTooManyRequests {
			a.Count("rate_limited")
		}
		return r
	case err != nil:
		return transport.Clean(err)
	case result != nil && json.Unmarshal(answer, result) != nil:
		return errors.New("discord's answer is not the JSON expected")
	}
	return nil
}

// retryable reports whether another try may succeed after err, and the least
// that it has to wait.
func retryable(err error) (again bool, atLeast time.Duration) {
	if r, refused := errors.AsType[*refusal](err); refused {
		return r.Status == http.StatusTooManyRequests || r.Status >= 500, r.RetryAfter
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, gateway.ErrToken), 0
}

// retry makes a call until Discord accepts it, refuses it for good, or the next
// try would come too late.
func (a *Adapter) retry(ctx context.Context, until time.Time, again func(error) (bool, time.Duration), call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return transport.Policy{
		Backoff: transport.Backoff{First: 200 * time.Millisecond, Max: 30 * time.Second}, Until: until, Again: again,
		Failed: func(error, int, time.Duration) { a.Count("retried") },
	}.Do(ctx, call)
}

// callback posts the first response to an interaction that arrived at the given
// time. Repeating it is harmless: Discord refuses a second one, which proves that
// the first has landed.
func (a *Adapter) callback(work *chat.Tasks, id, token string, arrived time.Time, r response) error {
	endpoint := discordgo.EndpointInteractionResponse(url.PathEscape(id), url.PathEscape(token))
	err := a.retry(work.Sends, arrived.Add(callbackFor), retryable, func(ctx context.Context) error {
		err := a.call(ctx, callbackTry, http.MethodPost, endpoint, r, nil)
		if r, refused := errors.AsType[*refusal](err); refused && r.Code == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("answer an interaction: %w", err)
	}
	return nil
}

// edit makes m of what the first response has promised: the answer's own message
// or, for a button, the one that holds it. It tries for as long as Discord would
// take it, and without the picture if that cannot be sent.
func (a *Adapter) edit(work *chat.Tasks, p *pendingInteraction, m message) error {
	if m.picture != nil {
		err := a.editUntil(work, p, m, time.Now().Add(pictureTime))
		if err == nil || expired(err) {
			return err
		}
		a.Count("picture_failed")
		m = m.withoutPicture()
	}
	return a.editUntil(work, p, m, p.arrived.Add(tokenLife))
}

// editUntil tries to edit until a time. Repeating it changes nothing: the picture
// of m takes the place of what the message had.
func (a *Adapter) editUntil(work *chat.Tasks, p *pendingInteraction, m message, until time.Time) error {
	endpoint := discordgo.EndpointWebhookMessage(url.PathEscape(p.ApplicationID), url.PathEscape(p.Token), "@original")
	err := a.retry(work.Sends, until, p.afterFirst(retryable), func(ctx context.Context) error {
		return a.call(ctx, callTime, http.MethodPatch, endpoint, m, nil)
	})
	if err != nil {
		return fmt.Errorf("edit an answer: %w", err)
	}
	return nil
}

// expired reports whether err says that Discord takes no answer to an interaction
// any more.
func expired(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.Status == http.StatusNotFound || r.Code == discordgo.ErrCodeInvalidWebhookTokenProvided)
}

// tellAsker shows m to the asker alone, beside what the first response has
// shown. It must not follow a deferral of a new message: Discord would take it
// for that one, and show it to whoever the deferral was for. If it is
// unclear whether it is out, it is sent again, twice at most and seconds apart.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (a *Adapter) tellAsker(work *chat.Tasks, p *pendingInteraction, m message) error {
	endpoint := discordgo.EndpointWebhookToken(url.PathEscape(p.ApplicationID), url.PathEscape(p.Token))
	m.Flags = discordgo.MessageFlagsEphemeral
	unclear := 0
	again := p.afterFirst(func(err error) (bool, time.Duration) {
		again, atLeast := retryable(err)
		var r *refusal
		limited := errors.As(err, &r) && r.Status == http.StatusTooManyRequests
		if !again || limited || transport.NeverSent(err) {
			return again, atLeast
		}
		if unclear++; unclear > len(unclearWaits) {
			return false, 0
		}
		return true, max(atLeast, unclearWaits[unclear-1])
	})
	err := a.retry(work.Sends, p.arrived.Add(tokenLife), again, func(ctx context.Context) error {
		return a.call(ctx, callTime, http.MethodPost, endpoint, m, nil)
	})
	if err != nil {
		return fmt.Errorf("tell the asker: %w", err)
	}
	return nil
}

// afterFirst is again for calls that need the first response, beginning now: one
// that is the body of an HTTP response may still be on its way to Discord.
func (p *pendingInteraction) afterFirst(again func(error) (bool, time.Duration)) func(error) (bool, time.Duration) {
	overtaken := time.Now().Add(overtaking)
	return func(err error) (bool, time.Duration) {
		if r, refused := errors.AsType[*refusal](err); refused && p.byHTTP && r.Status == http.StatusNotFound {
			return time.Now().Before(overtaken), 0
		}
		return again(err)
	}
}

func (a *Adapter) askGateway(ctx context.Context) (told discordgo.GatewayBotResponse, err error) {
	err = a.call(ctx, callTime, http.MethodGet, discordgo.EndpointGatewayBot, nil, &told)
	return told, err
}

// application is what Discord says of the one that the token belongs to.
// https://discord.com/developers/docs/resources/application#application-object
type application struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Bot  struct {
		Username string `json:"username"`
	} `json:"bot"`
	VerifyKey string `json:"verify_key"`
	// Endpoint is where all interactions go by HTTP; empty is the gateway.
	Endpoint string `json:"interactions_endpoint_url"`
}

// name is what people see the bot called.
func (a application) name() string { return cmp.Or(a.Bot.Username, a.Name) }

// askApplication asks Discord which application the token belongs to.
func (a *Adapter) askApplication(ctx context.Context) (application, error) {
	var told application
	if err := a.call(ctx, callTime, http.MethodGet, discordgo.EndpointApplication("@me"), nil, &told); err != nil {
		return application{}, fmt.Errorf("ask for the application: %w", err)
	}
	if !isSnowflake(told.ID) {
		return application{}, errors.New("ask for the application: the answer has no ID")
	}
	return told, nil
}
