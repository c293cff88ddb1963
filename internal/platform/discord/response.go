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

// newMessage shows a message to everybody or, if private, to the user alone.
func newMessage(m message, private bool) response {
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: m.seenBy(private)}
}

// write sends r as the body of an HTTP response, and returns once it is on its
// way: an edit may follow at once and must find the interaction responded to.
func (r response) write(w http.ResponseWriter) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a response: %w", err)
	}
	if r.Type == discordgo.InteractionResponseDeferredChannelMessageWithSource || r.Type == discordgo.InteractionResponseDeferredMessageUpdate {
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

// target is where an answer goes: into a new message or, with replaces, into the
// one that holds the button pressed.
type target struct {
	replaces bool
	// private is true for a new message that the user alone is to see.
	private bool
	// asOf is the AsOf of the answer to be refreshed; zero where none is.
	asOf time.Time
}

// targetOf decides by the command whether others may see its answer: a button can
// be forged, or older than this version. A message that they see is never
// replaced by the answer of a private or unknown command.
func targetOf(i *interaction, command chat.Command, press chat.Press) target {
	private := command.Visibility != chat.Public
	seen := i.Message != nil && i.Message.Flags&discordgo.MessageFlagsEphemeral == 0
	return target{replaces: press.Edit && i.Message != nil && !(private && seen), private: private, asOf: press.AsOf}
}

// shows reports whether reply is what the message to replace shows already.
func (to target) shows(reply chat.Reply) bool {
	return to.replaces && !to.asOf.IsZero() && reply.AsOf.Unix() == to.asOf.Unix()
}

// deferral promises an answer. For a new message, its flags decide who will see
// it.
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
