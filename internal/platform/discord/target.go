package discord

import (
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
)

// destination is the message that shows an answer.
type destination int

const (
	// toNewMessage: the answer is a message of its own.
	toNewMessage destination = iota
	// toPressedMessage: the answer replaces the message with the pressed button.
	toPressedMessage
)

// reader is who can read a new message.
type reader int

const (
	userAlone reader = iota // the user of the interaction
	everybody               // in the channel
)

// target is where an answer is expected to go, before the command has run. forReply decides once the reply is known.
type target struct {
	destination destination
	reader      reader // of a new message
	// pressed is the message with the button. It is zero if destination is toNewMessage.
	pressed pressedMessage
}

// pressedMessage is the message with the pressed button. It shows an answer.
type pressedMessage struct {
	id      string
	text    string       // as textOf returns it
	subject string       // what the answer is about: a command with its arguments
	version chat.Version // of the answer, as the button says
}

// targetOf returns where the command's answer goes. press is nil for a command that was typed.
//
// The command's visibility decides who can read the answer. A button cannot decide that, because it may be forged or
// from an earlier version. The answer to a private or unknown command therefore never replaces a message that others
// can read.
func targetOf(i *interaction, visibility chat.Visibility, press *chat.Press) (to target) {
	if visibility == chat.Public {
		to.reader = everybody
	}
	if press == nil || !press.Edit || i.Message == nil {
		return to
	}
	isEphemeral := i.Message.Flags&discordgo.MessageFlagsEphemeral != 0
	if to.reader == userAlone && !isEphemeral {
		return to
	}
	to.destination = toPressedMessage
	to.pressed = pressedMessage{
		id:      i.Message.ID,
		text:    textOf(i.Message.Content, i.Message.Embeds),
		subject: strings.Join(append([]string{press.Command}, press.Args...), " "),
		version: press.AsOf,
	}
	return to
}

// textOf returns the texts of a message and its embeds, with the color of each embed. If it returns the same for two
// messages, they look the same, except for their pictures and buttons.
func textOf(content string, embeds []embed) string {
	for _, e := range embeds {
		// Only the date and the time up to seconds: Discord rewrites fractions and the time zone.
		timestamp := e.Timestamp[:min(len(time.DateTime), len(e.Timestamp))]
		footer := ""
		if e.Footer != nil {
			footer = e.Footer.Text
		}
		content += fmt.Sprintf("\n%s\n%s\n%s\n%d", e.Description, timestamp, footer, e.Color)
	}
	return content
}

// keepsPressed reports whether the message with the button stays as it is, because it already shows reply, rendered as
// m, or a newer answer. If reply is to replace the message instead, keepsPressed makes shown remember reply as shown.
// If sending it then fails, the caller must call shown.Forget.
func (to *target) keepsPressed(shown *platform.Shown, reply *chat.Reply, m *message) bool {
	if to.destination != toPressedMessage || reply.Unanswered() {
		return false
	}
	switch shown.Judge(to.pressed.id, to.pressed.subject, to.pressed.version, reply.Source.AsOf) {
	case platform.Keep:
		return true
	case platform.Replace:
		return false
	default: // platform.ReplaceIfDifferent
		isRefresh := !to.pressed.version.IsZero() // A button for another page has no version.
		looksTheSame := to.pressed.text == textOf(m.Content, m.Embeds) && m.picture == nil
		return isRefresh && looksTheSame
	}
}

// forReply returns where a reply is shown, and who can read it if it is a new message. A reply for the sender alone
// never replaces the message with the button. Neither does a reply without an answer, such as "Price unavailable".
func (to *target) forReply(reply *chat.Reply) (destination, reader) {
	if reply.ForSender() {
		return toNewMessage, userAlone
	}
	if to.destination == toPressedMessage && reply.Unanswered() {
		return toNewMessage, userAlone
	}
	return to.destination, to.reader
}

// deferredResponse returns the first response that defers the answer. r is who can read the answer if it is a new
// message: to.reader before the command has run, and the result of forReply afterwards.
func (to *target) deferredResponse(r reader) response {
	if to.destination == toPressedMessage {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	data := map[string]discordgo.MessageFlags{}
	if r == userAlone {
		data["flags"] = discordgo.MessageFlagsEphemeral
	}
	return response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: data}
}
