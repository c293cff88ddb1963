package telegram

import (
	"fmt"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

// An answer reaches its reader as a new message, as an edit, as an alert, as an ephemeral message, or in the private
// chat. answering (respond.go) is a command that is being answered.

// ephemeralLasts is how long after the command Telegram accepts an ephemeral answer (botapi.SendEphemeral).
const ephemeralLasts = 15 * time.Second

// message returns a message with the content, to the chat where the command was asked.
func (a *answering) message(content outbox.Content) outbox.Message {
	return outbox.Message{
		To:       a.cmd.to,
		Content:  content,
		Sender:   a.cmd.sender,
		Deadline: a.arrived.Add(a.s.adapter.CommandTimeout),
		OnWait:   a.onWait,
	}
}

// send sends m. It blocks until the outcome is known, or until the drain ends. The drain is the last seconds of a stop,
// in which messages may still be sent.
func (a *answering) send(m outbox.Message) outbox.Receipt { return a.s.out.Send(a.s.work.Sends, m) }

// sendNew sends an answer as a new message to the chat of the command. Under Pacing, senders who ask the same at the
// same time share one message.
func (a *answering) sendNew(reply *chat.Reply, content outbox.Content) outbox.Receipt {
	m := a.message(content)
	if a.s.adapter.Settings.Pacing && !a.cmd.private {
		m.Sharing = a.sharing(reply)
	}
	receipt := a.send(m)
	if receipt.Result == outbox.Delivered {
		a.cleanUp(receipt.Sent, reply)
	}
	return receipt
}

// sharing returns how an answer shares a message with other answers to the same command in the same chat and topic.
// Combined then adds a note with the number of senders.
func (a *answering) sharing(reply *chat.Reply) outbox.Sharing {
	combined := func(requests int) outbox.Content {
		r := reply.In(reply.Language)
		note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(requests)})
		r.Notes = append(slices.Clip(r.Notes), note)
		return a.render(r)
	}
	target := ""
	if a.cmd.request.Target != nil { // The target was replied to, and so is not in the text.
		target = a.cmd.request.Target.ID
	}
	return outbox.Sharing{
		// The tone and the title tell a refusal from an answer, so that they do not share a message.
		Key:      [...]any{a.cmd.to.Chat, a.cmd.to.Topic(), a.cmd.text, target, reply.Tone, reply.Title.Key},
		Subject:  a.cmd.text,
		AsOf:     reply.Source.AsOf,
		Combined: combined,
	}
}

// pressAnswer is how the reply to a press is shown.
type pressAnswer int

const (
	// asNewMessage sends a message to the chat.
	asNewMessage pressAnswer = iota
	// asEdit replaces the message with the button.
	asEdit
	// asAlert shows the reply only to the person who pressed, because it is not an answer.
	asAlert
	// asUnchanged leaves the message with the button as it is, and tells the person who pressed: the message shows
	// this answer already, or a newer one.
	asUnchanged
)

// chooseHow returns how a reply to the press is shown. The first line that applies counts:
//
//	a question in a private chat               as a new message
//	a reply for the sender alone, or an error  as an alert
//	any other question                         as a new message
//	an answer to a button that does not edit   as a new message
//	an answer not newer than the one shown     as unchanged
//	any other answer                           as an edit
//
// If the result is asEdit, the answer counts as shown from now on. If the edit fails, the caller must call
// platform.Shown.Forget.
func (a *answering) chooseHow(reply *chat.Reply) pressAnswer {
	isQuestion := reply.Ask != nil
	button := a.cmd.button
	switch {
	case isQuestion && a.cmd.request.Direct: // The person cannot reply to an alert.
		return asNewMessage
	case reply.Unanswered():
		return asAlert
	case isQuestion, !button.Edit:
		return asNewMessage
	// Judge also notes this answer as shown.
	case a.s.adapter.shown.Judge(a.messageKey(), a.cmd.text, button.AsOf, reply.Source.AsOf) == platform.Keep:
		return asUnchanged
	}
	return asEdit
}

// answerPress shows the reply to a press. If Telegram does not take the alert or the edit, the reply is sent as a new
// message.
func (a *answering) answerPress(reply *chat.Reply, content outbox.Content) outbox.Receipt {
	how := a.chooseHow(reply)
	switch how {
	case asUnchanged:
		a.toast(reply.Unchanged())
		return outbox.Receipt{}
	case asAlert:
		if a.alert(reply) {
			return outbox.Receipt{}
		}
		reply = a.inLanguageOfChat(reply) // Others may read the message.
		content = a.render(reply)
	}
	// The button stops spinning after spinnerLasts, even if the message has to wait longer.
	spinner := a.s.work.AfterFunc(spinnerLasts, a.cmd.request.ID, a.press.endSpinner)
	defer spinner.Stop()
	if how == asEdit {
		receipt, refused := a.edit(reply, content)
		if !refused {
			return receipt
		}
	}
	return a.sendNew(reply, content)
}

// edit replaces the message with the button. refused is set if Telegram does not accept the edit: the message may have
// been deleted, or may be a picture, which text cannot replace.
func (a *answering) edit(reply *chat.Reply, content outbox.Content) (receipt outbox.Receipt, refused bool) {
	m := a.message(content)
	m.EditID = a.cmd.to.ReplyTo
	m.Sharing = outbox.Sharing{
		Key:     outbox.MessageRef{Chat: m.To.Chat, MessageID: m.EditID},
		Subject: a.cmd.text,
		AsOf:    reply.Source.AsOf,
	}
	receipt = a.send(m)
	if receipt.Result != outbox.Delivered {
		a.s.adapter.shown.Forget(a.messageKey(), a.cmd.text, reply.Source.AsOf)
	}
	if receipt.Result == outbox.Refused || receipt.Result == outbox.Unreachable {
		return receipt, true
	}
	isRefresh := !a.cmd.button.AsOf.IsZero() // Only a button below an answer with a version has AsOf.
	if receipt.Unchanged && isRefresh {
		a.toast(reply.Unchanged())
	}
	return receipt, false
}

// messageKey identifies the message with the pressed button.
func (a *answering) messageKey() string { return fmt.Sprint(a.cmd.to.Chat, " ", a.cmd.to.ReplyTo) }

// sendPrivately sends the answer to a private command that was sent in a group. It answers an ephemeral command by an
// ephemeral message in the group. If the command was not ephemeral, or if the ephemeral message may not have arrived,
// it sends the answer to the user's private chat, and a notice in the group says so.
func (a *answering) sendPrivately(content outbox.Content) outbox.Receipt {
	if a.cmd.user == 0 {
		return a.notify(stayedAnonymous)
	}
	m := a.message(content)
	m.To = outbox.Destination{Chat: a.cmd.user}
	if a.cmd.ephemeral.Arrived() {
		inGroup := a.sendEphemeral(content)
		if inGroup.Result == outbox.Delivered {
			return inGroup
		}
		m.UnknownAttempts = inGroup.UnknownAttempts // An ephemeral message that may have arrived counts as an attempt.
	}
	receipt := a.send(m)
	switch receipt.Result {
	case outbox.Delivered:
		a.notify(answeredPrivately)
	case outbox.Unreachable:
		a.s.adapter.Count("private_unreachable")
		return a.notify(pressStart)
	}
	return receipt
}

// sendEphemeral answers an ephemeral command in the group, so that only its user can read the answer. If the server
// makes the answer public, sendEphemeral deletes it, and the adapter sends no more ephemeral messages.
func (a *answering) sendEphemeral(content outbox.Content) outbox.Receipt {
	m := a.message(content)
	m.Ephemeral = a.cmd.ephemeral
	m.Deadline = a.arrived.Add(ephemeralLasts)
	m.Content.Picture = nil // An ephemeral message takes only text.
	receipt := a.send(m)
	if botapi.ErrorOf(receipt.Err).Kind == botapi.Public {
		a.s.adapter.withoutEphemeral.Store(true)
		const atOnce = 0
		a.s.remove(atOnce, receipt.Sent)
	}
	return receipt
}
