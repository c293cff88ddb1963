package discordtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Interaction is a command that somebody uses. Empty IDs get values of their
// own; the zero GuildID is a private chat with the bot.
type Interaction struct {
	Command string
	Options map[string]string // string options by name
	Users   map[string]string // user options by name: user IDs
	// Target is the user whose context menu was used; Command is then the
	// menu's label.
	Target      string
	UserID      string
	Bot         bool // the user is one
	GuildID     string
	ChannelID   string
	Permissions int64 // of the user in the guild
	// ID and Token repeat an earlier interaction.
	ID, Token string
}

// Answer is what the bot has said to one interaction.
type Answer struct {
	// Deferred tells that the first response only promised an answer.
	Deferred  bool
	Ephemeral bool
	Content   string
	Embeds    []*discordgo.MessageEmbed
	// First and Final are how long after the interaction the first response
	// and the whole answer came.
	First, Final time.Duration
	// Callbacks counts the first responses, refused second ones too; Edits
	// counts the edits.
	Callbacks, Edits int
}

// Text is all text of the answer, without the backslashes of escapes and the
// marks of small print.
func (a Answer) Text() string {
	parts := []string{a.Content}
	for _, e := range a.Embeds {
		parts = append(parts, e.Title, e.Description)
	}
	text := strings.ReplaceAll(strings.Join(parts, "\n"), "\n-# ", "\n")
	return strings.ReplaceAll(text, `\`, "")
}

// Pending is an interaction that was sent to the bot.
type Pending struct {
	ID, Token string
	server    *Server
	sent      time.Time
	expired   bool   // guarded by Server.mu, as are the following
	answer    Answer // so far
	done      bool   // the whole answer is here
}

// firstResponse is how long Discord waits for the first response.
const firstResponse = 3 * time.Second

// Push sends an interaction over the gateway. It fails if no bot is connected.
func (s *Server) Push(i Interaction) (*Pending, error) {
	p, payload := s.create(i)
	return p, s.deliver(payload)
}

// Keep makes an interaction that Discord has but does not deliver yet. deliver
// pushes it, as old as it is by then.
func (s *Server) Keep(i Interaction) (p *Pending, deliver func() error) {
	p, payload := s.create(i)
	return p, func() error { return s.deliver(payload) }
}

// Answer is what has been said so far.
func (p *Pending) Answer() Answer {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.answer
}

// First waits for the first response.
func (p *Pending) First(ctx context.Context) (Answer, error) {
	err := p.server.Wait(ctx, func() bool { return p.Answer().First > 0 })
	return p.Answer(), err
}

// Wait waits for the whole answer.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	err := p.server.Wait(ctx, func() bool {
		p.server.mu.Lock()
		defer p.server.mu.Unlock()
		return p.done
	})
	return p.Answer(), err
}

// Expire makes the interaction's token worthless.
func (p *Pending) Expire() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.expired = true
}

// Forget drops the interaction, so that a long run needs no more memory than a
// short one; its token is unknown from then on.
func (p *Pending) Forget() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	delete(p.server.interactions, p.Token)
}

// create makes the interaction and what Discord sends of it.
func (s *Server) create(i Interaction) (*Pending, map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range []*string{&i.ID, &i.UserID, &i.ChannelID} {
		if *id == "" {
			*id = s.nextID()
		}
	}
	if i.Token == "" {
		i.Token = "aW50ZXJhY3Rpb246" + s.nextID()
	}
	p := s.interactions[i.Token]
	if p == nil {
		p = &Pending{ID: i.ID, Token: i.Token, server: s, sent: time.Now()}
		s.interactions[i.Token] = p
	}
	return p, s.payload(i)
}

func (s *Server) payload(i Interaction) map[string]any {
	user := map[string]any{"id": i.UserID, "username": "somebody", "discriminator": "0", "bot": i.Bot}
	payload := map[string]any{
		"id": i.ID, "application_id": s.ApplicationID, "type": 2, "token": i.Token, "version": 1,
		"channel_id": i.ChannelID, "locale": "en-US", "app_permissions": "0", "entitlements": []any{},
		"data": i.data(),
	}
	if i.GuildID == "" {
		payload["user"], payload["context"] = user, 1
		return payload
	}
	payload["guild_id"], payload["context"] = i.GuildID, 0
	payload["member"] = map[string]any{
		"user": user, "roles": []any{}, "joined_at": "2024-01-01T00:00:00Z",
		"permissions": strconv.FormatInt(i.Permissions, 10),
	}
	return payload
}

func (i Interaction) data() map[string]any {
	data := map[string]any{"id": "1300000000000000001", "name": i.Command, "type": 1}
	if i.Target != "" {
		data["type"], data["target_id"] = 2, i.Target
		data["resolved"] = map[string]any{"users": map[string]any{i.Target: map[string]any{"id": i.Target}}}
		return data
	}
	options := []any{}
	for name, value := range i.Options {
		options = append(options, map[string]any{"name": name, "type": 3, "value": value})
	}
	for name, value := range i.Users {
		options = append(options, map[string]any{"name": name, "type": 6, "value": value})
	}
	data["options"] = options
	return data
}

var (
	errUnknownInteraction = &failure{http.StatusNotFound, 10062, "Unknown interaction"}
	errUnknownWebhook     = &failure{http.StatusNotFound, 10015, "Unknown Webhook"}
	errExpiredToken       = &failure{http.StatusUnauthorized, 50027, "Invalid Webhook Token"}
	errAcknowledged       = &failure{http.StatusBadRequest, 40060, "Interaction has already been acknowledged."}
)

func (s *Server) callback(r *http.Request) (int, any, *failure) {
	s.mu.Lock()
	p := s.interactions[r.PathValue("token")]
	late := p == nil || p.ID != r.PathValue("id") || p.expired || time.Since(p.sent) > firstResponse
	s.mu.Unlock()
	if late {
		return 0, nil, errUnknownInteraction
	}
	var body any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return 0, nil, s.problem(errors.New("callback: not JSON"))
	}
	return http.StatusNoContent, nil, s.respond(p, body)
}

// respond takes the first response to p.
func (s *Server) respond(p *Pending, body any) *failure {
	if err := spec["callback"].check("callback", body); err != nil {
		return s.problem(err)
	}
	object := body.(map[string]any)
	message, _ := object["data"].(map[string]any)
	deferred := object["type"] == 5.0
	if err := checkMessage(message, deferred); err != nil {
		return s.problem(fmt.Errorf("callback: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	p.answer.Callbacks++
	if p.answer.Callbacks > 1 {
		return errAcknowledged
	}
	flags, _ := message["flags"].(float64)
	p.answer.Deferred, p.answer.Ephemeral = deferred, int(flags)&int(discordgo.MessageFlagsEphemeral) != 0
	p.answer.First = time.Since(p.sent)
	if !deferred {
		p.show(message)
	}
	return nil
}

func (s *Server) edit(r *http.Request) (int, any, *failure) {
	var body map[string]any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return 0, nil, s.problem(errors.New("edit: not JSON"))
	}
	if err := spec["edit"].check("edit", any(body)); err != nil {
		return 0, nil, s.problem(err)
	}
	if err := checkMessage(body, false); err != nil {
		return 0, nil, s.problem(fmt.Errorf("edit: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.interactions[r.PathValue("token")]
	switch {
	case r.PathValue("app") != s.ApplicationID, p == nil, p.answer.First == 0:
		return 0, nil, errUnknownWebhook
	case p.expired:
		return 0, nil, errExpiredToken
	}
	p.answer.Edits++
	p.show(body)
	s.notify()
	return http.StatusOK, map[string]any{"id": s.nextID()}, nil
}

// show makes message the whole answer. The caller holds Server.mu.
func (p *Pending) show(message map[string]any) {
	p.answer.Content, _ = message["content"].(string)
	p.answer.Embeds = nil
	raw, _ := json.Marshal(message["embeds"])
	json.Unmarshal(raw, &p.answer.Embeds)
	p.answer.Final = time.Since(p.sent)
	p.done = true
}
