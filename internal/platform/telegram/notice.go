package telegram

import (
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/outbox"
)

// notice is the key of a sentence in the catalogue. A group reads nothing else about a
// private command: no function here turns a chat.Reply of a command into a notice.
type notice string

const (
	answeredPrivately notice = "telegram.answered"
	stayedAnonymous   notice = "telegram.anonymous"
	// pressStart invites a user to whom the bot may not write yet.
	pressStart notice = "telegram.press_start"
	// askThere is the text of pressStart for a command that Start cannot give again.
	askThere notice = "telegram.ask_there"
)

// notify shows a notice in the group where a private command was used. It answers a press with
// the notice. Otherwise, or if that fails, it sends an ephemeral message or posts in the group.
// After an ephemeral command, answeredPrivately is not shown. The receipt is empty unless a message in the group was
// needed and failed.
func (a *answering) notify(n notice) outbox.Receipt {
	text, payload := n, ""
	if n == pressStart {
		text, payload = a.invitation()
		if a.press.open(payload) {
			return outbox.Receipt{}
		}
	}
	url := "https://t.me/" + a.s.me().Username // after open, which may find another name
	if payload != "" {
		url = deepLink(a.s.me().Username, payload)
	}
	reply := a.inLanguageOfChat(&chat.Reply{
		Text:    chat.Say(string(text)),
		Actions: []chat.Action{{Label: chat.Say("button.private"), URL: url}},
	})
	if n != pressStart && a.toast(reply) {
		return outbox.Receipt{}
	}
	m := a.message(a.render(reply))
	if a.cmd.ephemeral.Arrived() {
		if n == answeredPrivately || a.sendEphemeral(m.Content).Result == outbox.Delivered {
			return outbox.Receipt{}
		}
	}
	return a.postNotice(n, m)
}

// invitation returns the text of pressStart, and the payload that Start sends: the command again, if a link can carry
// it.
func (a *answering) invitation() (text notice, payload string) {
	req := &a.cmd.request
	linked, listed := a.s.work.Handler.Commands().Find(req.Command)
	hasArguments := req.Args.Len() > 0 || req.Target != nil
	if !listed || linked.NoDeepLink || hasArguments {
		return askThere, "start"
	}
	return pressStart, req.Command
}

// postNotice sends a notice that everybody in the group sees. pressStart is deleted once
// an answer has reached the user, any other notice after noticeLasts. stayedAnonymous is
// sent at most once a minute.
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

// sendOnce sends a reply about lost answers to the chat, at most once a minute for each
// name. If the command's press is not answered yet, it answers the press instead.
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
