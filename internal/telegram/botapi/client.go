// Package botapi makes calls to Telegram's Bot API and says what a failed call
// means: whether it may have been carried out, and whether it may be repeated.
// It knows nothing of commands.
//
// Of go-telegram/bot it uses types alone. The library knows no date_time entity
// and nothing ephemeral, acknowledges updates before they are handled, builds each
// call as a multipart form through a pipe and a goroutine, which takes four times
// as long as JSON, and its errors quote the token and whatever the server said.
package botapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/config"
	"herald/internal/transport"
)

// Bounds on calls.
const (
	callTimeout = 15 * time.Second
	// pollSlack is how much longer than asked an answer to getUpdates may take.
	pollSlack = 15 * time.Second
	// maxAnswer and maxBatch bound answers in bytes; a batch is 100 updates.
	maxAnswer = 1 << 20
	maxBatch  = 16 << 20
)

// Config is what a Client works with.
type Config struct {
	Token config.Secret
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
	token        config.Secret
	url          string
	calls, polls *http.Client
}

// New makes a Client, and asks nothing. It fails without a token.
func New(c Config) (*Client, error) {
	if !c.Token.IsSet() {
		return nil, errors.New("there is no token for the Bot API")
	}
	calls := transport.New(transport.Options{Timeout: callTimeout, MaxBody: maxAnswer, MaxConns: c.MaxConns})
	polls := transport.New(transport.Options{MaxBody: maxBatch, MaxConns: 2})
	if c.Transport != nil {
		calls, polls = &http.Client{Timeout: callTimeout, Transport: c.Transport}, &http.Client{Transport: c.Transport}
	}
	return &Client{token: c.Token, url: c.URL, calls: calls, polls: polls}, nil
}

// User is a bot's account.
type User struct {
	ID       int64
	Username string // without @
	// JoinsGroups is whether it can be added to groups.
	JoinsGroups bool
}

// GetMe returns who the bot is.
func (c *Client) GetMe(ctx context.Context) (User, error) {
	me, err := call[models.User](ctx, c, "getMe", noParameters{})
	if err != nil && ErrorOf(err).Kind == Refused {
		// Every server has the method: it is the token that is not known.
		return User{}, &Error{Method: "getMe", Kind: Refused, detail: "the token is not known there"}
	}
	return User{me.ID, me.Username, me.CanJoinGroups}, err
}

// GetWebhookInfo returns where updates are delivered to, and how that goes.
func (c *Client) GetWebhookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	info, err := call[models.WebhookInfo](ctx, c, "getWebhookInfo", noParameters{})
	return &info, err
}

// SendChatAction shows "typing…" and its like in a chat.
func (c *Client) SendChatAction(ctx context.Context, params *bot.SendChatActionParams) error {
	return do(ctx, c, "sendChatAction", params)
}

// GetChatMember returns a user's standing in a chat.
func (c *Client) GetChatMember(ctx context.Context, params *bot.GetChatMemberParams) (*models.ChatMember, error) {
	member, err := call[models.ChatMember](ctx, c, "getChatMember", params)
	return &member, err
}

// SetWebhook has updates delivered from now on.
func (c *Client) SetWebhook(ctx context.Context, params *bot.SetWebhookParams) error {
	return do(ctx, c, "setWebhook", params)
}

// DeleteWebhook ends deliveries and keeps the updates not delivered yet.
func (c *Client) DeleteWebhook(ctx context.Context) error {
	return do(ctx, c, "deleteWebhook", noParameters{})
}
