package telegram

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

const (
	// queryLasts is how long an answer to a press or an inline query is worth sending. Telegram does not publish its own
	// limit, which is longer.
	queryLasts = 10 * time.Second
	// spinnerLasts is how long a pressed button shows a spinner while an answer waits for its slot or is sent.
	spinnerLasts = 2 * time.Second
)

// press is a pressed button, which shows a spinner until the press is answered.
type press struct {
	s          *session
	id         string      // of the callback query
	isAnswered atomic.Bool // set before the answer is sent
}

// answer answers the callback query, and reports whether Telegram took the answer. A press is answered only once: later
// calls return false at once, even while the first one waits for Telegram. So do calls on a nil press.
func (p *press) answer(a bot.AnswerCallbackQueryParams) (taken bool) {
	return p.answerBy(func(ctx context.Context) error {
		a.CallbackQueryID = p.id
		_, err := botapi.Change(ctx, p.s.adapter.api, (*bot.Bot).AnswerCallbackQuery, &a)
		return err
	})
}

// endSpinner answers the callback query without showing anything.
func (p *press) endSpinner() { p.answer(bot.AnswerCallbackQueryParams{}) }

// open answers the callback query with a link to the private chat with the bot. The user's app follows it, and sends
// /start with the payload there. The result of open is like the result of answer.
func (p *press) open(payload string) (taken bool) {
	return p.answerBy(func(ctx context.Context) error {
		name := p.s.me().Username
		err := p.openBy(ctx, name, payload)
		if !botapi.ErrorOf(err).RefusesLink() {
			return err
		}
		p.s.askName(ctx) // Telegram refuses links to other bots, and this one may have another name now.
		if renamed := p.s.me().Username; renamed != name {
			return p.openBy(ctx, renamed, payload)
		}
		return err
	})
}

// answerBy answers the callback query by a call. Its result is like the result of answer.
func (p *press) answerBy(call func(context.Context) error) (taken bool) {
	if p == nil || p.isAnswered.Swap(true) {
		return false
	}
	return p.s.answerQuery(time.Now(), "press_unanswered", call)
}

// openBy makes one attempt to answer the callback query with a link to the bot by this username.
func (p *press) openBy(ctx context.Context, username, payload string) error {
	params := &bot.AnswerCallbackQueryParams{CallbackQueryID: p.id, URL: deepLink(username, payload)}
	_, err := botapi.Change(ctx, p.s.adapter.api, (*bot.Bot).AnswerCallbackQuery, params)
	return err
}

// toast shows a reply for a moment, and only to the user who pressed, in their language. It returns false if there is
// no press, the press is answered already, or Telegram did not confirm the answer.
func (a *answering) toast(r *chat.Reply) bool {
	return a.press.answer(bot.AnswerCallbackQueryParams{Text: a.renderForPresser(r)})
}

// alert is like toast, but the reply stays until the user closes it.
func (a *answering) alert(r *chat.Reply) bool {
	return a.press.answer(bot.AnswerCallbackQueryParams{Text: a.renderForPresser(r), ShowAlert: true})
}

// renderForPresser returns a reply as text in the language of the user who pressed.
func (a *answering) renderForPresser(r *chat.Reply) string {
	if a.press == nil {
		return ""
	}
	return renderAlert(r.In(a.s.work.Handler.Language(&a.cmd.request, chat.Private)))
}

// answerQuery makes the call that answers an inline query or a press, and reports whether Telegram took the answer. If
// not, it counts the event.
func (s *session) answerQuery(
	arrived time.Time, event string, call func(context.Context) error, contents ...*outbox.Content,
) (taken bool) {
	if s.out.Answer(s.work.Sends, arrived.Add(queryLasts), call, contents...) != nil {
		s.adapter.Count(event)
		return false
	}
	return true
}
