// Package botapi makes calls to Telegram's Bot API and says what a failed call
// means: whether it may have been carried out, and whether it may be repeated.
// It knows nothing of commands.
//
// go-telegram/bot makes the calls that it has, over this package's HTTP and with its
// errors: the library's own quote the token and the server's text. This package makes the
// calls for which the library lacks a part (TestLibraryStillLacks lists them). It polls,
// because the library acknowledges updates too early. It answers presses and deletes
// messages with a third of the library's allocations (BenchmarkPress).
package botapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/secret"
	"herald/internal/transport"
)

// Bounds on calls.
const (
	// callTimeout bounds a call; getUpdates may take as much longer than asked.
	callTimeout = 15 * time.Second
	// maxAnswer bounds an answer in bytes. The largest is a batch of 100 updates, each of
	// at most some 100 KB: two texts of 4,096 characters, escaped, and their entities.
	maxAnswer = 64 << 20
)

// Config is what a Client works with.
type Config struct {
	Token secret.Value
	// URL is the Bot API server, without a slash at its end.
	URL string
	// MaxConns bounds the connections to the server. It should be no less than the calls
	// made at a time: a call that waits for a connection for too long fails with NotSent.
	MaxConns int
	// Transport carries the calls, for tests; nil is the network.
	Transport http.RoundTripper
}

// Client calls one Bot API server as one bot. Its methods may be called from
// many goroutines. Each is the Bot API's method of the same name,
// https://core.telegram.org/bots/api#available-methods, and fails with *Error.
type Client struct {
	token secret.Value
	url   string
	http  *http.Client
	// bot returns the library's client. It is a function because fmt would print the
	// client's token, and of a function prints only the address.
	bot func() *bot.Bot
}

// New makes a Client without a call. The token must be set.
func New(c Config) *Client {
	// One more connection is for the poll.
	client := &Client{token: c.Token, url: c.URL, http: transport.New(transport.Options{MaxBody: maxAnswer, MaxConns: c.MaxConns + 1})}
	if c.Transport != nil {
		client.http = &http.Client{Transport: c.Transport}
	}
	library, _ := bot.New(c.Token.Reveal(), // It refuses an empty token alone.
		bot.WithSkipGetMe(),
		bot.WithServerURL(c.URL),
		bot.WithHTTPClient(callTimeout, libraryHTTP{client: client}),
		// The library reports there what it cannot return, which may quote a
		// URL with the token.
		bot.WithErrorsHandler(func(error) {}),
	)
	client.bot = func() *bot.Bot { return library }
	return client
}

// GetMe returns the bot's own user. People see its FirstName.
func (c *Client) GetMe(ctx context.Context) (*models.User, error) {
	me, err := c.bot().GetMe(ctx)
	return me, libraryError("getMe", err)
}

// GetUpdates acknowledges all updates before offset and returns up to limit of the
// others. It waits for the first one for up to wait, in whole seconds. The updates are
// undecoded, so that one of an unknown form spoils no other.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, wait time.Duration, kinds []string) ([]json.RawMessage, error) {
	request := jsonCall("getUpdates", map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": kinds,
	})
	request.timeout += wait
	return exchange[[]json.RawMessage](ctx, c, request)
}

// GetWebhookInfo returns where updates are delivered to, and the last failed delivery.
func (c *Client) GetWebhookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	info, err := c.bot().GetWebhookInfo(ctx)
	return info, libraryError("getWebhookInfo", err)
}

// SendChatAction shows "typing…" or another action in a chat, for 5 seconds.
func (c *Client) SendChatAction(ctx context.Context, params *bot.SendChatActionParams) error {
	_, err := c.bot().SendChatAction(ctx, params)
	return libraryError("sendChatAction", err)
}

// SetWebhook has updates delivered from now on.
func (c *Client) SetWebhook(ctx context.Context, params *bot.SetWebhookParams) error {
	_, err := c.bot().SetWebhook(ctx, params)
	return libraryError("setWebhook", err)
}

// DeleteWebhook ends deliveries and keeps the updates not delivered yet.
func (c *Client) DeleteWebhook(ctx context.Context) error {
	_, err := c.bot().DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
	return libraryError("deleteWebhook", err)
}

// libraryHTTP is the HTTP client under the library.
type libraryHTTP struct{ client *Client }

// Do makes a call of the library as this package makes its own: it reads the streamed body
// into memory, so that the call can be repeated. It fails with *Error.
func (l libraryHTTP) Do(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	body, _ := io.ReadAll(req.Body) // It fails only for uploads, and no call here has one.
	result, err := exchange[json.RawMessage](req.Context(), l.client, call{
		method: path.Base(req.URL.Path), contentType: req.Header.Get("Content-Type"), body: body, timeout: callTimeout,
	})
	if err != nil {
		return nil, err
	}
	answer := fmt.Sprintf(`{"ok":true,"result":%s}`, result)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// libraryError returns the *Error in an error of the library. An error without one is the
// library's own about a result that it could not read.
func libraryError(method string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	return notTheirs(method)
}
