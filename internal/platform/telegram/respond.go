package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
)

const (
	// queryLasts is how long an answer to a press or an inline query is worth
	// sending. Telegram publishes no limit; this is below where answers are refused.
	queryLasts = 10 * time.Second
	// spinnerLasts is how long a pressed button shows a spinner while an answer waits
	// for its slot or is sent.
	spinnerLasts = 2 * time.Second
	// ephemeralLasts is how long Telegram takes an ephemeral answer.
	ephemeralLasts = 15 * time.Second
	// hintLasts is how long Telegram keeps any answer to an inline query at most,
	// and failureLasts the answer to one that failed.
	hintLasts    = time.Hour
	failureLasts = 5 * time.Second
)

// Telegram shows a chat action for 5 seconds,
// https://core.telegram.org/bots/api#sendchataction.
const (
	typingAfter = 1500 * time.Millisecond
	typingLasts = 4500 * time.Millisecond
)

// notice is the key of a sentence in the catalogue. It is all that a group is ever
// told about a private command: nothing here turns a chat.Reply into a notice.
type notice string

const (
	answeredPrivately notice = "telegram.answered"
	stayedAnonymous   notice = "telegram.anonymous"
	// pressStart invites a user to whom the bot may not write yet.
	pressStart notice = "telegram.press_start"
	// askThere is said instead where Start does not give the command again.
	askThere notice = "telegram.ask_there"
)

// task is a command that is being answered.
type task struct {
	*session
	command
	arrived time.Time
	// free gives up the update's place; nil if the chat has none left.
	free func()
	// answerPress answers the callback query once; later calls return false.
	answerPress func(bot.AnswerCallbackQueryParams) (first bool)
}

// respond handles one update: from what it asks to messages that are out. It returns
// false if the answer was definitely not sent; the update must then not be acknowledged.
//
// free gives up the update's place. It is nil if the chat has none left; respond then
// tells the chat so.
func (s *session) respond(id string, u update, free func()) (done bool) {
	if u.Inline != nil {
		if free != nil {
			s.respondInline(id, u.Inline)
		}
		return true
	}
	t := task{session: s, arrived: time.Now(), free: free, answerPress: func(bot.AnswerCallbackQueryParams) bool { return false }}
	if u.Press != nil {
		var once sync.Once
		t.answerPress = func(a bot.AnswerCallbackQueryParams) (first bool) {
			once.Do(func() {
				a.CallbackQueryID, first = u.Press.ID, true
				s.answerQuery(time.Now(), "press_unanswered", func(ctx context.Context) error {
					return s.api.AnswerCallbackQuery(ctx, &a)
				})
			})
			return first
		}
		defer t.answerPress(bot.AnswerCallbackQueryParams{})
	}
	var ours bool
	if t.command, ours = parse(u, s.me, s.tasks.Handler.Commands()); !ours {
		if u.Press != nil {
			t.request.Locale = u.Press.From.Language
			t.tell(chat.OldButton(), true)
		}
		return true
	}
	t.request.ID = id
	if s.withoutEphemeral.Load() {
		t.ephemeral = botapi.EphemeralMessage{}
		t.request.CanReplyEphemerally = t.press != nil
	}
	receipt := outbox.Receipt{Result: outbox.Dropped}
	if free != nil {
		receipt = t.answer()
	}
	switch receipt.Result {
	case outbox.None:
	case outbox.Delivered:
		s.Count("answered")
		if t.private || t.request.Direct {
			t.deleteInvitations()
		}
	case outbox.Dropped:
		s.Count("send_shed")
		receipt = t.sendOnce("busy", chat.Busy())
	default:
		s.Count("answer_failed")
		s.Log.LogAttrs(s.tasks.Sends, s.tasks.Rarely(slog.LevelWarn, "failed"), "telegram: an answer was not delivered",
			slog.String("id", id), slog.Any("err", receipt.Err))
		if receipt.Result == outbox.Lost {
			receipt = t.sendOnce("lost", chat.Reply{Tone: chat.Warning, Text: chat.Say("telegram.lost")})
		}
	}
	return receipt.Result != outbox.NotSent
}

// answer has the command handled, and sends the answer to the chat where it was
// asked or, if it is private, where its user alone can read it.
func (t task) answer() outbox.Receipt {
	privately, to := t.private && t.to.Silent, t.to
	if privately && t.user != 0 {
		to = botapi.Destination{Chat: t.user}
	}
	var reply chat.Reply
	var content botapi.Content
	stop := t.typing(to)
	t.tasks.Handle(t.request, func(r chat.Reply) {
		if r.Ask != nil && t.ephemeral.Arrived() {
			// What is written in a group in reply to a question may be read by all.
			open := chat.Action{Label: chat.Say("button.private"), URL: deepLink(t.me.Username, r.Ask.Command)}
			r.Actions, r.Ask = append(slices.Clip(r.Actions), open), nil
		}
		reply, content = r, render(r, t.me.Username)
	})
	stop()
	m := t.message(content)
	m.To = to
	switch {
	case reply.Repeated:
		t.tell(reply, false)
		return outbox.Receipt{}
	case privately:
		return t.sendPrivately(m)
	}
	return t.sendThere(m, reply)
}

// typing shows "typing…" in a chat or topic once an answer takes long, until stop is
// called. Commands that wait there at the same time share the calls. A pressed button
// shows by itself that it takes long.
func (t task) typing(to botapi.Destination) (stop func()) {
	if t.press != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(t.tasks.Commands)
	pace := chat.Limit{Key: fmt.Sprint("typing ", t.me.ID, " ", to.Chat, " ", to.Thread), Count: 1, Window: typingLasts}
	timer := t.tasks.AfterFunc(typingAfter, t.request.ID, func() {
		for ctx.Err() == nil {
			wait, ok := t.Limiter.Reserve(ctx, 0, pace)
			if ok {
				wait = typingLasts
				_ = t.api.SendChatAction(ctx, &bot.SendChatActionParams{
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

// message is content as the answer in the chat where the command was asked.
func (t task) message(content botapi.Content) outbox.Message {
	return outbox.Message{To: t.to, Content: content, Sender: t.sender, Joined: t.free, Deadline: t.arrived.Add(t.CommandTimeout)}
}

// sendThere sends an answer to the chat where the command was asked, in place of the
// message with the button, or only to the person who pressed.
func (t task) sendThere(m outbox.Message, reply chat.Reply) outbox.Receipt {
	p := t.press
	switch {
	case p == nil, reply.Ask != nil && t.request.Direct:
		// An alert would have no place to write the argument.
	case reply.Unanswered():
		t.tell(reply, true)
		return outbox.Receipt{}
	case p.Edit && !reply.AsOf.IsZero() && (reply.AsOf.Unix() == p.AsOf.Unix() || reply.AsOf.Before(p.AsOf) && !p.AsOf.After(time.Now())):
		// After now is an AsOf from before the clock jumped back, or of a clock that is ahead.
		t.tell(reply.Unchanged(), false)
		return outbox.Receipt{}
	}
	m.Subject, m.AsOf = t.text, reply.AsOf
	if p != nil {
		defer t.tasks.AfterFunc(spinnerLasts, t.request.ID, func() { t.answerPress(bot.AnswerCallbackQueryParams{}) }).Stop()
	}
	if p != nil && p.Edit && reply.Ask == nil {
		edit := m
		edit.Edits = m.To.ReplyTo
		edit.Key = botapi.MessageRef{Chat: m.To.Chat, MessageID: edit.Edits}
		switch receipt := t.out.Send(t.tasks.Sends, edit); receipt.Result {
		case outbox.Refused, outbox.Unreachable:
			// It may be deleted, or be a picture, which no text can replace.
		default:
			return receipt
		}
	}
	if t.Pacing && !t.private {
		// With tone and title in it, a refusal never stands for an answer.
		m.Key = [...]any{m.To.Chat, m.To.Thread, t.text, reply.Tone, reply.Title.Key}
		m.Shared = func(requests int) botapi.Content {
			note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(requests)})
			reply.Notes = append(slices.Clip(reply.Notes), note)
			return render(reply, t.me.Username)
		}
	}
	receipt := t.out.Send(t.tasks.Sends, m)
	if receipt.Result == outbox.Delivered {
		t.tidy(receipt.Sent, reply)
	}
	return receipt
}

// sendPrivately sends an answer to a command that was asked in a group: there, if it
// arrived as ephemeral, or else to the private chat with its user. A notice says so in
// the group.
func (t task) sendPrivately(m outbox.Message) outbox.Receipt {
	if t.user == 0 {
		return t.notify(stayedAnonymous)
	}
	if t.ephemeral.Arrived() {
		here := t.sendEphemeral(m.Content)
		if here.Result == outbox.Delivered {
			return here
		}
		m.Unknown = here.Unknown
	}
	receipt := t.out.Send(t.tasks.Sends, m)
	switch receipt.Result {
	case outbox.Delivered:
		t.notify(answeredPrivately)
	case outbox.Unreachable:
		t.Count("private_unreachable")
		return t.notify(pressStart)
	}
	return receipt
}

// sendEphemeral sends content to the user of an ephemeral message in the group.
func (t task) sendEphemeral(content botapi.Content) outbox.Receipt {
	m := t.message(content)
	m.Ephemeral, m.Deadline = t.ephemeral, t.arrived.Add(ephemeralLasts)
	m.Picture = nil // Ephemeral messages are texts.
	receipt := t.out.Send(t.tasks.Sends, m)
	if botapi.ErrorOf(receipt.Err).Kind == botapi.Public {
		t.withoutEphemeral.Store(true)
	}
	return receipt
}

// sendOnce sends a notice about lost answers to the chat, at most once a minute. If a
// press still waits, it answers that press instead.
func (t task) sendOnce(name string, r chat.Reply) outbox.Receipt {
	if t.tell(r, true) {
		return outbox.Receipt{}
	}
	r.Language = t.tasks.Handler.Language(t.request, false)
	m := t.message(render(r, t.me.Username))
	m.To.ReplyTo, m.Notice, m.Deadline = 0, name, time.Time{}
	receipt := t.out.Send(t.tasks.Sends, m)
	if receipt.Result == outbox.Delivered {
		t.Count(name + "_sent")
	}
	return receipt
}

// notify posts a notice in the group where a private command was used, ephemerally if
// possible. Nobody is told that an ephemeral command was answered. pressStart is deleted
// once an answer has reached the user, any other notice after noticeLasts. The receipt is
// empty if the notice was sent.
func (t task) notify(n notice) outbox.Receipt {
	url := "https://t.me/" + t.me.Username
	said := n
	if n == pressStart {
		payload := t.request.Command
		if t.request.Args.Len() > 0 || t.request.Target != nil {
			payload, said = "start", askThere
		}
		url = deepLink(t.me.Username, payload)
	}
	told := chat.Reply{
		Language: t.tasks.Handler.Language(t.request, false),
		Text:     chat.Say(string(said)),
		Actions:  []chat.Action{{Label: chat.Say("button.private"), URL: url}},
	}
	switch {
	case t.press != nil && n == pressStart:
		t.answerPress(bot.AnswerCallbackQueryParams{URL: url})
		return outbox.Receipt{}
	case t.press != nil:
		t.tell(told, false)
		return outbox.Receipt{}
	}
	m := t.message(render(told, t.me.Username))
	if t.ephemeral.Arrived() && (n == answeredPrivately || t.sendEphemeral(m.Content).Result == outbox.Delivered) {
		return outbox.Receipt{}
	}
	if n == stayedAnonymous {
		m.Notice = string(n)
	}
	receipt := t.out.Send(t.tasks.Sends, m)
	switch {
	case receipt.Result == outbox.Dropped && n == stayedAnonymous:
		return outbox.Receipt{}
	case receipt.Result != outbox.Delivered:
		return receipt
	case n == pressStart:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.posted.put(t.user, append(t.posted[t.user], receipt.Sent))
	default:
		t.remove(noticeLasts, receipt.Sent)
	}
	return outbox.Receipt{}
}

// tell shows a reply only to the person who pressed, in their language: for a moment, or
// as an alert until they close it. It returns false if the press was already answered.
func (t task) tell(r chat.Reply, alert bool) bool {
	r.Language = t.tasks.Handler.Language(t.request, true)
	return t.answerPress(bot.AnswerCallbackQueryParams{Text: renderAlert(r), ShowAlert: alert})
}

// answerQuery makes the call that answers an inline query or a press, and counts
// the event unanswered if that fails.
func (s *session) answerQuery(arrived time.Time, unanswered string, call func(context.Context) error, contents ...*botapi.Content) {
	if s.out.Answer(s.tasks.Sends, arrived.Add(queryLasts), call, contents...) != nil {
		s.Count(unanswered)
	}
}
