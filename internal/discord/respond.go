package discord

import "github.com/bwmarrin/discordgo"

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
