package telegram

import (
	"context"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

const (
	// queryLasts is how long an answer to a press or an inline query is worth
	// sending. Telegram publishes no limit; this is below where answers are refused.
	queryLasts = 10 * time.Second
	// spinnerLasts is how long a pressed button shows a spinner while an answer waits
	// for its slot or is sent.
	spinnerLasts = 2 * time.Second
)

// press is a pressed button, which shows a spinner until the press is answered.
type press struct {
	s    *session
	id   string // of the callback query
	once sync.Once
}

// answer answers the callback query, and reports whether Telegram took the answer. Later
// calls, and calls of a nil press, return false and do nothing.
func (p *press) answer(a bot.AnswerCallbackQueryParams) (taken bool) {
	if p == nil {
		return false
	}
	p.once.Do(func() {
		a.CallbackQueryID = p.id
		taken = p.s.answerQuery(time.Now(), "press_unanswered", func(ctx context.Context) error {
			_, err := botapi.Change(ctx, p.s.a.api, (*bot.Bot).AnswerCallbackQuery, &a)
			return err
		})
	})
	return taken
}

// open answers the callback query with a link that opens the private chat with the bot, which is then
// started with the payload. It reports whether Telegram took the answer, as answer does.
func (p *press) open(payload string) (taken bool) {
	if p == nil {
		return false
	}
	p.once.Do(func() {
		taken = p.s.answerQuery(time.Now(), "press_unanswered", func(ctx context.Context) error {
			name := p.s.me().Username
			err := p.openBy(ctx, name, payload)
			if !botapi.ErrorOf(err).RefusesLink() {
				return err
			}
			p.s.askName(ctx) // Telegram refuses a link to another bot: this one may be renamed.
			if renamed := p.s.me().Username; renamed != name {
				return p.openBy(ctx, renamed, payload)
			}
			return err
		})
	})
	return taken
}

// openBy answers the callback query once, with a link to the bot by its username.
func (p *press) openBy(ctx context.Context, username, payload string) error {
	params := &bot.AnswerCallbackQueryParams{CallbackQueryID: p.id, URL: deepLink(username, payload)}
	_, err := botapi.Change(ctx, p.s.a.api, (*bot.Bot).AnswerCallbackQuery, params)
	return err
}

// tell shows a reply only to the person who pressed, in their language: for a moment, or
// as an alert until they close it. It returns false if there is no press, the press is
// answered already, or Telegram did not confirm the answer.
func (t *task) tell(r *chat.Reply, alert bool) bool {
	r = r.In(t.s.work.Handler.Language(&t.cmd.request, chat.Private))
	return t.press.answer(bot.AnswerCallbackQueryParams{Text: renderAlert(r), ShowAlert: alert})
}

// answerQuery makes the call that answers an inline query or a press, and reports whether
// Telegram took the answer. It counts the event if not.
func (s *session) answerQuery(
	arrived time.Time, event string, call func(context.Context) error, contents ...*outbox.Content,
) (taken bool) {
	if s.out.Answer(s.work.Sends, arrived.Add(queryLasts), call, contents...) != nil {
		s.a.Count(event)
		return false
	}
	return true
}

// notice is the key of a sentence in the catalogue. A group reads nothing else about a
// private command: no function here turns a chat.Reply of a command into a notice.
type notice string

const (
	answeredPrivately notice = "telegram.answered"
	stayedAnonymous   notice = "telegram.anonymous"
	// pressStart invites a user to whom the bot may not write yet.
	pressStart notice = "telegram.press_start"
	// askThere is shown instead where Start does not give the command again.
	askThere notice = "telegram.ask_there"
)

// notify shows a notice in the group where a private command was used. It answers a press with
// the notice. Otherwise, or if that fails, it sends an ephemeral message or posts in the group.
// After an ephemeral command, answeredPrivately is not shown. The receipt is empty if the user
// knows.
func (t *task) notify(n notice) outbox.Receipt {
	text, payload := n, ""
	if n == pressStart {
		payload = t.cmd.request.Command
		linked, listed := t.s.work.Handler.Commands().Find(payload)
		if !listed || linked.NoDeepLink || t.cmd.request.Args.Len() > 0 || t.cmd.request.Target != nil {
			payload, text = "start", askThere
		}
		if t.press.open(payload) {
			return outbox.Receipt{}
		}
	}
	url := "https://t.me/" + t.s.me().Username // after open, which may find another name
	if payload != "" {
		url = deepLink(t.s.me().Username, payload)
	}
	reply := t.groupReply(&chat.Reply{
		Text:    chat.Say(string(text)),
		Actions: []chat.Action{{Label: chat.Say("button.private"), URL: url}},
	})
	if n != pressStart && t.tell(reply, false) {
		return outbox.Receipt{}
	}
	m := t.message(render(reply, t.s.me().Username))
	if t.cmd.ephemeral.Arrived() && (n == answeredPrivately || t.sendEphemeral(m.Content).Result == outbox.Delivered) {
		return outbox.Receipt{}
	}
	return t.postNotice(n, m)
}

// postNotice sends a notice that everybody in the group sees. pressStart is deleted once
// an answer has reached the user, any other notice after noticeLasts. stayedAnonymous is
// sent at most once a minute.
func (t *task) postNotice(n notice, m outbox.Message) outbox.Receipt {
	if n == stayedAnonymous {
		m.Notice = string(n)
	}
	receipt := t.send(m)
	switch {
	case receipt.Result == outbox.Dropped && n == stayedAnonymous:
		return outbox.Receipt{}
	case receipt.Result != outbox.Delivered:
		return receipt
	case n == pressStart:
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		t.s.toDelete.put(t.cmd.user, append(t.s.toDelete[t.cmd.user], receipt.Sent))
	default:
		t.s.remove(noticeLasts, receipt.Sent)
	}
	return outbox.Receipt{}
}

// sendOnce sends a reply about lost answers to the chat, at most once a minute for each
// name. If a press still waits, it answers that press instead.
func (t *task) sendOnce(name string, r *chat.Reply) outbox.Receipt {
	if t.tell(r, true) {
		return outbox.Receipt{}
	}
	r = t.groupReply(r)
	m := t.message(render(r, t.s.me().Username))
	m.To.ReplyTo, m.Notice, m.Deadline = 0, name, time.Time{}
	receipt := t.send(m)
	if receipt.Result == outbox.Delivered {
		t.s.a.Count(name + "_sent")
	}
	return receipt
}

// groupReply returns r in the language of the chat.
func (t *task) groupReply(r *chat.Reply) *chat.Reply {
	return r.In(t.s.work.Handler.Language(&t.cmd.request, chat.Public))
}
