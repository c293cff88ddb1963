package discord

import (
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// response is the first response to an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// newMessage shows a message to everybody or, if private, to the asker alone.
func newMessage(m message, private bool) response {
	if private {
		m.Flags = discordgo.MessageFlagsEphemeral
	}
	return response{discordgo.InteractionResponseChannelMessageWithSource, m}
}

// busy is told who asks when there is no room.
func busy(l chat.Language) response {
	reply := chat.Busy()
	reply.Language = l
	return newMessage(render(reply), true)
}

// deferral promises an answer. For a new message, its flags decide who will see
// it.
func deferral(to place) response {
	if to.replaces {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	promise := struct {
		AllowedMentions mentions               `json:"allowed_mentions"`
		Flags           discordgo.MessageFlags `json:"flags,omitempty"`
	}{}
	if to.private {
		promise.Flags = discordgo.MessageFlagsEphemeral
	}
	return response{discordgo.InteractionResponseDeferredChannelMessageWithSource, promise}
}

// shows reports whether s is m already.
func (s *shown) shows(m message) bool {
	if len(s.Embeds) != 1 {
		return false
	}
	is, wanted := s.Embeds[0], m.Embeds[0]
	return is.Title == wanted.Title && is.Description == wanted.Description && is.picture() == wanted.picture()
}

// picture is the name of the file that an embed shows. Discord gives it as an
// address with that name at the end.
func (e embed) picture() string {
	if e.Image == nil {
		return ""
	}
	address, _, _ := strings.Cut(e.Image.URL, "?")
	return address[strings.LastIndexByte(address, '/')+1:]
}
