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
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// ephemeralLasts is how long after the command Telegram accepts an ephemeral answer.
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
	// press is the press to answer; nil if the command came in a message.
	press *press
	waits func() // update.waits
	// request is what a JoinCommand knows of the sender's request. If it is requestGone, nothing is sent.
	request requestState
}

// respond handles one update. It blocks until the outcome of each message is known, or the
// drain ends. It returns false if the answer was definitely not sent; the update must then
// not be acknowledged.
func (s *session) respond(id string, u *update) (done bool) {
	if u.InlineQuery != nil {
		s.respondInline(id, u.InlineQuery)
		return true
	}
	t := &task{s: s, arrived: time.Now(), waits: u.waits}
	if u.Press != nil {
		t.press = &press{s: s, id: u.Press.ID}
		defer t.press.answer(bot.AnswerCallbackQueryParams{})
	}
	t.cmd = u.command
	if s.needless(u, t.cmd) {
		return true
	}
	if t.cmd == nil {
		if u.Press != nil {
			t.cmd = &command{request: chat.Request{Locale: u.Press.From.LanguageCode}}
			t.tell(chat.OldButton(), true)
		}
		return true
	}
	s.seeTag(u.Message, &t.cmd.request)
	t.cmd.request.ID = id
	if t.cmd.request.Command == chat.JoinCommand {
		s.a.nameGroup(&t.cmd.request)
	}
	if s.a.withoutEphemeral.Load() {
		t.cmd.ephemeral = botapi.EphemeralMessage{}
		t.cmd.request.CanReplyEphemerally = t.press != nil
	}
	if address := t.addressIn(u.Message); address != "" {
		return t.answerAddress(address)
	}
	return t.conclude(t.answer())
}

// conclude counts the answer by its receipt, and tells the chat if the answer was Dropped
// or Lost. It returns false if the update must not be acknowledged.
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
		receipt = t.sendOnce("busy", platform.Busy())
	default:
		t.s.a.Count("answer_failed")
		t.s.a.Log.LogAttrs(t.s.work.Sends, t.s.work.Rarely(slog.LevelWarn, "failed"),
			"telegram: an answer was not delivered",
			slog.String("id", t.cmd.request.ID), slog.Any("err", receipt.Err))
		if receipt.Result == outbox.Lost {
			receipt = t.sendOnce("lost", &chat.Reply{Tone: chat.Warning, Text: chat.Say("telegram.lost")})
		}
	}
	return receipt.Result != outbox.NotSent
}

// answer has the command handled, and sends the answer to the chat of the command. The
// answer to a private command in a group goes where only its user can read it.
func (t *task) answer() outbox.Receipt {
	privately, to := t.cmd.private && !t.cmd.request.Direct, t.cmd.to
	if privately && t.cmd.user != 0 {
		to = outbox.Destination{Chat: t.cmd.user}
	}
	stop := t.typing(to)
	reply, content := t.handle()
	stop()
	m := t.message(content)
	m.To = to
	switch {
	case reply.Audience == chat.SenderAgain:
		t.tell(reply, false)
		return outbox.Receipt{}
	case t.request == requestGone:
		return outbox.Receipt{}
	case privately:
		return t.sendPrivately(m)
	}
	return t.sendToChat(m, reply)
}

// handle has the command handled, and renders the reply.
func (t *task) handle() (reply *chat.Reply, content outbox.Content) {
	t.s.work.Answer(&t.cmd.request, func(r *chat.Reply) {
		if r.Join.Admit != nil {
			r = t.approveOwn(r)
		} else {
			t.noteOpen()
		}
		if r.Ask != nil && t.cmd.ephemeral.Arrived() {
			// Everybody in the group could read a reply to the question.
			open := chat.Action{
				Label: chat.Say("button.private"),
				URL:   deepLink(t.s.me().Username, linkPayload(r.Ask.Command, r.Ask.Args...)),
			}
			r = r.In(r.Language)
			r.Actions, r.Ask, r.Rendered = append(slices.Clip(r.Actions), open), nil, nil
		}
		reply = r
		content = chat.RenderOnce(Platform, reply, func(r *chat.Reply) outbox.Content { return render(r, t.s.me().Username) })
	})
	return reply, content
}

// typing shows "typing…" in a chat or topic once an answer takes long, until stop is
// called. Commands that wait there at the same time share the calls. A press shows
// nothing: its button has a spinner. In a channel's direct messages Telegram shows nothing.
func (t *task) typing(to outbox.Destination) (stop func()) {
	if t.press != nil || to.DirectTopic != 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(t.s.work.Commands)
	timer := t.s.work.AfterFunc(typingAfter, t.cmd.request.ID, func() {
		pace := ratelimit.Limit{
			Key:   fmt.Sprint("typing ", t.s.me().ID, " ", to.Chat, " ", to.Thread),
			Burst: 1,
			Every: typingLasts,
		}
		for ctx.Err() == nil {
			wait, ok := t.s.a.Limiter.Reserve(ctx, 0, pace)
			if ok {
				wait = typingLasts
				_, _ = botapi.Change(ctx, t.s.a.api, (*bot.Bot).SendChatAction, &bot.SendChatActionParams{
					ChatID: to.Chat, MessageThreadID: to.Thread, Action: models.ChatActionTyping,
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
func (t *task) message(content outbox.Content) outbox.Message {
	return outbox.Message{
		To: t.cmd.to, Content: content, Sender: t.cmd.sender, Deadline: t.arrived.Add(t.s.a.CommandTimeout),
		Waits: t.waits,
	}
}

// send blocks until what becomes of m is known, or the drain is over.
func (t *task) send(m outbox.Message) outbox.Receipt { return t.s.out.Send(t.s.work.Sends, m) }

// sendToChat shows an answer in the chat of the command: only to the person who pressed, or
// as an edit of the message with the button, or else as a new message. An Unanswered reply
// edits nothing.
func (t *task) sendToChat(m outbox.Message, reply *chat.Reply) outbox.Receipt {
	m.Sharing.Subject, m.Sharing.AsOf = t.cmd.text, reply.Source.AsOf
	if t.press != nil {
		return t.answerPress(m, reply)
	}
	return t.sendNew(m, reply)
}

// answerPress is sendToChat after a press.
func (t *task) answerPress(m outbox.Message, reply *chat.Reply) outbox.Receipt {
	if t.tellInstead(reply) {
		return outbox.Receipt{}
	}
	if reply.Unanswered() { // Others may read the message, so it is in their language.
		reply = t.groupReply(reply)
		m.Content = render(reply, t.s.me().Username)
	}
	endSpinner := func() { t.press.answer(bot.AnswerCallbackQueryParams{}) }
	defer t.s.work.AfterFunc(spinnerLasts, t.cmd.request.ID, endSpinner).Stop()
	if t.cmd.button.Edit && !reply.Unanswered() && reply.Ask == nil {
		if receipt, edited := t.edit(m, reply); edited {
			return receipt
		}
	}
	return t.sendNew(m, reply)
}

// edit replaces the message with the button. It returns false if Telegram refuses that: the
// message may be deleted, or a picture, which no text can replace.
func (t *task) edit(m outbox.Message, reply *chat.Reply) (receipt outbox.Receipt, edited bool) {
	m.EditID = m.To.ReplyTo
	m.Sharing.Key = outbox.MessageRef{Chat: m.To.Chat, MessageID: m.EditID}
	receipt = t.send(m)
	edited = receipt.Result != outbox.Refused && receipt.Result != outbox.Unreachable
	if edited && receipt.Unchanged && !t.cmd.button.AsOf.IsZero() {
		t.tell(reply.Unchanged(), false)
	}
	if receipt.Result != outbox.Delivered {
		t.s.a.shown.Forget(t.messageKey())
	}
	return receipt, edited
}

// sendNew sends an answer as a new message, shared with others who ask the same.
func (t *task) sendNew(m outbox.Message, reply *chat.Reply) outbox.Receipt {
	if t.s.a.Settings.Pacing && !t.cmd.private {
		t.share(&m, reply)
	}
	receipt := t.send(m)
	if receipt.Result == outbox.Delivered {
		t.cleanUp(receipt.Sent, reply)
	}
	return receipt
}

// tellInstead tells only the person who pressed that there is no answer, or none newer than
// the one shown. It returns false for any other reply, and if they could not be told that there
// is no answer.
func (t *task) tellInstead(reply *chat.Reply) bool {
	b := t.cmd.button
	switch {
	case reply.Ask != nil && t.cmd.request.Direct: // An alert has no field for the argument.
		return false
	case reply.Unanswered():
		return t.tell(reply, true)
	case !b.Edit || reply.Ask != nil:
		return false
	}
	if t.s.a.shown.Judge(t.messageKey(), t.cmd.text, b.AsOf, reply.Source.AsOf) == platform.Keep {
		t.tell(reply.Unchanged(), false)
		return true
	}
	return false
}

// messageKey identifies the message with the pressed button.
func (t *task) messageKey() string { return fmt.Sprint(t.cmd.to.Chat, " ", t.cmd.to.ReplyTo) }

// share joins m with other answers to the same command in the same chat and topic.
func (t *task) share(m *outbox.Message, reply *chat.Reply) {
	// Tone and title keep a refusal from being sent instead of an answer.
	m.Sharing.Key = [...]any{m.To.Chat, m.To.Topic(), t.cmd.text, reply.Tone, reply.Title.Key}
	m.Sharing.Combined = func(requests int) outbox.Content {
		r := *reply
		note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(requests)})
		r.Notes = append(slices.Clip(r.Notes), note)
		return render(&r, t.s.me().Username)
	}
}

// sendPrivately sends the answer to a private command in a group. The answer to an
// ephemeral command is sent there as an ephemeral message. Any other answer, or one that
// could not be sent so, goes to the user's private chat, and a notice in the group says so.
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

// sendEphemeral answers an ephemeral command in the group, for its user's eyes alone. If
// the server makes such an answer public, it is deleted, and the adapter sends no more of them.
func (t *task) sendEphemeral(content outbox.Content) outbox.Receipt {
	m := t.message(content)
	m.Ephemeral, m.Deadline = t.cmd.ephemeral, t.arrived.Add(ephemeralLasts)
	m.Content.Picture = nil // An ephemeral message takes only text.
	receipt := t.send(m)
	if botapi.ErrorOf(receipt.Err).Kind == botapi.Public {
		t.s.a.withoutEphemeral.Store(true)
		t.s.remove(0, receipt.Sent)
	}
	return receipt
}
