package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
)

// ephemeralLasts is how long Telegram takes an ephemeral answer.
const ephemeralLasts = 15 * time.Second

// Telegram shows a chat action for 5 seconds,
// https://core.telegram.org/bots/api#sendchataction.
const (
	typingAfter = 1500 * time.Millisecond
	typingLasts = 4500 * time.Millisecond
)

// task is a command that is being answered.
type task struct {
	s       *session
	cmd     *command
	arrived time.Time
	// free gives up the update's place; nil if the chat has none left.
	free func()
	// press is the press that asked; nil if a message did.
	press *press
}

// respond handles one update. It blocks until its messages are out, or cannot be. It
// returns false if the answer was definitely not sent; the update must then not be
// acknowledged.
//
// free gives up the update's place. It is nil if the chat has none left; respond then
// tells the chat so.
func (s *session) respond(id string, u *update, free func()) (done bool) {
	if u.Inline != nil {
		if free != nil {
			s.respondInline(id, u.Inline)
		}
		return true
	}
	t := &task{s: s, arrived: time.Now(), free: free}
	if u.Press != nil {
		t.press = &press{s: s, id: u.Press.ID}
		defer t.press.answer(bot.AnswerCallbackQueryParams{})
	}
	t.cmd = parse(u, s.me, s.tasks.Handler.Commands())
	if t.cmd == nil {
		if u.Press != nil {
			t.cmd = &command{request: chat.Request{Locale: u.Press.From.Language}}
			t.tell(chat.OldButton(), true)
		}
		return true
	}
	t.cmd.request.ID = id
	if s.a.withoutEphemeral.Load() {
		t.cmd.ephemeral = botapi.EphemeralMessage{}
		t.cmd.request.CanReplyEphemerally = t.press != nil
	}
	if free == nil {
		return t.conclude(outbox.Receipt{Result: outbox.Dropped})
	}
	return t.conclude(t.answer())
}

// conclude counts what became of the answer. It tells the chat about one that was dropped
// or lost. It returns false if the update must not be acknowledged.
func (t *task) conclude(receipt outbox.Receipt) (done bool) {
	switch receipt.Result {
	case outbox.None:
	case outbox.Delivered:
		t.s.a.Count("answered")
		if t.cmd.private || t.cmd.request.Direct {
			t.deleteInvitations()
		}
	case outbox.Dropped:
		t.s.a.Count("send_shed")
		receipt = t.sendOnce("busy", chat.Busy())
	default:
		t.s.a.Count("answer_failed")
		t.s.a.Log.LogAttrs(t.s.tasks.Sends, t.s.tasks.Rarely(slog.LevelWarn, "failed"), "telegram: an answer was not delivered",
			slog.String("id", t.cmd.request.ID), slog.Any("err", receipt.Err))
		if receipt.Result == outbox.Lost {
			receipt = t.sendOnce("lost", chat.Reply{Tone: chat.Warning, Text: chat.Say("telegram.lost")})
		}
	}
	return receipt.Result != outbox.NotSent
}

// answer has the command handled, and sends the answer to the chat where it was asked. A
// private answer goes where only its user can read it.
func (t *task) answer() outbox.Receipt {
	privately, to := t.cmd.private && t.cmd.to.Silent, t.cmd.to
	if privately && t.cmd.user != 0 {
		to = botapi.Destination{Chat: t.cmd.user}
	}
	stop := t.typing(to)
	reply, content := t.handle()
	stop()
	m := t.message(content)
	m.To = to
	switch {
	case reply.Repeated:
		t.tell(*reply, false)
		return outbox.Receipt{}
	case privately:
		return t.sendPrivately(m)
	}
	return t.sendThere(m, reply)
}

// handle has the command handled, and renders the reply.
func (t *task) handle() (reply *chat.Reply, content botapi.Content) {
	t.s.tasks.Handle(t.cmd.request, func(r chat.Reply) {
		if r.Ask != nil && t.cmd.ephemeral.Arrived() {
			// Everybody in the group could read a reply to the question.
			open := chat.Action{Label: chat.Say("button.private"), URL: deepLink(t.s.me.Username, r.Ask.Command)}
			r.Actions, r.Ask = append(slices.Clip(r.Actions), open), nil
		}
		reply, content = &r, render(&r, t.s.me.Username)
	})
	return reply, content
}

// typing shows "typing…" in a chat or topic once an answer takes long, until stop is
// called. Commands that wait there at the same time share the calls. A press shows
// nothing: its button has a spinner.
func (t *task) typing(to botapi.Destination) (stop func()) {
	if t.press != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(t.s.tasks.Commands)
	timer := t.s.tasks.AfterFunc(typingAfter, t.cmd.request.ID, func() {
		pace := chat.Limit{Key: fmt.Sprint("typing ", t.s.me.ID, " ", to.Chat, " ", to.Thread), Count: 1, Window: typingLasts}
		for ctx.Err() == nil {
			wait, ok := t.s.a.Limiter.Reserve(ctx, 0, pace)
			if ok {
				wait = typingLasts
				_ = t.s.a.api.SendChatAction(ctx, &bot.SendChatActionParams{
					ChatID: to.Chat, MessageThreadID: int(to.Thread), Action: models.ChatActionTyping,
				})
			}
			transport.Sleep(ctx, wait)
		}
	})
	return func() {
		timer.Stop()
		cancel()
	}
}

// message returns a message with the content, to the chat where the command was asked.
func (t *task) message(content botapi.Content) outbox.Message {
	return outbox.Message{
		To: t.cmd.to, Content: content, Sender: t.cmd.sender, Deadline: t.arrived.Add(t.s.a.CommandTimeout),
		Sharing: outbox.Sharing{Joined: t.free},
	}
}

// send blocks until what becomes of m is known, or the drain is over.
func (t *task) send(m outbox.Message) outbox.Receipt { return t.s.out.Send(t.s.tasks.Sends, m) }

// sendThere sends an answer to the chat where the command was asked: in place of the
// message with the button, or to the person who pressed, or as a new message.
func (t *task) sendThere(m outbox.Message, reply *chat.Reply) outbox.Receipt {
	m.Sharing.Subject, m.Sharing.AsOf = t.cmd.text, reply.AsOf
	if t.press != nil {
		if t.tellInstead(reply) {
			return outbox.Receipt{}
		}
		defer t.s.tasks.AfterFunc(spinnerLasts, t.cmd.request.ID, func() { t.press.answer(bot.AnswerCallbackQueryParams{}) }).Stop()
		if t.cmd.button.Edit && reply.Ask == nil {
			edit := m
			edit.EditID = m.To.ReplyTo
			edit.Sharing.Key = botapi.MessageRef{Chat: m.To.Chat, MessageID: edit.EditID}
			receipt := t.send(edit)
			// A refused one may be deleted, or be a picture, which no text can replace.
			if receipt.Result != outbox.Refused && receipt.Result != outbox.Unreachable {
				return receipt
			}
		}
	}
	if t.s.a.Settings.Pacing && !t.cmd.private {
		t.share(&m, reply)
	}
	receipt := t.send(m)
	if receipt.Result == outbox.Delivered {
		t.cleanUp(receipt.Sent, reply)
	}
	return receipt
}

// tellInstead shows the presser of a button what needs no message: that there is no
// answer, or none newer than the one shown. It returns false for any other reply.
func (t *task) tellInstead(reply *chat.Reply) bool {
	b := t.cmd.button
	// A shown AsOf after now is from before the clock jumped back, or of a clock that is ahead.
	older := reply.AsOf.Before(b.AsOf) && !b.AsOf.After(time.Now())
	switch {
	case reply.Ask != nil && t.cmd.request.Direct: // An alert would have no place to write the argument.
		return false
	case reply.Unanswered():
		t.tell(*reply, true)
		return true
	case b.Edit && !reply.AsOf.IsZero() && (older || reply.AsOf.Unix() == b.AsOf.Unix()):
		t.tell(reply.Unchanged(), false)
		return true
	}
	return false
}

// share lets m stand for other answers of the same command in the same chat and topic.
func (t *task) share(m *outbox.Message, reply *chat.Reply) {
	// Tone and title keep a refusal from being sent instead of an answer.
	m.Sharing.Key = [...]any{m.To.Chat, m.To.Thread, t.cmd.text, reply.Tone, reply.Title.Key}
	m.Sharing.Combined = func(requests int) botapi.Content {
		r := *reply
		note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(requests)})
		r.Notes = append(slices.Clip(r.Notes), note)
		return render(&r, t.s.me.Username)
	}
}

// sendPrivately sends an answer to a command that was asked in a group: there, if it
// arrived as ephemeral, or else to the private chat with its user. A notice says so in
// the group.
func (t *task) sendPrivately(m outbox.Message) outbox.Receipt {
	if t.cmd.user == 0 {
		return t.notify(stayedAnonymous)
	}
	if t.cmd.ephemeral.Arrived() {
		here := t.sendEphemeral(m.Content)
		if here.Result == outbox.Delivered {
			return here
		}
		m.Unknown = here.Unknown
	}
	receipt := t.send(m)
	switch receipt.Result {
	case outbox.Delivered:
		t.notify(answeredPrivately)
	case outbox.Unreachable:
		t.s.a.Count("private_unreachable")
		return t.notify(pressStart)
	}
	return receipt
}

// sendEphemeral sends content to the user of an ephemeral message in the group. After a
// server has made one public, the session sends no other.
func (t *task) sendEphemeral(content botapi.Content) outbox.Receipt {
	m := t.message(content)
	m.Ephemeral, m.Deadline = t.cmd.ephemeral, t.arrived.Add(ephemeralLasts)
	m.Content.Picture = nil // Ephemeral messages are texts.
	receipt := t.send(m)
	if botapi.ErrorOf(receipt.Err).Kind == botapi.Public {
		t.s.a.withoutEphemeral.Store(true)
	}
	return receipt
}
