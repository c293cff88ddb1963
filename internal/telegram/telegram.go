// Package telegram joins Telegram's Bot API to a chat.Handler, by long polling
// or by webhook.
//
// It never uses the library's own polling, webhook handler or error texts:
// those acknowledge updates before they are answered, and quote the token. An
// update counts as answered only once its answer is out, so that a stop in the
// middle loses nothing. parse.go and render.go are pure; the answer to a
// private command is only ever sent to its asker's private chat, and what a
// group is told about it is a fixed sentence.
//
// A message is repeated only when it certainly was not sent: Telegram has no
// key by which it would know a repetition. So a message that broke off while
// being sent is left alone, counted and logged by its reference.
//
// Events told to Config.Count:
//
//	update_undecodable    an update that is not JSON of the expected form
//	update_repeated       a webhook delivery whose update is answered or in hand
//	webhook_unauthorized  a webhook call without the secret
//	webhook_full          a webhook call turned away with 503
//	poll_failed           a getUpdates call that failed
//	rate_limited          a 429
//	send_repeated         a message sent again that was certainly not out
//	send_unclear          a message that may be out or not, and is left alone
//	send_refused          a message that Telegram will not take
//	send_given_up         a message certainly not out when its time was over
//	send_shed             an answer not said because the chat's rate is used up
//	busy_said             the one message said instead
//	private_unreachable   an asker to whom the bot may not write yet
//	panic                 a panic while an update was handled
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/transport"
)

// Platform is Telegram's name in requests, logs and settings.
const Platform chat.Platform = "telegram"

// allowedUpdates are the kinds of update asked for: new messages alone, no
// edits and no channel posts.
var allowedUpdates = []string{"message"}

// Config is what an Adapter works with.
type Config struct {
	Token string
	// APIURL is the Bot API server; empty is https://api.telegram.org.
	APIURL string
	// WebhookURL is where Telegram delivers updates; empty is long polling.
	// WebhookSecret and Dedup are required with it.
	WebhookURL    string
	WebhookSecret string
	Dedup         chat.Dedup
	// Pacing keeps sends to Telegram's published rates.
	Pacing  bool
	Handler chat.Handler
	// CommandTimeout is how long after a command's arrival its answer may
	// still wait for its turn under Pacing.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is told of every event in the package comment; nil is nobody.
	Count func(event string)
}

// Adapter is Telegram as a chat.Adapter; it is the webhook's http.Handler too.
type Adapter struct {
	Config
	api      *bot.Bot
	polls    *http.Client
	pace     *pacer
	commands map[string]chat.Command
	ready    atomic.Bool
	// serving is the Run that takes webhook deliveries; nil takes none.
	serving atomic.Pointer[session]

	longPoll, pollSlack time.Duration
}

var _ chat.Adapter = (*Adapter)(nil)

var (
	tokenForm  = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`) // https://core.telegram.org/bots/api#setwebhook
)

// New checks the configuration. It asks Telegram nothing.
func New(c Config) (*Adapter, error) {
	if !tokenForm.MatchString(c.Token) {
		return nil, errors.New("telegram: the token must look like 123456:ABC-DEF")
	}
	if c.APIURL == "" {
		c.APIURL = "https://api.telegram.org"
	}
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	if u, err := url.Parse(c.APIURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" {
		return nil, errors.New("telegram: the Bot API server must be an http or https URL without a query")
	}
	if c.WebhookURL != "" && (!secretForm.MatchString(c.WebhookSecret) || c.Dedup == nil) {
		return nil, errors.New("telegram: a webhook needs a Dedup and a secret of 1 to 256 characters A-Z, a-z, 0-9, _ and -")
	}
	if c.Log == nil || c.CommandTimeout <= 0 {
		return nil, errors.New("telegram: Handler, Log and CommandTimeout are required")
	}
	if c.Count == nil {
		c.Count = func(string) {}
	}
	api, err := bot.New(c.Token,
		bot.WithSkipGetMe(),
		bot.WithServerURL(c.APIURL),
		bot.WithHTTPClient(longPoll, client{transport.New(transport.Options{
			Timeout: callTimeout, MaxBody: maxAnswer, MaxConns: maxConns,
		})}),
		// The library reports through it what it cannot return; it may quote
		// a URL with the token.
		bot.WithErrorsHandler(func(error) {}),
	)
	if err != nil {
		return nil, errors.New("telegram: the library refuses the configuration")
	}
	a := &Adapter{
		Config:    c,
		api:       api,
		polls:     transport.New(transport.Options{MaxBody: maxBatch, MaxConns: 2}),
		pace:      newPacer(c.Pacing),
		commands:  map[string]chat.Command{},
		longPoll:  longPoll,
		pollSlack: pollSlack,
	}
	return a, nil
}

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready implements chat.Adapter: the last poll was answered, or the webhook is
// set.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// Check asks Telegram once who the bot is. The detail is its username.
func (a *Adapter) Check(ctx context.Context) (detail string, err error) {
	me, err := a.whoAmI(ctx)
	if err != nil {
		return "", fmt.Errorf("telegram: %w", err)
	}
	return "@" + me.Username, nil
}

func (a *Adapter) whoAmI(ctx context.Context) (identity, error) {
	user, err := a.api.GetMe(ctx)
	if err != nil {
		return identity{}, clarify("getMe", err)
	}
	return identity{user.ID, user.Username}, nil
}

// setMenu lists every command that has a summary in Telegram's menu.
func (a *Adapter) setMenu(ctx context.Context) error {
	var menu []models.BotCommand
	for _, c := range a.Handler.Commands() {
		if c.Summary != "" {
			menu = append(menu, models.BotCommand{Command: c.Name, Description: c.Summary})
		}
	}
	_, err := a.api.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: menu})
	return clarify("setMyCommands", err)
}
