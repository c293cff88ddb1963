package telegram

import (
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/outbox"
)

// notice is what a group reads about a private command that was used there: the key of a message in package words. The
// group reads nothing else about the command, because no function here turns a command's reply into a notice.
type notice string

const (
	// answeredPrivately says that the answer is in the private chat.
	answeredPrivately notice = "telegram.answered"
	// stayedAnonymous says that a user who speaks as a chat cannot get a private answer.
	stayedAnonymous notice = "telegram.anonymous"
	// pressStart invites a user to start the bot, which may not write to them before. Start sends the command again.
	pressStart notice = "telegram.press_start"
	// askThere replaces the text of pressStart if Start cannot send the command: the user must type it again.
	askThere notice = "telegram.ask_there"
)

// notify shows a notice to the user or, if that fails, in the group where they used a private command. The receipt is
// empty unless a message in the group was needed and failed.
func (a *answering) notify(n notice) outbox.Receipt {
	if n == pressStart {
		return a.invite()
	}
	reply := a.noticeReply(n, "https://t.me/"+a.s.me().Username)
	if a.toast(reply) {
		return outbox.Receipt{}
	}
	return a.showNotice(n, reply)
}

// invite is notify for pressStart. It answers a press by opening the private chat.
func (a *answering) invite() outbox.Receipt {
	text, payload := a.invitation()
	if a.press.open(payload) {
		return outbox.Receipt{}
	}
	url := deepLink(a.s.me().Username, payload) // after open, which may find another name
	return a.showNotice(pressStart, a.noticeReply(text, url))
}

// invitation returns the text of an invitation, and the payload that Start sends: the command, if a link can carry it.
func (a *answering) invitation() (text notice, payload string) {
	req := &a.cmd.request
	linked, listed := a.s.work.Handler.Commands().Find(req.Command)
	hasArguments := req.Args.Len() > 0 || req.Target != nil
	if listed && !linked.NoDeepLink && !hasArguments {
		return pressStart, req.Command
	}
	return askThere, "start"
}

// noticeReply returns a notice in the language of the chat, with a button that opens url.
func (a *answering) noticeReply(text notice, url string) *chat.Reply {
	return a.inLanguageOfChat(&chat.Reply{
		Text:    chat.Say(string(text)),
		Actions: []chat.Action{{Label: chat.Say("button.private"), URL: url}},
	})
}

// showNotice answers an ephemeral command with a notice that only the user reads. If that fails, or the command was not
// ephemeral, it posts the notice in the group. After an ephemeral command, it does not show answeredPrivately at all.
func (a *answering) showNotice(n notice, reply *chat.Reply) outbox.Receipt {
	m := a.message(a.render(reply))
	if a.cmd.ephemeral.Arrived() {
		if n == answeredPrivately || a.sendEphemeral(m.Content).Result == outbox.Delivered {
			return outbox.Receipt{}
		}
	}
	return a.postNotice(n, m)
}

// postNotice sends a notice that everybody in the group reads. pressStart is deleted once an answer has reached the
// user (deleteInvitations), any other notice after noticeLasts. stayedAnonymous is sent at most once a minute.
func (a *answering) postNotice(n notice, m outbox.Message) outbox.Receipt {
	if n == stayedAnonymous {
		m.Notice = string(n)
	}
	receipt := a.send(m)
	switch {
	case receipt.Result == outbox.Dropped && n == stayedAnonymous:
		return outbox.Receipt{}
	case receipt.Result != outbox.Delivered:
		return receipt
	case n == pressStart:
		a.s.mu.Lock()
		defer a.s.mu.Unlock()
		a.s.toDelete.put(a.cmd.user, append(a.s.toDelete[a.cmd.user], receipt.Sent))
	default:
		a.s.remove(noticeLasts, receipt.Sent)
	}
	return outbox.Receipt{}
}

// sendOnce tells the chat that answers were lost, at most once a minute for each name: "busy" or "lost". If the command
// came by a press that is not answered yet, it answers the press instead.
func (a *answering) sendOnce(name string, r *chat.Reply) outbox.Receipt {
	if a.alert(r) {
		return outbox.Receipt{}
	}
	r = a.inLanguageOfChat(r)
	m := a.message(a.render(r))
	m.To.ReplyTo = 0
	m.Notice = name
	m.Deadline = time.Time{} // none
	receipt := a.send(m)
	if receipt.Result == outbox.Delivered {
		a.s.adapter.Count(name + "_sent")
	}
	return receipt
}

// inLanguageOfChat returns r in the language of the chat.
func (a *answering) inLanguageOfChat(r *chat.Reply) *chat.Reply {
	return r.In(a.s.work.Handler.Language(&a.cmd.request, chat.Public))
}
