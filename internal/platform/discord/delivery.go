package discord

import (
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
)

// pictureTime is how long a picture is retried before the answer is sent without it.
const pictureTime = 30 * time.Second

// answer is a rendered reply, with where it goes and who can read it.
type answer struct {
	*message
	destination destination
	reader      reader // of a new message
	// version says how new the reply is. platform.Shown remembers it.
	version chat.Version
}

// delivery is a call that delivers an answer.
type delivery int

const (
	// undeliverable: there is no call left to try.
	undeliverable delivery = iota
	// asResponse: the first response is a new message.
	asResponse
	// asUpdate: the first response replaces the message with the button.
	asUpdate
	// asEdit: after the deferral, an edit fills in the message that the deferral promised.
	asEdit
	// asFollowUp: after the deferral, another call sends a new message.
	asFollowUp
)

// firstDelivery returns the call to try first. shown is where the answer is to be shown. promised is where the deferral
// promised the answer; it matters only if the first response is the deferral.
//
//	first response   promised           shown              call
//	the answer       –                  toPressedMessage   asUpdate
//	the answer       –                  toNewMessage       asResponse
//	the deferral     toPressedMessage   as promised        asEdit
//	the deferral     toPressedMessage   toNewMessage       asFollowUp
//	the deferral     toNewMessage       as promised        asEdit
//	the deferral     toNewMessage       toPressedMessage   cannot happen
func firstDelivery(first firstResponse, promised, shown destination) delivery {
	if first == theAnswer {
		if shown == toPressedMessage {
			return asUpdate
		}
		return asResponse
	}
	if promised == toPressedMessage && shown == toNewMessage {
		return asFollowUp // An edit would replace the message with the button.
	}
	return asEdit
}

// afterRefusal returns the next call to try if Discord refuses d for good. A reason may be that the message to change
// was deleted, so the next call sends a new message.
func (d delivery) afterRefusal() delivery {
	switch d {
	case asUpdate:
		return asResponse
	case asEdit:
		return asFollowUp
	default:
		return undeliverable
	}
}

// deliver delivers an answer by d. If Discord refuses d for good, deliver tries what afterRefusal returns.
func (s *session) deliver(i *interaction, a *answer, d delivery) error {
	for {
		err := s.deliverBy(d, i, a)
		if err == nil {
			return nil
		}
		// The message with the button does not show the answer now, even if the next call sends it as a new message. A later
		// press must be able to show the same answer there.
		s.forgetShown(i, a)
		if !api.Unacceptable(err) {
			return err
		}
		d = d.afterRefusal()
		if d == undeliverable {
			return err
		}
	}
}

// deliverBy makes the call d, without a second try by another call. A follow-up has no picture.
func (s *session) deliverBy(d delivery, i *interaction, a *answer) error {
	switch d {
	case asUpdate:
		return s.respond(i, response{Type: discordgo.InteractionResponseUpdateMessage, Data: a.message})
	case asEdit:
		return s.edit(i, a)
	case asFollowUp:
		// If the deferral promised a new message, Discord ignores the follow-up's reader and keeps the deferral's (see
		// api.Client.FollowUp).
		followUp := api.Message{Body: a.withoutPicture().readBy(a.reader)}
		return s.api.FollowUp(s.work.Sends, i.Interaction, followUp, i.Arrived.Add(api.TokenLife))
	default: // asResponse
		return s.respond(i, newMessage(a.message, a.reader))
	}
}

// respond sends the first response: as the body of the HTTP response if the interaction arrived by HTTP, and otherwise
// with a call.
func (s *session) respond(i *interaction, r response) error {
	if i.w != nil {
		return r.write(i.w)
	}
	return s.api.Respond(s.work.Sends, i.Interaction, r)
}

// edit replaces the deferred message with the answer. It retries until the interaction's token expires. If the picture
// cannot be sent within pictureTime, edit sends the answer without it.
func (s *session) edit(i *interaction, a *answer) error {
	m := a.message
	// If Discord is down, the edit is retried for minutes. Meanwhile, a newer answer may replace the message.
	outdated := func() bool {
		return a.destination == toPressedMessage && !s.shown.IsLast(i.target.pressed.id, i.target.pressed.subject, a.version)
	}
	if m.picture != nil {
		picture := api.Message{Body: m, Name: m.Attachments[0].Filename, PNG: m.picture, Outdated: outdated}
		err := s.api.Edit(s.work.Sends, i.Interaction, picture, time.Now().Add(pictureTime))
		if err == nil || api.Expired(err) {
			return err
		}
		s.count("picture_failed")
		m = m.withoutPicture()
	}
	text := api.Message{Body: m, Outdated: outdated}
	return s.api.Edit(s.work.Sends, i.Interaction, text, i.Arrived.Add(api.TokenLife))
}

// response is the first response to an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// launchActivity is the type of the response that opens the application's Activity.
const launchActivity discordgo.InteractionResponseType = 12

// newMessage returns the response that shows m as a new message to a reader.
func newMessage(m *message, r reader) response {
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: m.readBy(r)}
}

// readBy returns m as a new message that r can read. It does not change m.
func (m *message) readBy(r reader) *message {
	if r == everybody {
		return m
	}
	hidden := *m
	hidden.Flags = discordgo.MessageFlagsEphemeral
	return &hidden
}
