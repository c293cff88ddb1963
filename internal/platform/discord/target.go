package discord

import (
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
)

// place is where an answer is shown.
type place int

const (
	inNewMessage place = iota
	// inPlace is in place of the message with the pressed button.
	inPlace
)

// reader is who can read a new message.
type reader int

const (
	userAlone reader = iota // the user of the interaction
	everybody               // in the channel
)

// target is where an answer goes, as far as that is known before the command has run.
type target struct {
	place  place
	reader reader // of a new message

	// message and text are the ID and the text of the message with the button, if place is inPlace. The message shows
	// an answer to subject, a command with its arguments, as of asOf.
	message, text, subject string
	asOf                   chat.Version
}

// targetOf returns where the command's answer goes. The command decides who can read it. A button does not, because
// it can be forged or of an earlier version: the answer of a private or unknown command never replaces a message that
// others can read. press is nil for a command that was typed.
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
	to.place = inPlace
	to.message = i.Message.ID
	to.text = textOf(i.Message.Content, i.Message.Embeds)
	to.subject = strings.Join(append([]string{press.Command}, press.Args...), " ")
	to.asOf = press.AsOf
	return to
}

// textOf returns the text of a message and its embeds.
func textOf(content string, embeds []embed) string {
	for _, e := range embeds {
		// Discord writes the time zone and fractions of a second in another form.
		content += "\n" + e.Description + "\n" + e.Timestamp[:min(len(time.DateTime), len(e.Timestamp))]
	}
	return content
}

// keepsMessage decides whether the message with the button stays as it is, because it shows reply, which is rendered
// as m, or a newer answer. It notes in shown that the message shows reply; whoever cannot show it has shown forget
// that.
func (to *target) keepsMessage(shown *platform.Shown, reply *chat.Reply, m *message) bool {
	if to.place != inPlace || reply.Unanswered() {
		return false
	}
	switch shown.Judge(to.message, to.subject, to.asOf, reply.Source.AsOf) {
	case platform.Keep:
		return true
	case platform.Replace:
		return false
	}
	isRefresh := !to.asOf.IsZero()
	return isRefresh && to.text == textOf(m.Content, m.Embeds) && m.picture == nil
}

// forReply returns where a reply to the command is shown, and who can read it if it is a new message. What is for the
// user alone, or is no answer, leaves the message with the button as it is.
func (to *target) forReply(reply *chat.Reply) (place, reader) {
	if reply.ForSender() || to.place == inPlace && reply.Unanswered() {
		return inNewMessage, userAlone
	}
	return to.place, to.reader
}

// promise returns the first response that defers the answer, which r can read if it is a new message.
func (to *target) promise(r reader) response {
	if to.place == inPlace {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	data := map[string]discordgo.MessageFlags{}
	if r == userAlone {
		data["flags"] = discordgo.MessageFlagsEphemeral
	}
	return response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: data}
}
