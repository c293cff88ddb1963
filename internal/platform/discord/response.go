package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// response is the first response to an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// newMessage responds with a message, for everybody or, if private, for the user
// alone.
func newMessage(m message, private bool) response {
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: m.seenBy(private)}
}

// write sends r as the body of an HTTP response, and returns once it is flushed: an
// edit may follow at once, and fails before Discord has the response.
func (r response) write(w http.ResponseWriter) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a response: %w", err)
	}
	switch r.Type {
	case discordgo.InteractionResponseDeferredChannelMessageWithSource, discordgo.InteractionResponseDeferredMessageUpdate:
		// The next request on this connection would wait until the answer is out.
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("write a response: %w", err)
	}
	return nil
}

// target is where an answer goes.
type target struct {
	// replaces is true for an answer that replaces the message with the button.
	replaces bool
	// private is true for a new message that the user alone is to see.
	private bool
	// asOf is the AsOf of the answer that a button refreshes, or zero.
	asOf time.Time
}

// targetOf returns where the command's answer goes. The command decides who sees
// it, and not the button, which can be forged or of an earlier version: the answer
// of a private or unknown command never replaces a message that others see.
func targetOf(i *interaction, command chat.Command, press chat.Press) target {
	private := command.Visibility != chat.Public
	seen := i.Message != nil && i.Message.Flags&discordgo.MessageFlagsEphemeral == 0
	return target{replaces: press.Edit && i.Message != nil && !(private && seen), private: private, asOf: press.AsOf}
}

// shows reports whether the message to replace shows reply already.
func (to target) shows(reply chat.Reply) bool {
	return to.replaces && !to.asOf.IsZero() && reply.AsOf.Unix() == to.asOf.Unix()
}

// deferral promises an answer. Its flags decide who will see a new message.
func (to target) deferral() response {
	if to.replaces {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	data := struct {
		AllowedMentions mentions               `json:"allowed_mentions"`
		Flags           discordgo.MessageFlags `json:"flags,omitempty"`
	}{}
	if to.private {
		data.Flags = discordgo.MessageFlagsEphemeral
	}
	return response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: data}
}
