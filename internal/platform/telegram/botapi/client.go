// Package botapi calls Telegram's Bot API through go-telegram/bot, and classifies failed calls: whether a call may have
// had its effect, and whether it may be repeated. It does not know commands.
//
// There are two ways to make a call:
//
//   - Call and Change call any method of the library that takes parameters.
//   - The methods of Client make the other calls: GetMe and GetWebhookInfo, which take no parameters, and the calls
//     that the library lacks or makes in another way than this bot needs (missing.go, ephemeral.go). Tests with "Still"
//     in their names fail once a new version of the library has what is missing.
//
// Both use the HTTP client of this package (http.go), which limits a call and reads Telegram's refusals. The library's
// own errors quote the token and the server's text. Therefore no error of the library leaves this package.
package botapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/secret"
	"herald/internal/transport"
)

const (
	// callTimeout limits a call. GetUpdates adds the time that it waits for an update.
	callTimeout = 15 * time.Second
	// maxAnswer limits an answer, in bytes. The largest is a batch of 100 updates, which is about 10 MB: an update
	// of 100 KB has two texts of 4,096 characters, escaped, and their entities. The rest is reserve.
	maxAnswer = 64 << 20
)

// Config is what a Client works with.
type Config struct {
	Token secret.Value
	// URL is the Bot API server, without a slash at its end.
	URL string
	// MaxConns limits the connections to the server, besides one for GetUpdates. A call that gets
	// no connection in time fails with NotSent, so MaxConns should be at least the number of
	// simultaneous calls.
	MaxConns int
	// Transport carries the calls, for tests; nil is the network.
	Transport http.RoundTripper
}

// Client calls one Bot API server as one bot. It may be used by many goroutines. Its calls
// are described at https://core.telegram.org/bots/api#available-methods. They block until
// the answer is read, for at most 15 seconds (GetUpdates for longer), and fail with *Error.
type Client struct {
	token secret.Value
	url   string
	http  *http.Client // makes all calls but getUpdates
	poll  *http.Client // makes getUpdates
	// library returns the library's client. It is a function because fmt would print the token
	// in a *bot.Bot, and cannot look into a function.
	library func() *bot.Bot
}

// New returns a Client. It makes no call. The token must be set: otherwise, calls panic.
func New(c Config) *Client {
	client := &Client{
		token: c.Token,
		url:   c.URL,
		http:  transport.New(transport.Options{Timeout: callTimeout, MaxBody: maxAnswer, MaxConns: c.MaxConns}),
		poll:  transport.New(transport.Options{MaxBody: maxAnswer, MaxConns: 1}),
	}
	if c.Transport != nil {
		client.http = &http.Client{Transport: c.Transport, Timeout: callTimeout}
		client.poll = &http.Client{Transport: c.Transport}
	}
	library, _ := bot.New(c.Token.Reveal(), // bot.New fails only if the token is empty.
		bot.WithSkipGetMe(),
		bot.WithServerURL(c.URL),
		// The library uses this time limit only for its own poll, which never runs.
		bot.WithHTTPClient(0, libraryHTTP{client.http}),
		// The library reports here what it cannot return. The report may quote the token.
		bot.WithErrorsHandler(func(error) {}),
	)
	client.library = func() *bot.Bot { return library }
	return client
}

// Method is a method of the library, such as (*bot.Bot).GetChatMember, with its parameters P and
// its result R.
type Method[P, R any] func(*bot.Bot, context.Context, P) (R, error)

// Call calls a method of the library, and returns its result. It fails with *Error, even if Telegram carried the call
// out and only the result cannot be read.
func Call[P, R any](ctx context.Context, c *Client, method Method[P, R], params P) (R, error) {
	var state callState
	result, err := method(c.library(), state.inContext(ctx), params)
	return result, state.errorOf(err)
}

// Change is like Call, for a method that changes something. It succeeds if Telegram carried the call out, even if the
// result cannot be read; the result is then nil, zero or incomplete. If Change failed then, its caller would make the
// change again, and send a message twice.
func Change[P, R any](ctx context.Context, c *Client, method Method[P, R], params P) (R, error) {
	result, err := Call(ctx, c, method, params)
	return result, unlessCarriedOut(err)
}

// GetMe returns the bot's own user. People see its FirstName.
func (c *Client) GetMe(ctx context.Context) (*models.User, error) {
	var state callState
	me, err := c.library().GetMe(state.inContext(ctx))
	return me, state.errorOf(err)
}

// GetWebhookInfo returns where Telegram delivers updates, and the last failed delivery.
func (c *Client) GetWebhookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	var state callState
	info, err := c.library().GetWebhookInfo(state.inContext(ctx))
	return info, state.errorOf(err)
}

// unlessCarriedOut returns err, or nil if err says that the call was carried out (Unreadable).
func unlessCarriedOut(err error) error {
	if ErrorOf(err).Kind == Unreadable {
		return nil
	}
	return err
}
