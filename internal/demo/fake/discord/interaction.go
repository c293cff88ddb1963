package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Interaction is the use of a command or, if Button is set, a press. An empty ID gets a
// value of its own; an empty GuildID is a private chat with the bot.
type Interaction struct {
	Command string
	Options map[string]string // string options by name
	Users   map[string]string // user options by name: user IDs
	// Target is the user whose context menu was used; Command is then the
	// menu's label.
	Target string
	// EntryPoint is true if Command is the Entry Point command, which opens an Activity.
	EntryPoint bool
	// Button is the custom ID of the button that was pressed under On.
	Button string
	// On is a message that was shown here. If it has no ID, it is one of a year ago.
	On *Message

	UserID      string
	GuildID     string
	ChannelID   string
	Permissions int64 // of the user in the guild
	// Locale is the user's language, "en-US" where it is empty.
	Locale string
	// UserInstalled is true if the user has installed the bot, and the guild has not.
	UserInstalled bool
	// ID and Token repeat an earlier interaction.
	ID, Token string
}

// Answer is what the bot has said to one interaction. Its Message is the one of the first
// response, as it is now.
type Answer struct {
	Message
	// Type is Discord's number for the kind of the first response.
	// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
	Type int
	// Deferred is true if the first response only promised an answer.
	Deferred bool
	// Followups are messages beside Message, as they are now.
	Followups []Message
	// First and Final are the times from the interaction to the first response and to the
	// whole answer.
	First, Final time.Duration
	// Callbacks counts the first responses, refused second ones too; Edits
	// counts the edits by this interaction's token.
	Callbacks, Edits int
}

// Pending is an interaction that was sent to the bot.
type Pending struct {
	ID, Token   string
	server      *Server
	interaction Interaction
	sent        time.Time
	// The following are guarded by the server's lock.
	loading   bool   // a new message is promised
	done      bool   // the whole answer is here
	answer    Answer // so far, without its messages
	original  string // ID of the message of the first response
	followups []string
	shown     []Message // every state of every message, in order
}

// How long Discord takes a first response, and the others.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	firstResponse = 3 * time.Second // Server.FirstResponse by default
	tokenLife     = 15 * time.Minute
)

// Push sends an interaction over the gateway. It fails if no bot is connected.
func (s *Server) Push(i Interaction) (*Pending, error) {
	p, payload := s.create(i)
	return p, s.deliver(payload)
}

// Keep makes an interaction that deliver pushes later. Its age counts from now.
func (s *Server) Keep(i Interaction) (p *Pending, deliver func() error) {
	p, payload := s.create(i)
	return p, func() error { return s.deliver(payload) }
}

// Press returns the press of a button under the answer's message, as the message is now,
// by a user. The custom ID may be forged.
func (p *Pending) Press(userID, customID string) Interaction {
	i, message := p.interaction, p.Answer().Message
	i.ID = ""
	i.Token = ""
	i.Button = customID
	i.On = &message
	i.UserID = userID
	if userID != p.interaction.UserID {
		i.Permissions = 0
		i.Locale = ""
	}
	return i
}

// Answer returns what the bot has said so far.
func (p *Pending) Answer() Answer {
	p.server.Lock()
	defer p.server.Unlock()
	a := p.answer
	if m := p.server.messages[p.original]; m != nil {
		a.Message = *m
	}
	for _, id := range p.followups {
		if m := p.server.messages[id]; m != nil {
			a.Followups = append(a.Followups, *m)
		}
	}
	return a
}

// Shown returns every state of every message of the answer, the oldest first.
func (p *Pending) Shown() []Message {
	return locked(p.server, func() []Message { return slices.Clone(p.shown) })
}

// Wait blocks until the whole answer is there, or ctx is done.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	err := p.server.Wait(ctx, func() bool { return locked(p.server, func() bool { return p.done }) })
	return p.Answer(), err
}

// Forget deletes the interaction and its messages, to bound the memory of a long run. The
// token is unknown from then on.
func (p *Pending) Forget() {
	p.server.Change(func() {
		delete(p.server.interactions, p.Token)
		for _, m := range p.shown {
			delete(p.server.messages, m.ID)
		}
	})
}

// create makes the interaction and the payload that Discord sends.
func (s *Server) create(i Interaction) (*Pending, map[string]any) {
	s.Lock()
	defer s.Unlock()
	for _, id := range []*string{&i.ID, &i.UserID, &i.ChannelID} {
		if *id == "" {
			*id = s.nextID()
		}
	}
	if i.Token == "" {
		i.Token = "aW50ZXJhY3Rpb246" + s.nextID()
	}
	i.Locale = cmp.Or(i.Locale, "en-US")
	if i.On != nil {
		i.On = s.known(*i.On)
	}
	p := s.interactions[i.Token]
	if p == nil {
		p = &Pending{ID: i.ID, Token: i.Token, server: s, interaction: i, sent: time.Now()}
		s.interactions[i.Token] = p
	}
	return p, s.payload(i)
}

// known returns a message as it is now. One without an ID is added as one of last year.
// The caller holds the lock.
func (s *Server) known(m Message) *Message {
	if m.ID == "" {
		m.ID = s.idAt(time.Now().AddDate(-1, 0, 0))
	}
	if s.messages[m.ID] == nil {
		s.messages[m.ID] = &m
	}
	now := *s.messages[m.ID]
	return &now
}

func (s *Server) payload(i Interaction) map[string]any {
	user := map[string]any{"id": i.UserID, "username": "somebody", "discriminator": "0", "bot": false}
	kind := discordgo.InteractionApplicationCommand
	if i.Button != "" {
		kind = discordgo.InteractionMessageComponent
	}
	payload := map[string]any{
		"id":                             i.ID,
		"application_id":                 s.ApplicationID,
		"type":                           kind,
		"token":                          i.Token,
		"version":                        1,
		"channel_id":                     i.ChannelID,
		"locale":                         i.Locale,
		"app_permissions":                "0",
		"entitlements":                   []any{},
		"attachment_size_limit":          maxUpload,
		"data":                           i.data(),
		"authorizing_integration_owners": i.owners(),
	}
	if i.On != nil {
		payload["message"] = i.On.Payload(s.ApplicationID, i.ChannelID)
	}
	if i.GuildID == "" {
		payload["user"] = user
		payload["context"] = int(discordgo.InteractionContextBotDM)
		return payload
	}
	payload["guild_id"] = i.GuildID
	payload["guild_locale"] = "en-US"
	payload["context"] = int(discordgo.InteractionContextGuild)
	payload["member"] = map[string]any{
		"user":        user,
		"roles":       s.rolesOf(i.GuildID, i.UserID),
		"joined_at":   "2024-01-01T00:00:00Z",
		"pending":     s.isPending(i.GuildID, i.UserID),
		"permissions": strconv.FormatInt(i.Permissions, 10),
	}
	return payload
}

// owners returns whom the bot is there for: the guild, 0 in a private chat with
// the bot, or the user.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-authorizing-integration-owners-object
func (i Interaction) owners() map[string]any {
	switch {
	case i.UserInstalled:
		return map[string]any{"1": i.UserID}
	case i.GuildID == "":
		return map[string]any{"0": "0"}
	default:
		return map[string]any{"0": i.GuildID}
	}
}

func (i Interaction) data() map[string]any {
	if i.Button != "" {
		return map[string]any{"custom_id": i.Button, "component_type": 2, "id": 2}
	}
	data := map[string]any{"id": "1300000000000000001", "name": i.Command, "type": 1}
	if i.EntryPoint {
		data["type"] = int(entryPoint)
		return data
	}
	if i.Target != "" {
		data["type"] = 2
		data["target_id"] = i.Target
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

// Prepare makes an interaction, and the body to post to the bot.
func (s *Server) Prepare(i Interaction) (p *Pending, body []byte) {
	p, payload := s.create(i)
	body, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return p, body
}

// Responded takes the body with which the bot answered a post as its first
// response. It is JSON: above 150 kB Discord does not take files there.
// https://github.com/discord/discord-api-docs/issues/5250
func (p *Pending) Responded(body io.Reader) error {
	var response any
	if err := json.NewDecoder(body).Decode(&response); err != nil {
		return fmt.Errorf("the first response: %w", err)
	}
	if refused := p.server.respond(p, response, nil); refused != nil {
		return fmt.Errorf("the first response: %s", refused.Message)
	}
	return nil
}
