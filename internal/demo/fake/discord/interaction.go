package discord

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Interaction is what somebody does with the bot: uses a command or, where Button is
// set, presses it. Empty IDs get values of their own; the zero GuildID is a private
// chat with the bot.
type Interaction struct {
	Command string
	Options map[string]string // string options by name
	Users   map[string]string // user options by name: user IDs
	// Target is the user whose context menu was used; Command is then the
	// menu's label.
	Target string
	// Button is the custom ID of the button that was pressed under On.
	Button string
	// On is a message that was shown here, or else one that the bot showed a year
	// ago.
	On *Message

	UserID      string
	GuildID     string
	ChannelID   string
	Permissions int64 // of the user in the guild
	// Locale is the user's language, "en-US" where it is empty.
	Locale string
	// UserInstalled tells that the bot is there because the user has it, and is
	// not a member of the guild.
	UserInstalled bool
	// ID and Token repeat an earlier interaction.
	ID, Token string
}

// Answer is what the bot has said to one interaction. Its Message is the one
// that the first response has shown or changed, as it is now.
type Answer struct {
	Message
	// Type is Discord's number for the kind of the first response.
	// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
	Type int
	// Deferred tells that the first response only promised an answer.
	Deferred bool
	// Followups are messages beside Message, as they are now.
	Followups []Message
	// First and Final are how long after the interaction the first response
	// and the whole answer came.
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

// How long Discord waits for the first response, and takes others.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	firstResponse = 3 * time.Second // Server.FirstResponse, unless a test changes it
	tokenLife     = 15 * time.Minute
)

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

// Press is the press of a button of the answer's message, as it is now, by a
// user. That the message has a button of that custom ID is not asked.
func (p *Pending) Press(userID, customID string) Interaction {
	i, message := p.interaction, p.Answer().Message
	i.ID, i.Token, i.Button, i.On, i.UserID = "", "", customID, &message, userID
	if userID != p.interaction.UserID {
		i.Permissions, i.Locale = 0, ""
	}
	return i
}

// Answer is what has been said so far.
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

// Shown is every state of every message that the answer has had, the oldest
// first.
func (p *Pending) Shown() []Message {
	return locked(p.server, func() []Message { return slices.Clone(p.shown) })
}

// Wait waits for the whole answer.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	err := p.server.Wait(ctx, func() bool { return locked(p.server, func() bool { return p.done }) })
	return p.Answer(), err
}

// Forget drops the interaction and its messages, so that a long run needs no
// more memory than a short one; its token is unknown from then on.
func (p *Pending) Forget() {
	p.server.Change(func() {
		delete(p.server.interactions, p.Token)
		for _, m := range p.shown {
			delete(p.server.messages, m.ID)
		}
	})
}

// create makes the interaction and what Discord sends of it.
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

// known is a message as it is now. One that was not shown here becomes known as
// one of last year. The caller holds mu.
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
		"id": i.ID, "application_id": s.ApplicationID, "type": kind, "token": i.Token, "version": 1,
		"channel_id": i.ChannelID, "locale": i.Locale, "app_permissions": "0", "entitlements": []any{},
		"attachment_size_limit": maxUpload, "data": i.data(), "authorizing_integration_owners": i.owners(),
	}
	if i.On != nil {
		payload["message"] = i.On.Payload(s.ApplicationID, i.ChannelID)
	}
	if i.GuildID == "" {
		payload["user"], payload["context"] = user, int(discordgo.InteractionContextBotDM)
		return payload
	}
	payload["guild_id"], payload["guild_locale"], payload["context"] = i.GuildID, "en-US", int(discordgo.InteractionContextGuild)
	payload["member"] = map[string]any{
		"user": user, "roles": []any{}, "joined_at": "2024-01-01T00:00:00Z",
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

// Post signs an interaction and posts it to the bot's address, as Discord does
// for a bot that takes interactions by HTTP. A response with status 200 is
// taken as the first response.
func (s *Server) Post(ctx context.Context, address string, i Interaction) (p *Pending, status int, err error) {
	p, body := s.Prepare(i)
	resp, err := s.PostRaw(ctx, address, body, time.Now())
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		err = p.Responded(resp.Body)
	}
	return p, resp.StatusCode, err
}

// Prepare makes an interaction for the caller to post.
func (s *Server) Prepare(i Interaction) (p *Pending, body []byte) {
	p, payload := s.create(i)
	body, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return p, body
}

// Send begins the time that the bot has, for one that was prepared before.
func (p *Pending) Send() { p.server.Change(func() { p.sent = time.Now() }) }

// Responded takes the body with which the bot answered a post as its first
// response. It is JSON: above 150 kB Discord does not take files there.
// https://github.com/discord/discord-api-docs/issues/5250
func (p *Pending) Responded(body io.Reader) error {
	var response any
	if err := json.NewDecoder(body).Decode(&response); err != nil {
		return fmt.Errorf("the first response: %w", err)
	}
	if refused := p.server.respond(p, response, nil); refused != nil {
		return fmt.Errorf("the first response: %s", refused.message)
	}
	return nil
}

// PostRaw signs body as of a time and posts it.
func (s *Server) PostRaw(ctx context.Context, address string, body []byte, at time.Time) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = s.Sign(body, at)
	return s.Client.Do(r)
}

// Sign makes the headers of a body that was sent at a time.
func (s *Server) Sign(body []byte, at time.Time) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signature := ed25519.Sign(s.privateKey, append([]byte(timestamp), body...))
	return http.Header{
		"Content-Type":          {"application/json"},
		"X-Signature-Timestamp": {timestamp},
		"X-Signature-Ed25519":   {hex.EncodeToString(signature)},
	}
}
