// Package botapi calls Telegram's Bot API through go-telegram/bot, and says what a failed
// call means: whether it may have been carried out, and whether it may be repeated.
// It knows nothing of commands.
//
// Call and Change take a method of the library. Client has the methods that the library
// lacks or lacks a part of; TestLibraryStillLacks fails once it has them. Below both is
// the HTTP client of this package (http.go), which bounds a call and reads Telegram's
// refusals: the library's own errors quote the token and the server's text.
package botapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/secret"
	"herald/internal/transport"
)

// Limits of calls.
const (
	// callTimeout limits a call; getUpdates may take longer by the time that it asks for.
	callTimeout = 15 * time.Second
	// maxAnswer limits an answer in bytes. The largest is a batch of 100 updates, each of
	// at most some 100 KB: two texts of 4,096 characters, escaped, and their entities.
	maxAnswer = 64 << 20
)

// Config is what a Client works with.
type Config struct {
	Token secret.Value
	// URL is the Bot API server, without a slash at its end.
	URL string
	// MaxConns limits the connections to the server, in addition to that of the poll. It should
	// be no less than the calls made at a time: a call that waits for a connection for too long
	// fails with NotSent.
	MaxConns int
	// Transport carries the calls, for tests; nil is the network.
	Transport http.RoundTripper
}

// Client calls one Bot API server as one bot. It may be used by many goroutines. Its
// methods are the Bot API's methods of the same name,
// https://core.telegram.org/bots/api#available-methods, and fail with *Error.
type Client struct {
	token secret.Value
	url   string
	// http makes all calls but getUpdates, which poll makes.
	http, poll *http.Client
	// library returns the library's client. It is a function because fmt prints the token in a
	// *bot.Bot (with %s), but only the address of a function.
	library func() *bot.Bot
}

// New makes a Client without a call. The token must be set.
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
	library, _ := bot.New(c.Token.Reveal(), // New fails only if the token is empty.
		bot.WithSkipGetMe(),
		bot.WithServerURL(c.URL),
		bot.WithHTTPClient(callTimeout, libraryHTTP{client}),
		// The library reports here what it cannot return. The report may quote the token.
		bot.WithErrorsHandler(func(error) {}),
	)
	client.library = func() *bot.Bot { return library }
	return client
}

// Call makes one call by a method of the library, such as (*bot.Bot).GetChatMember, and
// returns its result. It fails with *Error, even if the library cannot read the result.
func Call[P, R any](ctx context.Context, c *Client, method func(*bot.Bot, context.Context, P) (R, error), params P) (R, error) {
	result, err := method(c.library(), ctx, params)
	return result, libraryError(err)
}

// Change is like Call, for a method that changes something. It succeeds if Telegram carried
// the call out, even if the library cannot read the result, or only a part of it. Otherwise
// a message would be sent twice.
func Change[P, R any](ctx context.Context, c *Client, method func(*bot.Bot, context.Context, P) (R, error), params P) (R, error) {
	result, err := Call(ctx, c, method, params)
	return result, unlessCarriedOut(err)
}

// GetMe returns the bot's own user. People see its FirstName.
func (c *Client) GetMe(ctx context.Context) (*models.User, error) {
	me, err := c.library().GetMe(ctx)
	return me, libraryError(err)
}

// GetWebhookInfo returns where updates are delivered to, and the last failed delivery.
func (c *Client) GetWebhookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	info, err := c.library().GetWebhookInfo(ctx)
	return info, libraryError(err)
}

// libraryError returns the *Error in an error of the library. The library's own errors
// are about a request that it did not make, or about a result that it could not read.
func libraryError(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	problem, rest, _ := strings.Cut(err.Error(), " for method ")
	method, _, _ := strings.Cut(rest, ",")
	if strings.HasPrefix(problem, "error decode response") {
		return &Error{Method: method, Kind: Unreadable}
	}
	return &Error{Method: method, Kind: NotSent, detail: impossible}
}

// unlessCarriedOut returns err, or nil if err says that the call was carried out.
func unlessCarriedOut(err error) error {
	if err != nil && ErrorOf(err).Kind == Unreadable {
		return nil
	}
	return err
}
