package discord

import (
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
)

// pictureTime is how long a picture is retried before the answer is sent without it.
const pictureTime = 30 * time.Second

// answer is a rendered reply, and where it goes.
type answer struct {
	*message
	place  place
	reader reader // of a new message
	// asOf is the version that Shown remembers.
	asOf chat.Version
}

// delivery is a call that delivers an answer.
type delivery int

const (
	// undeliverable: no call is left.
	undeliverable delivery = iota
	// asResponse: the first response is a new message.
	asResponse
	// asUpdate: the first response replaces the message with the button.
	asUpdate
	// asEdit: an edit replaces what was deferred.
	asEdit
	// asFollowUp: a new message follows the deferral.
	asFollowUp
)

// firstDelivery returns the call that delivers an answer shown at a place. first is the first response; if it is the
// deferral, that promised the answer at another place or at the same one.
func firstDelivery(first firstResponse, promised, shown place) delivery {
	switch {
	case first == theAnswer && shown == inPlace:
		return asUpdate
	case first == theAnswer:
		return asResponse
	case promised == inPlace && shown == inNewMessage:
		return asFollowUp // An edit would replace the message with the button.
	default:
		return asEdit
	}
}

// afterRefusal returns the call that delivers an answer if Discord refuses d for good: the message to change may be
// deleted.
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

// deliver delivers an answer by d or, if Discord refuses d, by what follows its refusal. If a call fails, shown forgets
// what it has noted about the message with the button.
func (s *session) deliver(i *interaction, a *answer, d delivery) error {
	for {
		err := s.call(d, i, a)
		if err == nil {
			return nil
		}
		s.shown.Forget(i.target.message, i.target.subject, a.asOf)
		d = d.afterRefusal()
		if d == undeliverable || !api.Unacceptable(err) {
			return err
		}
	}
}

// call makes the call d. A follow-up has no picture. Straight after the deferral of a new message, its reader is the
// one that the deferral has (see api.Client.FollowUp).
func (s *session) call(d delivery, i *interaction, a *answer) error {
	switch d {
	case asUpdate:
		return s.respond(i, response{Type: discordgo.InteractionResponseUpdateMessage, Data: a.message})
	case asEdit:
		return s.edit(i, a)
	case asFollowUp:
		followUp := api.Message{Body: a.withoutPicture().readBy(a.reader)}
		return s.api.FollowUp(s.work.Sends, i.Interaction, followUp, i.Arrived.Add(api.TokenLife))
	default:
		return s.respond(i, newMessage(a.message, a.reader))
	}
}

// respond sends the first response.
func (s *session) respond(i *interaction, r response) error {
	if i.w != nil {
		return r.write(i.w)
	}
	return s.api.Respond(s.work.Sends, i.Interaction, r)
}

// edit replaces the deferred message by m, and is retried until the token expires. A picture that cannot be sent
// within pictureTime is left out.
func (s *session) edit(i *interaction, a *answer) error {
	m := a.message
	// A newer answer may replace the message while this one is retried, for minutes if Discord is down.
	outdated := func() bool {
		return a.place == inPlace && !s.shown.IsLast(i.target.message, i.target.subject, a.asOf)
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
	last := api.Message{Body: m, Outdated: outdated}
	return s.api.Edit(s.work.Sends, i.Interaction, last, i.Arrived.Add(api.TokenLife))
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

// readBy returns m as a new message that r can read.
func (m *message) readBy(r reader) *message {
	if r == everybody {
		return m
	}
	hidden := *m
	hidden.Flags = discordgo.MessageFlagsEphemeral
	return &hidden
}
