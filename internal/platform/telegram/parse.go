package telegram

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// destination is where a message goes.
type destination struct {
	chat    int64
	group   bool
	thread  int64 // 0 outside topics
	replyTo int64 // 0 is no reply
	edits   int64 // the message that is replaced; 0 is a new one
	unclear int   // how many times what is sent there may be out already
	// language is that of what everybody there can read.
	language chat.Language
}

// commandMessage is a command for this bot: typed, written in reply to a
// question of the bot's, or asked by a button.
type commandMessage struct {
	request chat.Request // without an ID
	// typed is the command and its words, the same for all who typed the same.
	typed   string
	private bool // what is answered is for the asker alone
	// ephemeral is how they may be answered in the group.
	ephemeral ephemeral
	// asked is where the command stands.
	asked destination
	// sender is 0 if Telegram withholds who asked.
	sender int64
	// linkable is a request that a deep link can repeat.
	linkable bool
}

// parse finds the command that m begins with, or for which it is the argument
// that the bot asked for. It returns false for everything that this bot has no
// answer to: other bots' commands, messages by bots, forwards, and commands in
// groups that nobody here knows.
func parse(m *message, me botapi.User, commands chat.Commands) (c commandMessage, ours bool) {
	if m.ForwardOrigin != nil || m.ViaBot != nil || !m.Chat.private() && !m.Chat.group() {
		return commandMessage{}, false
	}
	if m.SenderChat == nil && (m.From == nil || m.From.IsBot) {
		return commandMessage{}, false
	}
	units := utf16.Encode([]rune(m.Text))
	name, suffix, length := commandAt(units, m.Entities)
	if name == "" && len(units) > 0 {
		name = askedFor(m.ReplyTo, me)
	}
	if name == "" || suffix != "" && !strings.EqualFold(suffix, me.Username) {
		return commandMessage{}, false
	}
	command, known := commands.Find(name)
	if !known && !m.Chat.private() {
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
	var locale string
	if m.SenderChat == nil {
		c.sender, locale = m.From.ID, m.From.Language
	}
	c.request = requestIn(m.Chat, c.sender, locale)
	c.request.Command, c.request.Args = name, chat.Typed(words...)
	if m.SenderChat != nil {
		c.request.Role = chat.Member
		if m.SenderChat.ID == m.Chat.ID { // an anonymous administrator
			c.request.Role = chat.Moderator
		}
	}
	if target != nil {
		user := userOf(target.ID)
		c.request.Target, c.request.TargetName = &user, target.name()
	}
	if name == "start" {
		c.followLink(commands, words)
	}
	c.linkable = c.private && c.request.Args.Len() == 0 && target == nil
	if m.From != nil {
		c.ephemeral = ephemeralOf(m, m.From.ID)
	}
	c.private = c.private || c.ephemeral.arrived()
	c.request.CanReplyEphemerally = c.ephemeral.arrived()
	return c, true
}

// requestIn is a request without what is asked; a sender of 0 is withheld.
func requestIn(where tgChat, sender int64, locale string) chat.Request {
	req := chat.Request{
		From:      userOf(sender),
		Chat:      strconv.FormatInt(where.ID, 10),
		ChatTitle: where.Title,
		Direct:    where.private(),
		Locale:    locale,
		Role:      chat.Member,
	}
	if where.group() {
		req.Community, req.Role = req.Chat, chat.UnknownRole
	}
	return req
}

// followLink reads what stands after /start: a deep link's payload, which
// nobody typed. The name of a private command is that command without
// arguments; any other payload says nothing to this bot.
func (c *commandMessage) followLink(commands chat.Commands, words []string) {
	c.request.Args = chat.Typed()
	if !c.request.Direct || len(words) != 1 {
		return
	}
	if linked, known := commands.Find(words[0]); known && linked.Visibility == chat.Private {
		c.request.Command, c.private = linked.Name, true
	}
}

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

// mention is the first person mentioned without a username after the command,
// and the text after the command without that mention. A mention by username
// stays a word: Telegram gives bots no ID for it.
func mention(units []uint16, from int, entities []entity) (*tgUser, string) {
	for _, e := range entities {
		if e.Type != "text_mention" || e.User == nil || !e.within(units) || e.Offset < from {
			continue
		}
		before, after := units[from:e.Offset], units[e.Offset+e.Length:]
		return e.User, string(utf16.Decode(before)) + " " + string(utf16.Decode(after))
	}
	return nil, string(utf16.Decode(units[from:]))
}

// repliedTo is the person whose message m answers. The message that opened a
// topic is answered by everything in it and means nobody; so does this bot's
// own message. Who spoke as a chat has no ID.
func repliedTo(m *message, me botapi.User) *tgUser {
	r := m.ReplyTo
	if r == nil || r.TopicCreated != nil || m.InTopic && r.ID == m.Thread {
		return nil
	}
	if r.SenderChat != nil || r.From == nil {
		return &tgUser{}
	}
	if r.From.ID == me.ID {
		return nil
	}
	return r.From
}

// userOf names a person; 0 is one whose identity is withheld.
func userOf(id int64) chat.User {
	if id <= 0 {
		return chat.User{Platform: Platform}
	}
	return chat.User{Platform: Platform, ID: strconv.FormatInt(id, 10)}
}
