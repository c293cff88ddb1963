package telegram

import (
	"log/slog"
	"slices"
	"time"

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
	onWait func() // update.onWait
	// joinState is what is known about the sender's join request, for the answer to a JoinCommand. If approveSender sets
	// it to requestGone, nothing is sent.
	joinState joinState
}

// respond runs the command of an update, and delivers the answer. It blocks until the outcome of each message is known,
// or the drain ends. It returns false if the answer was not sent, but may be later (outbox.Retryable): the update must
// then come again.
func (s *session) respond(id string, u *update) (done bool) {
	if u.InlineQuery != nil {
		s.respondInline(id, u.InlineQuery)
		return true
	}
	a := &answering{s: s, cmd: u.command, arrived: time.Now(), onWait: u.onWait}
	if u.Press != nil {
		a.press = &press{s: s, id: u.Press.ID}
		defer a.press.endSpinner()
	}
	s.recordGroupChange(u)
	needsAnswer := s.waitForRelated(u, a.cmd)
	if !needsAnswer {
		return true
	}
	if a.cmd == nil {
		if u.Press != nil {
			a.cmd = oldButton(u.Press) // alert needs a command for its language.
			a.alert(chat.OldButton())
		}
		return true
	}
	s.seeTag(u.Message, &a.cmd.request)
	a.complete(id)
	if wallet := a.walletIn(u.Message); wallet != "" {
		return a.answerWithWallet(wallet)
	}
	return a.conclude(a.run())
}

// complete sets the fields of the request that parse does not know. If this Bot API server shows ephemeral answers to
// everybody, complete makes an ephemeral command an ordinary one.
func (a *answering) complete(id string) {
	a.cmd.request.ID = id
	if a.cmd.request.Command == chat.JoinCommand {
		a.s.adapter.nameGroup(&a.cmd.request)
	}
	if a.s.adapter.withoutEphemeral.Load() {
		a.cmd.ephemeral = botapi.EphemeralMessage{}
		a.cmd.request.CanReplyEphemerally = a.press != nil
	}
}

// run runs the command, and delivers the reply.
func (a *answering) run() outbox.Receipt {
	reply, content := a.handle()
	switch {
	case reply.Audience == chat.SenderAgain: // The sender read it a moment ago.
		a.toast(reply)
		return outbox.Receipt{}
	case a.joinState == requestGone:
		return outbox.Receipt{}
	case a.isPrivateInGroup():
		return a.sendPrivately(content)
	case a.press != nil:
		return a.answerPress(reply, content)
	}
	return a.sendNew(reply, content)
}

// handle passes the command to the Handler, approves the sender's join request if the reply admits them, and renders
// the reply.
func (a *answering) handle() (reply *chat.Reply, content outbox.Content) {
	stopTyping := a.typing(a.destination())
	defer stopTyping()
	joinIsHandled := false
	a.s.work.Answer(&a.cmd.request, func(r *chat.Reply) {
		if !joinIsHandled { // After a panic in this function, Answer calls it again, with another reply.
			joinIsHandled = true
			r = a.handleJoin(r)
		}
		reply = a.withoutPublicQuestion(r)
		content = chat.RenderOnce(Platform, reply, a.render)
	})
	return reply, content
}

// handleJoin approves the sender's join request if the reply admits them, and returns the reply that tells the outcome.
// It returns any other reply as it is. If such a reply answers a JoinCommand, the sender's request stays open, and
// handleJoin remembers that.
func (a *answering) handleJoin(r *chat.Reply) *chat.Reply {
	if r.Join.Admit != nil {
		return a.approveSender(r)
	}
	if a.cmd.request.Command == chat.JoinCommand {
		a.reopenJoin()
	}
	return r
}

// withoutPublicQuestion returns r. But if r asks a question about an ephemeral command, it returns a copy with a link
// to the private chat instead: everybody in the group could read what the sender writes.
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

// isPrivateInGroup reports whether only the sender may read the answer, but the command came in a group.
func (a *answering) isPrivateInGroup() bool { return a.cmd.private && !a.cmd.request.Direct }

// destination returns where the answer is sent first: to the user if the answer is private, or else to the chat of the
// command.
func (a *answering) destination() outbox.Destination {
	if a.isPrivateInGroup() && a.cmd.user != 0 {
		return outbox.Destination{Chat: a.cmd.user}
	}
	return a.cmd.to
}

// conclude counts the answer by its receipt, and tells the chat if the answer was Dropped or Lost. It returns false if
// the update must come again.
func (a *answering) conclude(receipt outbox.Receipt) (done bool) {
	outcome := receipt // of the answer, or of the message that is sent instead
	switch receipt.Result {
	case outbox.None:
	case outbox.Delivered:
		a.s.adapter.Count("answered")
		if a.cmd.private || a.cmd.request.Direct {
			a.deleteInvitations()
		}
	case outbox.Dropped:
		a.s.adapter.Count("send_shed")
		outcome = a.sendOnce("busy", platform.Busy())
	default:
		a.s.adapter.Count("answer_failed")
		a.s.adapter.Log.LogAttrs(a.s.work.Sends, a.s.work.Rarely(slog.LevelWarn, "failed"),
			"telegram: an answer was not delivered",
			slog.String("id", a.cmd.request.ID), slog.Any("err", receipt.Err))
		if receipt.Result == outbox.Lost {
			outcome = a.sendOnce("lost", &chat.Reply{Tone: chat.Warning, Text: chat.Say("telegram.lost")})
		}
	}
	return outcome.Result != outbox.Retryable
}
