package discord

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
)

var (
	errUnknownInteraction = &Failure{Status: http.StatusNotFound, Code: 10062, Message: "Unknown interaction"}
	errUnknownWebhook     = &Failure{Status: http.StatusNotFound, Code: 10015, Message: "Unknown Webhook"}
	errUnknownMessage     = &Failure{Status: http.StatusNotFound, Code: 10008, Message: "Unknown Message"}
	errExpiredToken       = &Failure{Status: http.StatusUnauthorized, Code: 50027, Message: "Invalid Webhook Token"}
	errAcknowledged       = &Failure{
		Status:  http.StatusBadRequest,
		Code:    40060,
		Message: "Interaction has already been acknowledged.",
	}
)

// Discord's numbers of the kinds of first responses.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
const (
	showMessage   = 4
	deferMessage  = 5  // announces a new message
	deferUpdate   = 6  // announces an update of the message with the button
	updateMessage = 7  // updates the message with the button
	launch        = 12 // opens the application's Activity
)

// responseSchemas names the schema of each kind of first response.
var responseSchemas = map[int]string{
	showMessage:   "CreateMessageInteractionCallbackRequest",
	deferMessage:  "CreateMessageInteractionCallbackRequest",
	deferUpdate:   "UpdateMessageInteractionCallbackRequest",
	updateMessage: "UpdateMessageInteractionCallbackRequest",
	launch:        "LaunchActivityInteractionCallbackRequest",
}

// callback handles the call of a first response.
func (s *Server) callback(r *http.Request) (int, any, *Failure) {
	s.Lock()
	p := s.interactions[r.PathValue("token")]
	unknown := p == nil || p.ID != r.PathValue("id") || time.Since(p.sent) > s.FirstResponse
	s.Unlock()
	if unknown {
		return 0, nil, errUnknownInteraction
	}
	body, files, err := readBody(r)
	if err != nil {
		return 0, nil, s.refuse(fmt.Errorf("callback: %w", err))
	}
	return http.StatusNoContent, nil, s.respond(p, body, files)
}

// respond handles the first response to p. It returns nil if the response took effect.
func (s *Server) respond(p *Pending, body any, files map[string]Attachment) *Failure {
	object, _ := body.(map[string]any)
	number, _ := object["type"].(float64)
	kind := int(number)
	schema, known := responseSchemas[kind]
	if !known {
		return s.refuse(fmt.Errorf("callback.type: is not known here"))
	}
	if err := spec().Check("callback", schema, body); err != nil {
		return s.refuse(err)
	}
	updates := kind == deferUpdate || kind == updateMessage
	lacksMessage := updates && p.interaction.On == nil
	isOfOtherCommand := (kind == launch) != p.interaction.EntryPoint // Only the Entry Point command launches.
	if lacksMessage || isOfOtherCommand {
		return s.refuse(fmt.Errorf("callback.type: does not fit this interaction"))
	}
	data, _ := object["data"].(map[string]any)
	if kind == showMessage || kind == updateMessage {
		if err := checkPayload(data); err != nil {
			return s.refuse(fmt.Errorf("callback: %w", err))
		}
	}
	s.Lock()
	defer s.Unlock()
	defer s.Notify()
	p.answer.Callbacks++
	if p.answer.Callbacks > 1 {
		return errAcknowledged
	}
	if refusal := p.carryOut(kind, data, files); refusal != nil {
		p.answer.Callbacks-- // The bot may try again.
		return refusal
	}
	p.answer.Type = kind
	p.answer.First = time.Since(p.sent)
	p.answer.Deferred = kind == deferMessage || kind == deferUpdate
	if !p.answer.Deferred {
		p.finish()
	}
	return nil
}

// carryOut does what a first response of this kind demands. The caller must hold the server's lock.
func (p *Pending) carryOut(kind int, data map[string]any, files map[string]Attachment) *Failure {
	switch kind {
	case deferMessage:
		p.original = p.server.nextID()
		p.loading = true
		p.store(p.newMessage(p.original, data))
	case deferUpdate:
		p.original = p.interaction.On.ID
	case showMessage:
		m := p.newMessage(p.server.nextID(), data)
		if refusal := p.show(m, data, files); refusal != nil {
			return refusal
		}
		p.original = m.ID
	case updateMessage:
		if refusal := p.change(p.interaction.On.ID, data, files); refusal != nil {
			return refusal
		}
		p.original = p.interaction.On.ID
	}
	return nil
}

// newMessage returns an empty message. The flags of the payload decide who sees it.
func (p *Pending) newMessage(id string, sent map[string]any) Message {
	flags, _ := sent["flags"].(float64)
	if int(flags)&int(discordgo.MessageFlagsEphemeral) == 0 {
		return Message{ID: id}
	}
	return Message{ID: id, Ephemeral: true, SeenBy: p.interaction.UserID}
}

// change changes the message with this ID by the members of a payload. The caller must hold the server's lock.
func (p *Pending) change(id string, sent map[string]any, files map[string]Attachment) *Failure {
	current := p.server.messages[id]
	if current == nil {
		return errUnknownMessage
	}
	m := *current
	if p.loading && id == p.original {
		p.loading = false
	} else {
		m.Edited++
	}
	return p.show(m, sent, files)
}

// show shows m with the members of a payload. If it returns a Failure, it has not changed anything. The caller
// must hold the server's lock.
func (p *Pending) show(m Message, sent map[string]any, files map[string]Attachment) *Failure {
	changed, err := m.with(sent, files, p.server.nextID)
	if err != nil {
		return p.server.refuseLocked(fmt.Errorf("message: %w", err))
	}
	p.store(*changed)
	return nil
}

// store stores the new state of a message, and reports it to the watcher. The caller must hold the server's lock.
func (p *Pending) store(m Message) {
	p.server.messages[m.ID] = &m
	p.shown = append(p.shown, m)
	p.server.watch(Shown{Interaction: p.interaction, Message: &m, Loading: p.loading && m.ID == p.original})
}

// finish marks the answer as complete. Later calls may still change it. The caller must hold the server's lock.
func (p *Pending) finish() {
	p.answer.Final = time.Since(p.sent)
	p.done = true
}

// webhook handles a call after the first response: an edit or a follow-up. It checks the payload against the schema,
// and calls apply under the lock. apply applies the payload, and returns the ID of the message. name is the beginning
// of the errors.
func (s *Server) webhook(r *http.Request, name, schema string,
	apply func(p *Pending, sent map[string]any, files map[string]Attachment) (id string, refusal *Failure),
) (int, any, *Failure) {
	body, files, err := readBody(r)
	if err == nil {
		err = spec().Check(name, schema, body)
	}
	sent, _ := body.(map[string]any)
	if err == nil {
		err = checkPayload(sent)
	}
	if err != nil {
		return 0, nil, s.refuse(fmt.Errorf("%s: %w", name, err))
	}
	s.Lock()
	defer s.Unlock()
	p := s.interactions[r.PathValue("token")]
	switch {
	case r.PathValue("app") != s.ApplicationID, p == nil, p.original == "":
		return 0, nil, errUnknownWebhook
	case time.Since(p.sent) > tokenLife:
		return 0, nil, errExpiredToken
	}
	id, refusal := apply(p, sent, files)
	if refusal != nil {
		return 0, nil, refusal
	}
	p.finish()
	s.Notify()
	return http.StatusOK, map[string]any{"id": id}, nil
}

// edit changes the message of the first response.
func (s *Server) edit(r *http.Request) (int, any, *Failure) {
	return s.webhook(r, "edit", "IncomingWebhookUpdateRequestPartial",
		func(p *Pending, sent map[string]any, files map[string]Attachment) (string, *Failure) {
			refusal := p.change(p.original, sent, files)
			if refusal == nil {
				p.answer.Edits++
			}
			return p.original, refusal
		})
}

// followUp shows another message. If the first response deferred a message that is still empty, it fills that
// message instead; who sees it was decided by the flags of the first response.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (s *Server) followUp(r *http.Request) (int, any, *Failure) {
	return s.webhook(r, "followup", "IncomingWebhookRequestPartial",
		func(p *Pending, sent map[string]any, files map[string]Attachment) (string, *Failure) {
			if p.loading {
				return p.original, p.change(p.original, sent, files)
			}
			m := p.newMessage(s.nextID(), sent)
			refusal := p.show(m, sent, files)
			if refusal == nil {
				p.followups = append(p.followups, m.ID)
			}
			return m.ID, refusal
		})
}

// Messages returns all messages in their current state, the oldest first.
func (s *Server) Messages() []Message {
	s.Lock()
	defer s.Unlock()
	all := make([]Message, 0, len(s.messages))
	for _, m := range s.messages {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Message) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
