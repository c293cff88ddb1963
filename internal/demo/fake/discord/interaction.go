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

// Interaction is the use of a command or, if Button is set, the press of a button.
type Interaction struct {
	Command string            // the command's name
	Options map[string]string // string options by name
	Users   map[string]string // user options by name: user IDs
	// Target is set if the command was chosen in the context menu of a user. It is the user's ID, and
	// Command is the command's label in the menu.
	Target string
	// EntryPoint is set if Command is the Entry Point command, which opens an Activity.
	EntryPoint bool
	// Button is the custom ID of the button that was pressed under On.
	Button string
	// On is the message with the button. If it has no ID, the server adds it as a message from a year ago.
	On *Message

	// UserID and ChannelID get a new value if they are empty.
	UserID    string
	ChannelID string
	// GuildID is empty in a private chat with the bot.
	GuildID     string
	Permissions int64 // of the user in the guild
	// Locale is the user's language; "" means "en-US".
	Locale string
	// UserInstalled is set if the user has installed the bot, and the guild has not.
	UserInstalled bool
	// ID and Token are empty, unless an earlier interaction is delivered again.
	ID, Token string
}

// Answer is the bot's answer to one interaction so far. It begins with a first response, which Discord accepts for only
// three seconds. The first response may defer the answer; the bot then sends it later, by an edit or a follow-up.
//
// Message is the message of the first response, in its current state.
type Answer struct {
	Message
	// Type is Discord's number for the kind of the first response.
	// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
	Type int
	// Deferred is set if the first response was deferred: it only announced an answer.
	Deferred bool
	// Followups are the other messages of the answer, in their current state.
	Followups []Message
	// First is the time from the interaction to the first response, and Final the time to the last call of
	// the answer.
	First, Final time.Duration
	// Callbacks is the number of first responses, including those that were refused because there was one.
	Callbacks int
	// Edits is the number of edits of the first response's message with the interaction's token.
	Edits int
}

// Pending is an interaction that was created, and its answer so far.
type Pending struct {
	ID, Token   string
	server      *Server
	interaction Interaction
	sent        time.Time
	// The server's lock guards the fields below.
	loading   bool      // the first response deferred a new message, which is still empty
	done      bool      // the answer is complete
	answer    Answer    // without its messages
	original  string    // ID of the message of the first response
	followups []string  // IDs of the other messages
	shown     []Message // every state of every message, in order
}

// How long Discord accepts a first response, and the other calls for an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	firstResponse = 3 * time.Second // the default of Server.FirstResponse
	tokenLife     = 15 * time.Minute
)

// Push sends an interaction over the gateway. It returns an error if the bot has no session.
func (s *Server) Push(i Interaction) (*Pending, error) {
	p, payload := s.create(i)
	return p, s.deliver(payload)
}

// PushLater makes an interaction now, and sends it when the caller calls deliver.
func (s *Server) PushLater(i Interaction) (p *Pending, deliver func() error) {
	p, payload := s.create(i)
	return p, func() error { return s.deliver(payload) }
}

// Press returns the interaction of a user who presses a button under the answer's message, in its current state.
// The message need not have a button with this custom ID, as in a forged press.
func (p *Pending) Press(userID, customID string) Interaction {
	message := p.Answer().Message
	i := p.interaction
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

// Answer returns the bot's answer so far.
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

// Wait blocks until the answer is complete or ctx is done. In either case, it returns the answer so far.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	err := p.server.Wait(ctx, func() bool { return locked(p.server, func() bool { return p.done }) })
	return p.Answer(), err
}

// Forget deletes the interaction and its messages, to limit the memory of a long run. The server refuses further
// calls with the interaction's token.
func (p *Pending) Forget() {
	p.server.Change(func() {
		delete(p.server.interactions, p.Token)
		for _, m := range p.shown {
			delete(p.server.messages, m.ID)
		}
	})
}

// create makes an interaction, and the payload that Discord sends to the bot.
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
		i.On = s.currentMessage(*i.On)
	}
	p := s.interactions[i.Token]
	if p == nil {
		p = &Pending{ID: i.ID, Token: i.Token, server: s, interaction: i, sent: time.Now()}
		s.interactions[i.Token] = p
	}
	return p, s.payload(i)
}

// currentMessage returns a message in its current state. It adds a message that is unknown. If m has no ID, the message
// is new and gets the ID of a message from a year ago. The caller must hold the lock.
func (s *Server) currentMessage(m Message) *Message {
	if m.ID == "" {
		m.ID = s.idAt(time.Now().AddDate(-1, 0, 0))
	}
	if s.messages[m.ID] == nil {
		s.messages[m.ID] = &m
	}
	current := *s.messages[m.ID]
	return &current
}

// payload returns the interaction as Discord sends it. The caller must hold the lock.
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

// owners returns who has installed the bot: the guild, "0" in a private chat with the bot, or the user.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-authorizing-integration-owners-object
func (i Interaction) owners() map[string]any {
	const guildInstall, userInstall = "0", "1"
	switch {
	case i.UserInstalled:
		return map[string]any{userInstall: i.UserID}
	case i.GuildID == "":
		return map[string]any{guildInstall: "0"}
	default:
		return map[string]any{guildInstall: i.GuildID}
	}
}

// data returns the part of the payload that depends on the kind of interaction.
func (i Interaction) data() map[string]any {
	if i.Button != "" {
		return map[string]any{"custom_id": i.Button, "component_type": 2, "id": 2}
	}
	data := map[string]any{"id": "1300000000000000001", "name": i.Command, "type": int(slashCommand)}
	if i.EntryPoint {
		data["type"] = int(entryPoint)
		return data
	}
	if i.Target != "" {
		data["type"] = int(discordgo.UserApplicationCommand)
		data["target_id"] = i.Target
		data["resolved"] = map[string]any{"users": map[string]any{i.Target: map[string]any{"id": i.Target}}}
		return data
	}
	options := []any{}
	for name, value := range i.Options {
		kind := int(discordgo.ApplicationCommandOptionString)
		options = append(options, map[string]any{"name": name, "type": kind, "value": value})
	}
	for name, value := range i.Users {
		kind := int(discordgo.ApplicationCommandOptionUser)
		options = append(options, map[string]any{"name": name, "type": kind, "value": value})
	}
	data["options"] = options
	return data
}

// Prepare makes an interaction that is sent by HTTP instead of the gateway. body is the body of the request, which the
// caller posts to the bot.
func (s *Server) Prepare(i Interaction) (p *Pending, body []byte) {
	p, payload := s.create(i)
	body, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return p, body
}

// Responded handles the body of the bot's response to a request whose body is from Prepare. It is the interaction's
// first response. It must be JSON, because Discord does not accept files above 150 kB there.
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
