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

// The kinds of first responses, by Discord's numbers.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
const (
	showMessage   = 4
	promise       = 5
	promiseUpdate = 6
	updateMessage = 7
	launch        = 12 // opens the application's Activity
)

// responses are the schemas of the first responses.
var responses = map[int]string{
	showMessage:   "CreateMessageInteractionCallbackRequest",
	promise:       "CreateMessageInteractionCallbackRequest",
	promiseUpdate: "UpdateMessageInteractionCallbackRequest",
	updateMessage: "UpdateMessageInteractionCallbackRequest",
	launch:        "LaunchActivityInteractionCallbackRequest",
}

func (s *Server) callback(r *http.Request) (int, any, *Failure) {
	s.Lock()
	p := s.interactions[r.PathValue("token")]
	late := p == nil || p.ID != r.PathValue("id") || time.Since(p.sent) > s.FirstResponse
	s.Unlock()
	if late {
		return 0, nil, errUnknownInteraction
	}
	body, files, err := readBody(r)
	if err != nil {
		return 0, nil, s.problem(fmt.Errorf("callback: %w", err))
	}
	return http.StatusNoContent, nil, s.respond(p, body, files)
}

// respond takes the first response to p.
func (s *Server) respond(p *Pending, body any, files map[string]Attachment) *Failure {
	object, _ := body.(map[string]any)
	number, _ := object["type"].(float64)
	kind := int(number)
	schema, known := responses[kind]
	if !known {
		return s.problem(fmt.Errorf("callback.type: is not known here"))
	}
	if err := spec().Check("callback", schema, body); err != nil {
		return s.problem(err)
	}
	updates := kind == promiseUpdate || kind == updateMessage
	if updates && p.interaction.On == nil || (kind == launch) != p.interaction.EntryPoint {
		return s.problem(fmt.Errorf("callback.type: does not fit this interaction"))
	}
	data, _ := object["data"].(map[string]any)
	if kind == showMessage || kind == updateMessage {
		if err := checkSent(data); err != nil {
			return s.problem(fmt.Errorf("callback: %w", err))
		}
	}
	s.Lock()
	defer s.Unlock()
	defer s.Notify()
	p.answer.Callbacks++
	if p.answer.Callbacks > 1 {
		return errAcknowledged
	}
	if refused := p.carryOut(kind, data, files); refused != nil {
		p.answer.Callbacks--
		return refused
	}
	p.answer.Type, p.answer.First = kind, time.Since(p.sent)
	p.answer.Deferred = kind == promise || kind == promiseUpdate
	if !p.answer.Deferred {
		p.finish()
	}
	return nil
}

// carryOut shows or promises what a first response says. The caller holds the server's
// lock.
func (p *Pending) carryOut(kind int, data map[string]any, files map[string]Attachment) *Failure {
	switch kind {
	case promise:
		p.original = p.server.nextID()
		p.loading = true
		p.keep(p.seenByFlags(Message{ID: p.original}, data))
	case promiseUpdate:
		p.original = p.interaction.On.ID
	case showMessage:
		m := p.seenByFlags(Message{ID: p.server.nextID()}, data)
		return p.show(m, data, files, &p.original)
	case updateMessage:
		return p.change(p.interaction.On.ID, data, files, &p.original)
	}
	return nil
}

// seenByFlags returns m with who sees it, by the flags that are sent.
func (p *Pending) seenByFlags(m Message, sent map[string]any) Message {
	flags, _ := sent["flags"].(float64)
	if m.Ephemeral = int(flags)&int(discordgo.MessageFlagsEphemeral) != 0; m.Ephemeral {
		m.SeenBy = p.interaction.UserID
	}
	return m
}

// change changes the message of an ID and stores the ID in id, unless what is sent is
// refused. The caller holds the server's lock.
func (p *Pending) change(message string, sent map[string]any, files map[string]Attachment, id *string) *Failure {
	was := p.server.messages[message]
	if was == nil {
		return errUnknownMessage
	}
	m := *was
	if p.loading && message == p.original {
		p.loading = false
	} else {
		m.Edited++
	}
	return p.show(m, sent, files, id)
}

// show changes m by what is sent and stores its ID in id, unless that is refused. The
// caller holds the server's lock.
func (p *Pending) show(m Message, sent map[string]any, files map[string]Attachment, id *string) *Failure {
	changed, err := m.changed(sent, files, p.server.nextID)
	if err != nil {
		return p.server.note(fmt.Errorf("message: %w", err))
	}
	*id = m.ID
	p.keep(*changed)
	return nil
}

// keep stores m and reports it to the watcher. The caller holds the server's lock.
func (p *Pending) keep(m Message) {
	p.server.messages[m.ID] = &m
	p.shown = append(p.shown, m)
	p.server.watch(Shown{Interaction: p.interaction, Message: &m, Loading: p.loading && m.ID == p.original})
}

// finish marks the whole answer as given. The caller holds the server's lock.
func (p *Pending) finish() {
	p.answer.Final = time.Since(p.sent)
	p.done = true
}

// webhook handles a call after the first response. change applies what is sent, and
// returns the ID of the message; it is called with the lock held.
func (s *Server) webhook(r *http.Request, name, schema string,
	change func(p *Pending, sent map[string]any, files map[string]Attachment) (id string, refused *Failure),
) (int, any, *Failure) {
	body, files, err := readBody(r)
	if err == nil {
		err = spec().Check(name, schema, body)
	}
	sent, _ := body.(map[string]any)
	if err == nil {
		err = checkSent(sent)
	}
	if err != nil {
		return 0, nil, s.problem(fmt.Errorf("%s: %w", name, err))
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
	id, refused := change(p, sent, files)
	if refused != nil {
		return 0, nil, refused
	}
	p.finish()
	s.Notify()
	return http.StatusOK, map[string]any{"id": id}, nil
}

func (s *Server) edit(r *http.Request) (int, any, *Failure) {
	return s.webhook(r, "edit", "IncomingWebhookUpdateRequestPartial",
		func(p *Pending, sent map[string]any, files map[string]Attachment) (string, *Failure) {
			refused := p.change(p.original, sent, files, &p.original)
			if refused == nil {
				p.answer.Edits++
			}
			return p.original, refused
		})
}

// followUp shows another message. Straight after a deferral it becomes the deferred
// message, and the deferral's flags decide who sees it.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (s *Server) followUp(r *http.Request) (int, any, *Failure) {
	return s.webhook(r, "followup", "IncomingWebhookRequestPartial",
		func(p *Pending, sent map[string]any, files map[string]Attachment) (id string, refused *Failure) {
			if p.loading {
				return p.original, p.change(p.original, sent, files, &p.original)
			}
			refused = p.show(p.seenByFlags(Message{ID: s.nextID()}, sent), sent, files, &id)
			if refused == nil {
				p.followups = append(p.followups, id)
			}
			return id, refused
		})
}

// Messages returns those that are shown now, the oldest first.
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
