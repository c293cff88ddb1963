package telegram

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

// ephemeralLasts is how long after the command Telegram accepts an ephemeral answer.
const ephemeralLasts = 15 * time.Second

// message returns a message with the content, to the chat where the command was asked.
func (a *answering) message(content outbox.Content) outbox.Message {
	return outbox.Message{
		To:       a.cmd.to,
		Content:  content,
		Sender:   a.cmd.sender,
		Deadline: a.arrived.Add(a.s.a.CommandTimeout),
		Waits:    a.waits,
	}
}

// send blocks until what becomes of m is known, or the drain is over.
func (a *answering) send(m outbox.Message) outbox.Receipt { return a.s.out.Send(a.s.work.Sends, m) }

// sendNew sends an answer as a new message to the chat, shared with others who ask the same.
func (a *answering) sendNew(reply *chat.Reply, content outbox.Content) outbox.Receipt {
	m := a.message(content)
	if a.s.a.Settings.Pacing && !a.cmd.private {
		m.Sharing = a.sharing(reply)
	}
	receipt := a.send(m)
	if receipt.Result == outbox.Delivered {
		a.cleanUp(receipt.Sent, reply)
	}
	return receipt
}

// sharing joins an answer with others to the same command in the same chat and topic.
func (a *answering) sharing(reply *chat.Reply) outbox.Sharing {
	combined := func(requests int) outbox.Content {
		r := reply.In(reply.Language)
		note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(requests)})
		r.Notes = append(slices.Clip(r.Notes), note)
		return a.render(r)
	}
	return outbox.Sharing{
		// Tone and title keep a refusal from being sent instead of an answer.
		Key:      [...]any{a.cmd.to.Chat, a.cmd.to.Topic(), a.cmd.text, reply.Tone, reply.Title.Key},
		Subject:  a.cmd.text,
		AsOf:     reply.Source.AsOf,
		Combined: combined,
	}
}

// answerPress shows the answer to a press: only to the person who pressed, or as an edit of the message with the
// button, or else as a new message.
func (a *answering) answerPress(reply *chat.Reply, content outbox.Content) outbox.Receipt {
	if a.tellInstead(reply) {
		return outbox.Receipt{}
	}
	if reply.Unanswered() { // Others may read the message, so it is in their language.
		reply = a.inLanguageOfChat(reply)
		content = a.render(reply)
	}
	endSpinner := func() { a.press.answer(bot.AnswerCallbackQueryParams{}) }
	defer a.s.work.AfterFunc(spinnerLasts, a.cmd.request.ID, endSpinner).Stop()
	if a.cmd.button.Edit && !reply.Unanswered() && reply.Ask == nil {
		receipt, isEdited := a.edit(reply, content)
		if isEdited {
			return receipt
		}
	}
	return a.sendNew(reply, content)
}

// tellInstead tells only the person who pressed that there is no answer, or none newer than the one shown. It returns
// false for any other reply, and if they could not be told that there is no answer.
func (a *answering) tellInstead(reply *chat.Reply) bool {
	b := a.cmd.button
	switch {
	case reply.Ask != nil && a.cmd.request.Direct: // An alert has no field for the argument.
		return false
	case reply.Unanswered():
		return a.alert(reply)
	case !b.Edit || reply.Ask != nil:
		return false
	case a.s.a.shown.Judge(a.messageKey(), a.cmd.text, b.AsOf, reply.Source.AsOf) == platform.Keep:
		a.toast(reply.Unchanged())
		return true
	}
	return false
}

// edit replaces the message with the button. It returns false if Telegram refuses that: the message may be deleted,
// or a picture, which no text can replace.
func (a *answering) edit(reply *chat.Reply, content outbox.Content) (receipt outbox.Receipt, isEdited bool) {
	m := a.message(content)
	m.EditID = a.cmd.to.ReplyTo
	m.Sharing = outbox.Sharing{
		Key:     outbox.MessageRef{Chat: m.To.Chat, MessageID: m.EditID},
		Subject: a.cmd.text,
		AsOf:    reply.Source.AsOf,
	}
	receipt = a.send(m)
	if receipt.Result != outbox.Delivered {
		a.s.a.shown.Forget(a.messageKey())
	}
	if receipt.Result == outbox.Refused || receipt.Result == outbox.Unreachable {
		return receipt, false
	}
	isRefresh := !a.cmd.button.AsOf.IsZero()
	if receipt.Unchanged && isRefresh {
		a.toast(reply.Unchanged())
	}
	return receipt, true
}

// messageKey identifies the message with the pressed button.
func (a *answering) messageKey() string { return fmt.Sprint(a.cmd.to.Chat, " ", a.cmd.to.ReplyTo) }

// sendPrivately sends the answer to a private command in a group. The answer to an ephemeral command is sent there as
// an ephemeral message. Any other answer, or one that could not be sent so, goes to the user's private chat, and a
// notice in the group says so.
func (a *answering) sendPrivately(content outbox.Content) outbox.Receipt {
	if a.cmd.user == 0 {
		return a.notify(stayedAnonymous)
	}
	m := a.message(content)
	m.To = outbox.Destination{Chat: a.cmd.user}
	if a.cmd.ephemeral.Arrived() {
		here := a.sendEphemeral(content)
		if here.Result == outbox.Delivered {
			return here
		}
		m.Unknown = here.Unknown
	}
	receipt := a.send(m)
	switch receipt.Result {
	case outbox.Delivered:
		a.notify(answeredPrivately)
	case outbox.Unreachable:
		a.s.a.Count("private_unreachable")
		return a.notify(pressStart)
	}
	return receipt
}

// sendEphemeral answers an ephemeral command in the group, so that only its user can read the answer. If the server
// makes such an answer public, it is deleted, and the adapter sends no more of them.
func (a *answering) sendEphemeral(content outbox.Content) outbox.Receipt {
	m := a.message(content)
	m.Ephemeral = a.cmd.ephemeral
	m.Deadline = a.arrived.Add(ephemeralLasts)
	m.Content.Picture = nil // An ephemeral message takes only text.
	receipt := a.send(m)
	if botapi.ErrorOf(receipt.Err).Kind == botapi.Public {
		a.s.a.withoutEphemeral.Store(true)
		a.s.remove(0, receipt.Sent)
	}
	return receipt
}
