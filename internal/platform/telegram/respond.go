package telegram

import (
	"log/slog"
	"slices"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

// answering is a command that is being answered.
type answering struct {
	s       *session
	cmd     *command
	arrived time.Time
	// press is the press to answer; nil if the command came in a message.
	press  *press
	onWait func() // update.waits
	// request is what a JoinCommand knows of the sender's request to join. If it is requestGone, nothing is sent.
	request requestState
}

// respond handles one update: it has the command handled, and delivers the answer. It blocks until the outcome of
// each message is known, or the drain ends. It returns false if the answer was not sent, or was cut off by a stop.
// The update must then come again.
func (s *session) respond(id string, u *update) (done bool) {
	if u.InlineQuery != nil {
		s.respondInline(id, u.InlineQuery)
		return true
	}
	a := &answering{s: s, cmd: u.command, arrived: time.Now(), onWait: u.onWait}
	if u.Press != nil {
		a.press = &press{s: s, id: u.Press.ID}
		defer a.press.answer(bot.AnswerCallbackQueryParams{}) // if nothing else has
	}
	if u.MyChatMember != nil {
		s.syncMenusAfterAdding(u.chat())
	}
	switch {
	case s.needsNoAnswer(u, a.cmd):
		return true
	case a.cmd == nil && u.Press != nil:
		a.cmd = oldButton(u.Press)
		a.alert(chat.OldButton())
		return true
	case a.cmd == nil:
		return true
	}
	s.seeTag(u.Message, &a.cmd.request)
	a.complete(id)
	if address := a.addressIn(u.Message); address != "" {
		return a.answerAddress(address)
	}
	return a.conclude(a.answer())
}

// complete sets what parse does not know of the request.
func (a *answering) complete(id string) {
	a.cmd.request.ID = id
	if a.cmd.request.Command == chat.JoinCommand {
		a.s.a.nameGroup(&a.cmd.request)
	}
	if a.s.a.withoutEphemeral.Load() {
		a.cmd.ephemeral = botapi.EphemeralMessage{}
		a.cmd.request.CanReplyEphemerally = a.press != nil
	}
}

// answer has the command handled, and delivers the reply.
func (a *answering) answer() outbox.Receipt {
	reply, content := a.handle()
	switch {
	case reply.Audience == chat.SenderAgain: // They read it a moment ago.
		a.toast(reply)
		return outbox.Receipt{}
	case a.request == requestGone:
		return outbox.Receipt{}
	case a.isPrivate():
		return a.sendPrivately(content)
	case a.press != nil:
		return a.answerPress(reply, content)
	}
	return a.sendNew(reply, content)
}

// handle has the command handled, approves the sender's request to join if the reply admits them, and renders the
// reply.
func (a *answering) handle() (reply *chat.Reply, content outbox.Content) {
	defer a.typing(a.destination())()
	joinIsSettled := false
	a.s.work.Answer(&a.cmd.request, func(r *chat.Reply) {
		if !joinIsSettled { // It is called again after a panic, with another reply.
			joinIsSettled = true
			r = a.settleJoin(r)
		}
		reply = a.withoutPublicQuestion(r)
		content = chat.RenderOnce(Platform, reply, a.render)
	})
	return reply, content
}

// settleJoin approves the sender's request to join a group if the reply admits them, and returns the reply to the
// outcome. It returns any other reply as it is, and remembers that the sender's request is open if the command was
// about it.
func (a *answering) settleJoin(r *chat.Reply) *chat.Reply {
	switch {
	case r.Join.Admit != nil:
		return a.approveOwn(r)
	case a.cmd.request.Command == chat.JoinCommand:
		a.noteOpen()
	}
	return r
}

// withoutPublicQuestion returns r, or, if r asks a question about a command that only its sender saw, a copy with a
// link to the private chat: everybody in the group could read what answers the question there.
func (a *answering) withoutPublicQuestion(r *chat.Reply) *chat.Reply {
	if r.Ask == nil || !a.cmd.ephemeral.Arrived() {
		return r
	}
	open := chat.Action{
		Label: chat.Say("button.private"),
		URL:   deepLink(a.s.me().Username, linkPayload(r.Ask.Command, r.Ask.Args...)),
	}
	changed := r.In(r.Language)
	changed.Actions = append(slices.Clip(r.Actions), open)
	changed.Ask = nil
	changed.Rendered = nil
	return changed
}

// render returns a reply as a message.
func (a *answering) render(r *chat.Reply) outbox.Content { return render(r, a.s.me().Username) }

// isPrivate reports whether the answer is private and was asked for in a group.
func (a *answering) isPrivate() bool { return a.cmd.private && !a.cmd.request.Direct }

// destination returns where the answer goes first: to the chat of the command or, if it is private, to the user.
func (a *answering) destination() outbox.Destination {
	if a.isPrivate() && a.cmd.user != 0 {
		return outbox.Destination{Chat: a.cmd.user}
	}
	return a.cmd.to
}

// conclude counts the answer by its receipt, and tells the chat if the answer was Dropped or Lost. It returns false if
// the update must not be acknowledged.
func (a *answering) conclude(receipt outbox.Receipt) (done bool) {
	told := receipt // of the answer, or of what is sent instead
	switch receipt.Result {
	case outbox.None:
	case outbox.Delivered:
		a.s.a.Count("answered")
		if a.cmd.private || a.cmd.request.Direct {
			a.deleteInvitations()
		}
	case outbox.Dropped:
		a.s.a.Count("send_shed")
		told = a.sendOnce("busy", platform.Busy())
	default:
		a.s.a.Count("answer_failed")
		a.s.a.Log.LogAttrs(a.s.work.Sends, a.s.work.Rarely(slog.LevelWarn, "failed"),
			"telegram: an answer was not delivered",
			slog.String("id", a.cmd.request.ID), slog.Any("err", receipt.Err))
		if receipt.Result == outbox.Lost {
			told = a.sendOnce("lost", &chat.Reply{Tone: chat.Warning, Text: chat.Say("telegram.lost")})
		}
	}
	return told.Result != outbox.NotSent
}
