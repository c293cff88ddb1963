// Package botapi makes calls to Telegram's Bot API and says what a failed call
// means: whether it may have been carried out, and whether it may be repeated.
// It knows nothing of commands.
//
// What the bot polls, sends and edits goes out by calls of this package, with
// types of its own: go-telegram/bot knows no date_time entity and nothing
// ephemeral, and acknowledges updates before they are handled. The library makes
// the other calls, over this package's HTTP and with its errors: the library's own
// quote the token and whatever the server said.
package botapi

import (
	"context"
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
	// maxAnswer bounds an answer in bytes; it may be a batch of 100 updates.
	maxAnswer = 16 << 20
)

// Config is what a Client works with.
type Config struct {
	Token secret.Value
	// URL is the Bot API server, without a slash at its end.
	URL string
	// MaxConns bounds the connections to it. It should be no less than the
	// calls made at a time: one that waits for a connection for too long fails
	// with OutcomeUnknown.
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
	// bot is the library's client. That holds the token as plain text, which
	// fmt would show: of a function it shows no more than the address.
	bot func() *bot.Bot
}

// New makes a Client, and asks nothing. It fails if the library refuses the
// token's form.
func New(c Config) (*Client, error) {
	// One more connection is for the poll.
	client := &Client{token: c.Token, url: c.URL, http: transport.New(transport.Options{MaxBody: maxAnswer, MaxConns: c.MaxConns + 1})}
	if c.Transport != nil {
		client.http = &http.Client{Transport: c.Transport}
	}
	library, err := bot.New(c.Token.Reveal(),
		bot.WithSkipGetMe(),
		bot.WithServerURL(c.URL),
		bot.WithHTTPClient(callTimeout, libraryHTTP{client: client}),
		// The library reports there what it cannot return, which may quote a
		// URL with the token.
		bot.WithErrorsHandler(func(error) {}),
	)
	if err != nil {
		return nil, errors.New("the Bot API's client refuses the token")
	}
	client.bot = func() *bot.Bot { return library }
	return client, nil
}

// User is a bot's account.
type User struct {
	ID       int64
	Username string // without @
	Name     string // what people see
}

// GetMe returns who the bot is.
func (c *Client) GetMe(ctx context.Context) (User, error) {
	me, err := c.bot().GetMe(ctx)
	if err != nil {
		return User{}, libraryError("getMe", err)
	}
	return User{ID: me.ID, Username: me.Username, Name: me.FirstName}, nil
}

// GetWebhookInfo returns where updates are delivered to, and how that goes.
func (c *Client) GetWebhookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	info, err := c.bot().GetWebhookInfo(ctx)
	return info, libraryError("getWebhookInfo", err)
}

// SendChatAction shows "typing…" and its like in a chat.
func (c *Client) SendChatAction(ctx context.Context, params *bot.SendChatActionParams) error {
	_, err := c.bot().SendChatAction(ctx, params)
	return libraryError("sendChatAction", err)
}

// GetChatMember returns a user's standing in a chat.
func (c *Client) GetChatMember(ctx context.Context, params *bot.GetChatMemberParams) (*models.ChatMember, error) {
	member, err := c.bot().GetChatMember(ctx, params)
	return member, libraryError("getChatMember", err)
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

// Do makes a call of the library as this package makes its own, with the body, which
// the library streams, in memory. It fails with *Error.
func (l libraryHTTP) Do(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	body, _ := io.ReadAll(req.Body) // None of the parameters here is read from anywhere.
	result, err := l.client.exchange(req.Context(), callTimeout, path.Base(req.URL.Path), req.Header.Get("Content-Type"), body)
	if err != nil {
		return nil, err
	}
	answer := fmt.Sprintf(`{"ok":true,"result":%s}`, result)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// libraryError returns the *Error in an error of the library. Without one, the
// library could not read what the call returned.
func libraryError(method string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	return notTheirs(method)
}
