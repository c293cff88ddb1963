package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/transport"
)

// errToken ends Run: no retry mends it.
var errToken = errors.New("DISCORD_BOT_TOKEN: Discord refuses it")

// newSession makes the Session that REST calls go through; it is never opened.
func newSession(token string, api *url.URL) (*discordgo.Session, error) {
	s, err := discordgo.New("Bot " + token)
	if err != nil {
		return nil, fmt.Errorf("make a session: %w", err)
	}
	// Below LogError: its log prints addresses, which hold tokens.
	s.LogLevel = discordgo.LogError - 1
	s.Client = transport.New(transport.Options{Timeout: 10 * time.Second, MaxBody: 4 << 20, MaxConns: 128})
	s.Client.Transport = &origin{base: s.Client.Transport, scheme: api.Scheme, host: api.Host}
	return s, nil
}

// origin sends every request to one origin, because discordgo's addresses are
// computed when it is loaded. It answers for statuses itself: discordgo sleeps
// through limits without a context while it holds a lock, tries 502 again at
// once, and puts the response's body and the address into its errors.
type origin struct {
	base         http.RoundTripper
	scheme, host string
}

func (o *origin) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = o.scheme, o.host, ""
	resp, err := o.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			resp.Header.Del(name)
		}
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, newRefusal(resp)
}

// CloseIdleConnections lets http.Client reach those of base.
func (o *origin) CloseIdleConnections() {
	if c, ok := o.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// refusal is a response with a status other than success.
type refusal struct {
	Status int
	// Code is Discord's own, 0 where the body has none.
	// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
	Code       int
	RetryAfter time.Duration
}

func (r *refusal) Error() string {
	return fmt.Sprintf("discord refused with status %d, code %d", r.Status, r.Code)
}

func newRefusal(resp *http.Response) *refusal {
	r := &refusal{Status: resp.StatusCode}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var told struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(body, &told) == nil {
		r.Code = told.Code
	}
	if seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil && seconds > 0 {
		r.RetryAfter = time.Duration(min(seconds, time.Hour.Seconds()) * float64(time.Second))
	}
	return r
}

// refusedToken tells whether Discord does not know the bot's token.
func refusedToken(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.Status == http.StatusUnauthorized
}

// call makes one REST call; bucket is its key in discordgo's limiter, which
// lets one call a key through at a time. into may be nil.
func (a *Adapter) call(ctx context.Context, method, endpoint, bucket string, body, into any) error {
	answer, err := a.rest.RequestWithBucketID(method, endpoint, body, bucket,
		discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0))
	if err != nil {
		return transport.Clean(err)
	}
	if into != nil && json.Unmarshal(answer, into) != nil {
		return errors.New("discord's answer is not the JSON expected")
	}
	return nil
}

// persist tries send until it succeeds, Discord refuses it for good, or the
// next try would come after the deadline.
func (a *Adapter) persist(ctx context.Context, deadline time.Time, send func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for pause := a.pace.retry; ; pause = min(2*pause, a.pace.retryMax) {
		err := send(ctx)
		if err == nil || !passing(err) {
			return err
		}
		wait := jitter(pause)
		var r *refusal
		if errors.As(err, &r) && r.Status == http.StatusTooManyRequests {
			a.Count("rate_limited")
			wait = max(wait, r.RetryAfter)
		}
		if time.Until(deadline) < wait || !sleep(ctx, wait) {
			return err
		}
		a.Count("retried")
	}
}

// passing tells whether err may be gone at the next try.
func passing(err error) bool {
	var r *refusal
	if errors.As(err, &r) {
		return r.Status == http.StatusTooManyRequests || r.Status >= 500
	}
	return !errors.Is(err, context.Canceled)
}

// askApplicationID asks Discord which application the token belongs to.
func (a *Adapter) askApplicationID(ctx context.Context) (string, error) {
	var application struct {
		ID string `json:"id"`
	}
	endpoint := discordgo.EndpointApplication("@me")
	if err := a.call(ctx, http.MethodGet, endpoint, endpoint, nil, &application); err != nil {
		return "", fmt.Errorf("ask for the application: %w", err)
	}
	if !snowflakeForm.MatchString(application.ID) {
		return "", errors.New("ask for the application: the answer has no ID")
	}
	return application.ID, nil
}

// jitter is d, or up to half as long again.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/2+1) }

// sleep waits for d and tells whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
