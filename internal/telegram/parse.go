package telegram

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"herald/internal/chat"
	"herald/internal/telegram/botapi"
)

// update and the types below hold the fields of
// https://core.telegram.org/bots/api#update that are read here and no more, so
// that a kind of message that is newer than this program still decodes.
type update struct {
	ID      int64    `json:"update_id"`
	Message *message `json:"message"`
}

// decode reads one update. Its ID is there even if the rest is not of the
// expected form, so that it can be acknowledged.
func decode(raw []byte) (update, error) {
	var u update
	err := json.Unmarshal(raw, &u)
	if err != nil {
		u.Message = nil // It may be there in part.
	}
	return u, err
}

// updateID reads an update's ID alone; 0 is none. Telegram writes it first, in
// which case the rest is not looked at.
func updateID(raw []byte) int64 {
	if rest, first := bytes.CutPrefix(raw, []byte(`{"update_id":`)); first {
		digits, _, _ := bytes.Cut(rest[:min(len(rest), 20)], []byte(","))
		if id, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
			return id
		}
	}
	u, _ := decode(raw)
	return u.ID
}

type message struct {
	ID            int64     `json:"message_id"`
	Thread        int64     `json:"message_thread_id"`
	InTopic       bool      `json:"is_topic_message"`
	From          *tgUser   `json:"from"`
	SenderChat    *tgChat   `json:"sender_chat"`
	Chat          tgChat    `json:"chat"`
	ForwardOrigin *struct{} `json:"forward_origin"`
	ViaBot        *struct{} `json:"via_bot"`
	ReplyTo       *message  `json:"reply_to_message"`
	TopicCreated  *struct{} `json:"forum_topic_created"`
	Text          string    `json:"text"`
	Entities      []entity  `json:"entities"`
}

type tgUser struct {
	ID    int64 `json:"id"`
	IsBot bool  `json:"is_bot"`
}

type tgChat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

func (c tgChat) private() bool { return c.Type == "private" }

func (c tgChat) group() bool { return c.Type == "group" || c.Type == "supergroup" }

// entity marks a span of a text, counted in UTF-16 units. Its bounds are the
// sender's claim.
type entity struct {
	Type   string  `json:"type"`
	Offset int     `json:"offset"`
	Length int     `json:"length"`
	User   *tgUser `json:"user"`
}

// destination is where a message goes.
type destination struct {
	chat    int64
	group   bool
	thread  int64 // 0 outside topics
	replyTo int64 // 0 is no reply
}

// commandMessage is a message that holds a command for this bot.
type commandMessage struct {
	request chat.Request // without an ID
	// typed is the command and its words, the same for all who typed the same.
	typed   string
	private bool // what is answered is for the asker alone
	// asked is where the command stands.
	asked destination
	// sender is 0 if Telegram withholds who asked.
	sender int64
	// linkable is a request that a deep link can repeat.
	linkable bool
}

// parse finds the command that m begins with. It returns false for everything
// that this bot has no answer to: other bots' commands, messages by bots,
// forwards, and commands in groups that nobody here knows.
func parse(m *message, me botapi.User, commands chat.Commands) (c commandMessage, ours bool) {
	if m.ForwardOrigin != nil || m.ViaBot != nil || !m.Chat.private() && !m.Chat.group() {
		return commandMessage{}, false
	}
	if m.SenderChat == nil && (m.From == nil || m.From.IsBot) {
		return commandMessage{}, false
	}
	units := utf16.Encode([]rune(m.Text))
	name, suffix, length := commandAt(units, m.Entities)
	if name == "" || suffix != "" && !strings.EqualFold(suffix, me.Username) {
		return commandMessage{}, false
	}
	command, known := commands.Find(name)
	if !known && suffix == "" && !m.Chat.private() {
		return commandMessage{}, false
	}
	target, rest := mention(units, length, m.Entities)
	if target == nil {
		target = repliedTo(m, me)
	}
	words := strings.Fields(rest)
	c = commandMessage{
		typed:   strings.Join(append([]string{name}, words...), " "),
		asked:   destinationOf(m),
		private: command.Visibility == chat.Private,
	}
	if m.SenderChat == nil {
		c.sender = m.From.ID
	}
	c.request = chat.Request{
		Command: name,
		Args:    chat.Typed(words...),
		From:    userOf(c.sender),
		Role:    roleOf(m),
		Target:  target,
		Chat:    strconv.FormatInt(m.Chat.ID, 10),
		Direct:  m.Chat.private(),
	}
	if m.Chat.group() {
		c.request.Community = c.request.Chat
	}
	if name == "start" {
		c.followLink(commands, words)
	}
	c.linkable = hasBareForm(command) && c.request.Args.Len() == 0 && target == nil
	return c, true
}

// roleOf is the sender's role as far as a message shows it. One who speaks as
// the group itself is an anonymous administrator.
func roleOf(m *message) chat.Role {
	switch {
	case m.SenderChat != nil && m.SenderChat.ID == m.Chat.ID:
		return chat.Moderator
	case m.SenderChat == nil && m.Chat.group():
		return chat.UnknownRole
	}
	return chat.Member
}

// followLink reads what stands after /start: a deep link's payload, which
// nobody typed. The name of a private command that needs no arguments is that
// command; any other payload says nothing to this bot.
func (c *commandMessage) followLink(commands chat.Commands, words []string) {
	c.request.Args = chat.Typed()
	if !c.request.Direct || len(words) != 1 {
		return
	}
	linked, known := commands.Find(words[0])
	if known && linked.Visibility == chat.Private && hasBareForm(linked) {
		c.request.Command, c.private = linked.Name, true
	}
}

func hasBareForm(c chat.Command) bool { return slices.ContainsFunc(c.Forms, chat.Form.Bare) }

func destinationOf(m *message) destination {
	d := destination{chat: m.Chat.ID, group: m.Chat.group(), replyTo: m.ID}
	// Outside of topics message_thread_id is a thread of replies, to which
	// nothing can be sent.
	if m.InTopic {
		d.thread = m.Thread
	}
	return d
}

// commandAt is the bot command at the very beginning of a text, its name in
// lower case, what stands after its @, and its length in UTF-16 units.
func commandAt(units []uint16, entities []entity) (name, suffix string, length int) {
	for _, e := range entities {
		if e.Type != "bot_command" || e.Offset != 0 || !e.within(units) || units[0] != '/' {
			continue
		}
		name, suffix, _ = strings.Cut(string(utf16.Decode(units[1:e.Length])), "@")
		return strings.ToLower(name), suffix, e.Length
	}
	return "", "", 0
}

// within reports whether e marks a span of units that is there.
func (e entity) within(units []uint16) bool {
	return e.Offset >= 0 && e.Length > 0 && e.Offset <= len(units) && e.Length <= len(units)-e.Offset
}

// mention is the first person mentioned without a username after the command,
// and the text after the command without that mention. A mention by username
// stays a word: Telegram gives bots no ID for it.
func mention(units []uint16, from int, entities []entity) (*chat.User, string) {
	for _, e := range entities {
		if e.Type != "text_mention" || e.User == nil || !e.within(units) || e.Offset < from {
			continue
		}
		before, after := units[from:e.Offset], units[e.Offset+e.Length:]
		user := userOf(e.User.ID)
		return &user, string(utf16.Decode(before)) + " " + string(utf16.Decode(after))
	}
	return nil, string(utf16.Decode(units[from:]))
}

// repliedTo is the person whose message m answers. The message that opened a
// topic is answered by everything in it and means nobody; so does this bot's
// own message.
func repliedTo(m *message, me botapi.User) *chat.User {
	r := m.ReplyTo
	if r == nil || r.TopicCreated != nil || m.InTopic && r.ID == m.Thread {
		return nil
	}
	if r.SenderChat != nil || r.From == nil {
		return &chat.User{Platform: Platform}
	}
	if r.From.ID == me.ID {
		return nil
	}
	user := userOf(r.From.ID)
	return &user
}

// userOf names a person; 0 is one whose identity is withheld.
func userOf(id int64) chat.User {
	if id <= 0 {
		return chat.User{Platform: Platform}
	}
	return chat.User{Platform: Platform, ID: strconv.FormatInt(id, 10)}
}
