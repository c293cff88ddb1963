package telegram

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

// command is what an update asks of this bot, and where its answer goes.
type command struct {
	request chat.Request       // without an ID
	to      outbox.Destination // the chat of the command; Silent in groups
	// user is the ID of who asked; 0 if they speak as a chat. sender is the ID of that
	// chat, or else of the user.
	user, sender int64
	// ephemeral is the message to answer in the group for its user's eyes alone; zero if
	// everybody saw it.
	ephemeral botapi.EphemeralMessage
	// button is the state of the button that was pressed below the message to reply to;
	// nil if a message asked.
	button *chat.Press
	// text is the command and its words, as typed. It is the same for all who type the same.
	text string
	// private is set if only the user may read the answer.
	private bool
	// guessed is set if the message names no command, and answers no question of the bot's.
	guessed bool
}

// parse returns what an update asks, or nil if this bot has no answer to it.
func parse(u *update, me *models.User, h platform.Handler) *command {
	m := u.message()
	if m == nil || !isPrivate(&m.Chat) && !isGroup(&m.Chat) {
		return nil
	}
	var c *command
	switch {
	case u.Press != nil:
		c = parsePress(u.Press)
	case u.MyChatMember != nil:
		c = &command{request: chat.Request{Command: chat.HelloCommand}, text: chat.HelloCommand}
	default:
		c = parseMessage(m, me, h.Commands())
	}
	if c == nil || isPrivate(&m.Chat) && m.Chat.ID != c.user {
		return nil // A private chat belongs to one person.
	}
	// In a channel's direct messages each user has a topic, and the channel's administrators read all
	// of them. Telegram refuses a message without a topic.
	if m.Chat.IsDirectMessages && m.DirectMessagesTopic == nil && u.Press == nil {
		return nil
	}
	if c.request.Command == chat.JoinCommand && !isPrivate(&m.Chat) {
		return nil // Its buttons stand in private chats only, so this one is forged.
	}
	c.sender = cmp.Or(c.sender, c.user)
	c.to = destination(m)
	c.request.From = userOf(c.user)
	c.request.Chat = strconv.FormatInt(m.Chat.ID, 10)
	c.request.Direct = isPrivate(&m.Chat)
	if isGroup(&m.Chat) {
		c.request.Community = c.request.Chat
		if c.user != 0 {
			c.request.Role = chat.UnknownRole
		}
	}
	c.request.BotName = me.FirstName
	c.request.BotHandle = "@" + me.Username
	c.private = h.Visibility(c.request.Command) == chat.Private || c.ephemeral.Arrived()
	return c
}

// destination returns where a reply to m goes.
func destination(m *models.Message) outbox.Destination {
	to := outbox.Destination{Chat: m.Chat.ID, ReplyTo: m.ID, Silent: isGroup(&m.Chat)}
	if m.IsTopicMessage {
		// Elsewhere message_thread_id is a thread of replies, to which nothing can be
		// sent.
		to.Thread = m.MessageThreadID
	}
	if m.DirectMessagesTopic != nil {
		to.DirectTopic = m.DirectMessagesTopic.TopicID
	}
	return to
}

// parseMessage returns the command that m asks. It returns nil for messages by bots, forwards, and messages that name
// no command (commandName), unless one can be guessed in a private chat (guess).
func parseMessage(m *models.Message, me *models.User, commands chat.Commands) *command {
	if m.ForwardOrigin != nil || m.IsAutomaticForward || m.ViaBot != nil ||
		m.SenderChat == nil && (m.From == nil || m.From.IsBot) {
		return nil
	}
	text, entities := textOf(m)
	units := utf16.Encode([]rune(text))
	name, args, length := commandName(m, units, me, commands)
	guessed := false
	if name == "" && isPrivate(&m.Chat) {
		name, length = guess(m, units, me, commands)
		guessed = true
	}
	if name == "" {
		return nil
	}
	target, rest := mention(units, length, entities)
	if target == nil {
		target = repliedTo(m, me)
	}
	words := append(args, strings.Fields(rest)...)
	c := &command{text: strings.Join(append([]string{name}, words...), " "), guessed: guessed}
	if name == "start" {
		name, words = followLink(m, words, commands)
	}
	c.request.Command = name
	c.request.Args = chat.Typed(words...)
	c.request.Asked = time.Unix(int64(m.Date), 0)
	if target != nil {
		user := userOf(target.ID)
		c.request.Target = &user
		c.request.TargetName = nameOf(target)
	}
	c.setSender(m)
	return c
}

// commandName returns the command that m asks: the one typed first or after a mention of the bot, or
// else the one whose question m answers. args are the arguments that the question carried; length is
// where in the text the typed ones begin, in UTF-16 units. name is "" for another bot's command, for text in a
// private chat and, in a group, for an unknown command and for a reply to a question without a word like its argument.
func commandName(
	m *models.Message, units []uint16, me *models.User, commands chat.Commands,
) (name string, args []string, length int) {
	text, entities := textOf(m)
	typed := typedCommand(units, entities, me)
	if typed.suffix != "" && !typed.isFor(me) {
		return "", nil, 0
	}
	if !typed.isFor(me) {
		typed = typedWords{} // "@ann /price" is text about somebody else. It may still answer a question.
	}
	name = typed.name
	length = typed.end
	if name == "" && len(units) > 0 {
		name, args = askedFor(m.ReplyToMessage, me)
		asked, _ := commands.Find(name)
		params, _ := asked.Params()
		isArgument := len(chat.Meant(strings.Fields(text), params...)) > 0
		if isGroup(&m.Chat) && !isArgument {
			return "", nil, 0
		}
	}
	if _, known := commands.Find(name); !known && !isPrivate(&m.Chat) {
		return "", nil, 0
	}
	return name, args, length
}

// guess returns the command that a message in a private chat means if commandName finds none, and
// where its arguments begin. It takes a picture or the like as /start. It returns "" for another bot's
// command and for a message without any content.
func guess(m *models.Message, units []uint16, me *models.User, commands chat.Commands) (name string, length int) {
	text, entities := textOf(m)
	if typed := typedCommand(units, entities, me); typed.suffix != "" && !typed.isFor(me) {
		return "", 0
	}
	if len(units) == 0 && !hasAttachment(m) {
		return "", 0
	}
	if name = commands.Guess(text); name == "start" {
		length = len(units)
	}
	return name, length
}

// setSender sets who wrote m. Somebody who speaks as a chat has no user ID.
func (c *command) setSender(m *models.Message) {
	switch {
	case m.SenderChat == nil:
		c.user = m.From.ID
		c.request.Locale = m.From.LanguageCode
	case m.SenderChat.ID == m.Chat.ID: // an anonymous administrator
		c.sender = m.SenderChat.ID
		c.request.Role = chat.Moderator
	default:
		c.sender = m.SenderChat.ID
		c.request.LimitKey = strconv.FormatInt(m.SenderChat.ID, 10)
	}
	if m.From != nil {
		c.ephemeral = botapi.NewEphemeralMessage(m.Chat.ID, m.From.ID, m.EphemeralMessageID, "")
	}
	c.request.CanReplyEphemerally = c.ephemeral.Arrived()
}

// parsePress returns what the state of a button asks, or nil if the state is not of this
// version. Anybody can forge a state.
func parsePress(q *callbackQuery) *command {
	state, err := chat.ParseState(q.Data)
	if err != nil {
		return nil
	}
	return &command{
		request: chat.Request{
			Command:             state.Command,
			Args:                chat.Typed(state.Args...),
			Locale:              q.From.LanguageCode,
			CanReplyEphemerally: true,
		},
		user:      q.From.ID,
		ephemeral: botapi.NewEphemeralMessage(q.Message.Chat.ID, q.From.ID, q.Message.EphemeralMessageID, q.ID),
		button:    &state,
		text:      strings.Join(append([]string{state.Command}, state.Args...), " "),
	}
}

// oldButton returns a command without a name, for a press of a button whose state is not of this version. Its request
// has what decides in which language the press is answered.
func oldButton(q *callbackQuery) *command {
	c := &command{request: chat.Request{From: userOf(q.From.ID), Locale: q.From.LanguageCode}}
	if q.Message != nil && isGroup(&q.Message.Chat) {
		c.request.Community = strconv.FormatInt(q.Message.Chat.ID, 10)
	}
	return c
}

// parseInline returns requests for the Inline forms that a query means: of the commands
// whose names begin like it, or of the one for which it is the argument. A query comes
// with every letter typed, so an argument counts only once it is as long as its example.
func parseInline(query string, commands chat.Commands) (found []chat.Request) {
	written := strings.Fields(query)
	name := ""
	if len(written) > 0 {
		name = strings.ToLower(strings.TrimPrefix(written[0], "/"))
	}
	named, known := commands.Find(name)
	for _, c := range commands {
		isNamed := known && c.Name == named.Name
		isBegun := len(written) < 2 && (isNamed || strings.HasPrefix(c.Name, name))
		args := written
		if isNamed {
			args = written[1:]
		}
		for _, f := range c.Forms {
			switch {
			case !f.Inline:
			case len(f.Params) == 0 && isBegun:
				found = append(found, chat.Request{Command: c.Name, Args: chat.Typed()})
			case len(f.Params) > 0 && (isNamed || !known): // The query names this command, or none.
				found = append(found, completed(c.Name, f, args)...)
			}
		}
	}
	return found
}

// completed returns a request for a form if one of the words is its argument, as long as its example.
func completed(command string, f chat.Form, words []string) []chat.Request {
	args := chat.Meant(words, f.Params...)
	if len(args) != 1 || len(args[0]) != len(f.Params[0].Example) {
		return nil
	}
	return []chat.Request{{Command: command, Args: chat.Typed(args...)}}
}

// linkPayload returns the payload of a deep link to a command with arguments.
func linkPayload(command string, args ...string) string {
	return strings.Join(append([]string{command}, args...), "_")
}

// readPayload returns the command and the arguments in a linkPayload.
func readPayload(payload string) (command string, args []string) {
	words := strings.Split(payload, "_")
	return words[0], words[1:]
}

// followLink returns the command that words, the payload of a deep link after /start,
// name: a private command without arguments, unless it has NoDeepLink, or
// chat.JoinCommand with a group, or else start.
func followLink(m *models.Message, words []string, commands chat.Commands) (name string, args []string) {
	if isPrivate(&m.Chat) && len(words) == 1 {
		if name, args = readPayload(words[0]); name == chat.JoinCommand && len(args) == 1 {
			return name, args
		}
		if linked, known := commands.Find(words[0]); known && linked.Visibility == chat.Private && !linked.NoDeepLink {
			return linked.Name, nil
		}
	}
	return "start", nil
}

// typedWords are a bot command at the beginning of a text.
type typedWords struct {
	name string // in lower case; "" is no command
	// suffix is the username after the command's @. mentioned is the one of a mention before the
	// command. Each is "" if there is none.
	suffix, mentioned string
	end               int // of the command in the text, in UTF-16 units
}

// isFor reports whether the command is addressed to a bot, or to any.
func (w *typedWords) isFor(bot *models.User) bool {
	addressee := cmp.Or(w.suffix, w.mentioned)
	return addressee == "" || strings.EqualFold(addressee, bot.Username)
}

// typedCommand returns the bot command at the very beginning of a text, or after one mention there.
func typedCommand(units []uint16, entities []models.MessageEntity, me *models.User) (w typedWords) {
	begin := 0
	for _, e := range entities {
		if e.Offset != 0 || !within(&e, units) {
			continue
		}
		switch {
		case e.Type == models.MessageEntityTypeMention && units[0] == '@':
			w.mentioned = string(utf16.Decode(units[1:e.Length]))
			begin = e.Length
		case e.Type == models.MessageEntityTypeTextMention && e.User != nil && e.User.ID == me.ID:
			w.mentioned = me.Username
			begin = e.Length
		}
	}
	for begin > 0 && begin < len(units) && strings.ContainsRune(" \n\u00a0,:", rune(units[begin])) {
		begin++
	}
	for _, e := range entities {
		if e.Type != models.MessageEntityTypeBotCommand || e.Offset != begin || !within(&e, units) || units[begin] != '/' {
			continue
		}
		w.end = e.Offset + e.Length
		w.name, w.suffix, _ = strings.Cut(string(utf16.Decode(units[begin+1:w.end])), "@")
		w.name = strings.ToLower(w.name)
		return w
	}
	return typedWords{}
}

// namesAnotherBot reports whether m, which may be nil, has a known command for a bot with another
// username.
func namesAnotherBot(m *models.Message, me *models.User, commands chat.Commands) bool {
	if m == nil {
		return false
	}
	text, entities := textOf(m)
	if !strings.Contains(text, "@") { // as most commands
		return false
	}
	typed := typedCommand(utf16.Encode([]rune(text)), entities, me)
	_, known := commands.Find(typed.name)
	return known && !typed.isFor(me)
}

// askedFor returns the command for which a message of this bot asked an argument, or "", and
// the arguments before that one. Questions are not stored. A link below their first,
// invisible character names the command, and Telegram quotes the entities in a reply. A link
// in another sender's message does not count, and untrusted text never becomes a link in one
// of this bot's.
func askedFor(m *models.Message, me *models.User) (command string, args []string) {
	if m == nil || m.From == nil || m.From.ID != me.ID {
		return "", nil
	}
	for _, e := range m.Entities {
		if e.Type != models.MessageEntityTypeTextLink || e.Offset != 0 {
			continue
		}
		// The bot may have asked under another name.
		bot, asked, is := strings.Cut(e.URL, "?start="+askPayload)
		if is && strings.HasPrefix(bot, "https://t.me/") {
			return readPayload(asked)
		}
	}
	return "", nil
}

// mention returns the first person mentioned without a username after the command, or nil,
// and the text after the command without that mention. A mention by username stays a
// word: Telegram gives bots no ID for it.
func mention(units []uint16, from int, entities []models.MessageEntity) (*models.User, string) {
	for _, e := range entities {
		if e.Type != models.MessageEntityTypeTextMention || e.User == nil || !within(&e, units) || e.Offset < from {
			continue
		}
		return e.User, string(utf16.Decode(slices.Concat(units[from:e.Offset], []uint16{' '}, units[e.Offset+e.Length:])))
	}
	return nil, string(utf16.Decode(units[from:]))
}

// repliedTo returns the person whose message m answers; with ID 0, one who spoke as a
// chat. It returns nil if m is no reply or answers this bot. It also returns nil where
// Telegram makes every message a reply: to the first message of a topic, and to the
// channel's forwarded post.
func repliedTo(m *models.Message, me *models.User) *models.User {
	r := m.ReplyToMessage
	if r == nil || r.IsAutomaticForward || r.ForumTopicCreated != nil || m.IsTopicMessage && r.ID == m.MessageThreadID {
		return nil
	}
	if r.SenderChat != nil || r.From == nil {
		return &models.User{}
	}
	if r.From.ID == me.ID {
		return nil
	}
	return r.From
}

// userOf returns the user with an ID; 0 is somebody whose identity is withheld.
func userOf(id int64) chat.User {
	if id <= 0 {
		return chat.User{Platform: Platform}
	}
	return chat.User{Platform: Platform, ID: strconv.FormatInt(id, 10)}
}
