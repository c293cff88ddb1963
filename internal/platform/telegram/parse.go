package telegram

import (
	"cmp"
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
	// user is the ID of the user who asked; 0 if they speak as a chat.
	user int64
	// sender is the ID of the chat as which the user speaks, or else the same as user.
	sender int64
	// ephemeral is the ephemeral message to answer in the group, so that only its user can read the answer; zero if
	// everybody saw the command.
	ephemeral botapi.EphemeralMessage
	// button is the state of the pressed button, or nil if the command came in a message. The button is below the message
	// to reply to.
	button *chat.Press
	// text is the command and its words, as typed. Equal commands have equal texts.
	text string
	// private is set if only the user may read the answer.
	private bool
	// guessed is set if the message does not name a command, and does not answer a question of the bot.
	guessed bool
}

// parse returns the command of an update, or nil if this bot has no answer to it. me is this bot.
func parse(u *update, me *models.User, h platform.Handler) *command {
	m := u.message()
	if m == nil {
		return nil
	}
	isInChannel := !isPrivate(&m.Chat) && !isGroup(&m.Chat)
	if isInChannel {
		return nil
	}
	c := commandOf(u, m, me, h.Commands())
	if c == nil || !c.isAnswerable(u, m) {
		return nil
	}
	c.setChat(m)
	c.request.BotName = me.FirstName
	c.request.BotHandle = "@" + me.Username
	c.private = h.Visibility(c.request.Command) == chat.Private || c.ephemeral.Arrived()
	return c
}

// commandOf returns the command of an update without the fields about its chat, or nil. m is the update's message.
func commandOf(u *update, m *models.Message, me *models.User, commands chat.Commands) *command {
	switch {
	case u.Press != nil:
		return parsePress(u.Press)
	case u.MyChatMember != nil:
		return &command{request: chat.Request{Command: chat.HelloCommand}, text: chat.HelloCommand}
	}
	return parseMessage(m, me, commands)
}

// isAnswerable reports whether the command can come from the chat of m, and can be answered there.
func (c *command) isAnswerable(u *update, m *models.Message) bool {
	inPrivate := isPrivate(&m.Chat)
	switch {
	case inPrivate && m.Chat.ID != c.user:
		return false // A private chat belongs to one user.
	case m.Chat.IsDirectMessages && m.DirectMessagesTopic == nil && u.Press == nil:
		// In a channel's direct messages each user has a topic, and the channel's administrators read all
		// of them. Telegram refuses a message without a topic.
		return false
	case c.request.Command == chat.JoinCommand && !inPrivate:
		return false // The bot sends its buttons only to private chats, so this one is forged.
	}
	return true
}

// setChat sets the fields about the chat of m, and about the sender there.
func (c *command) setChat(m *models.Message) {
	c.sender = cmp.Or(c.sender, c.user)
	c.to = destination(m)
	c.request.From = userOf(c.user)
	c.request.Chat = strconv.FormatInt(m.Chat.ID, 10)
	c.request.Direct = isPrivate(&m.Chat)
	if c.request.Direct {
		return
	}
	c.request.Community = c.request.Chat
	if c.user != 0 {
		c.request.Role = chat.UnknownRole
	}
}

// destination returns where a reply to m goes.
func destination(m *models.Message) outbox.Destination {
	to := outbox.Destination{Chat: m.Chat.ID, ReplyTo: m.ID, Silent: isGroup(&m.Chat)}
	if m.IsTopicMessage {
		// Outside topics, message_thread_id is a thread of replies, and Telegram refuses messages to it.
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
	isForward := m.ForwardOrigin != nil || m.IsAutomaticForward
	isByBot := m.SenderChat == nil && (m.From == nil || m.From.IsBot)
	if isForward || isByBot || m.ViaBot != nil {
		return nil
	}
	text, entities := textOf(m)
	units := utf16.Encode([]rune(text))
	name, earlier, argsAt := commandName(m, units, me, commands)
	isNamed := name != ""
	if !isNamed && isPrivate(&m.Chat) {
		name, argsAt = guess(m, units, me, commands)
	}
	if name == "" {
		return nil
	}
	target, rest := cutMention(units, argsAt, entities)
	if target == nil {
		target = repliedTo(m, me)
	}
	words := append(earlier, strings.Fields(rest)...)
	c := &command{text: strings.Join(append([]string{name}, words...), " "), guessed: !isNamed}
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

// commandName returns the command that m names: the one typed first or after a mention of the bot, or else the one
// whose question m answers. earlier are the arguments that the question carried. argsAt is where in the text the typed
// arguments begin, in UTF-16 units. name is "" for:
//
//   - a command for another bot, such as /price@OtherBot,
//   - a text that does not answer a question,
//   - in a group, an answer to a question without a word like the question's argument,
//   - in a group, an unknown command.
func commandName(
	m *models.Message, units []uint16, me *models.User, commands chat.Commands,
) (name string, earlier []string, argsAt int) {
	text, entities := textOf(m)
	typed := leadingCommand(units, entities, me)
	if typed.namesAnotherBot(me) {
		return "", nil, 0
	}
	if !typed.isFor(me) {
		typed = typedCommand{} // "@ann /price" is text about somebody else. It may still answer a question.
	}
	name = typed.name
	argsAt = typed.end
	if name == "" && len(units) > 0 {
		name, earlier = askedFor(m.ReplyToMessage, me)
		if isGroup(&m.Chat) && !hasArgument(text, name, commands) {
			return "", nil, 0
		}
	}
	_, known := commands.Find(name)
	if !known && isGroup(&m.Chat) {
		return "", nil, 0
	}
	return name, earlier, argsAt
}

// hasArgument reports whether a word of the text is like an argument of the command.
func hasArgument(text, command string, commands chat.Commands) bool {
	asked, _ := commands.Find(command)
	params, _ := asked.Params()
	return len(chat.Meant(strings.Fields(text), params...)) > 0
}

// guess returns the command that a message in a private chat means if commandName finds none, and where in the text the
// arguments begin, in UTF-16 units. A picture or the like without text means /start. guess returns "" for another bot's
// command and for a message without any content.
func guess(m *models.Message, units []uint16, me *models.User, commands chat.Commands) (name string, argsAt int) {
	text, entities := textOf(m)
	typed := leadingCommand(units, entities, me)
	if typed.namesAnotherBot(me) {
		return "", 0
	}
	if len(units) == 0 && !hasAttachment(m) {
		return "", 0
	}
	name = commands.Guess(text)
	if name == "start" { // No word of the text is an argument.
		return name, len(units)
	}
	return name, 0
}

// setSender sets the fields about the sender of m. A sender who speaks as a chat has no user ID.
func (c *command) setSender(m *models.Message) {
	switch {
	case m.SenderChat == nil:
		c.user = m.From.ID
		c.request.Locale = m.From.LanguageCode
	case m.SenderChat.ID == m.Chat.ID: // an anonymous administrator
		c.sender = m.SenderChat.ID
		c.request.Role = chat.Moderator
	default: // a channel, or a user who speaks as one
		c.sender = m.SenderChat.ID
		c.request.LimitKey = strconv.FormatInt(m.SenderChat.ID, 10)
	}
	if m.From != nil {
		c.ephemeral = botapi.NewEphemeralMessage(m.Chat.ID, m.From.ID, m.EphemeralMessageID, "")
	}
	c.request.CanReplyEphemerally = c.ephemeral.Arrived()
}

// parsePress returns the command of a button, or nil if the button's state is not of this version. Anybody can forge a
// state.
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
// has only the fields that decide in which language the press is answered.
func oldButton(q *callbackQuery) *command {
	c := &command{request: chat.Request{From: userOf(q.From.ID), Locale: q.From.LanguageCode}}
	if q.Message != nil && isGroup(&q.Message.Chat) {
		c.request.Community = strconv.FormatInt(q.Message.Chat.ID, 10)
	}
	return c
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

// followLink returns the command that /start with these words runs. In a private chat, a single word may be the payload
// of a deep link. Such a link leads to chat.JoinCommand with a group, or to a private command without arguments, unless
// the command has NoDeepLink. Any other words mean start.
func followLink(m *models.Message, words []string, commands chat.Commands) (name string, args []string) {
	if !isPrivate(&m.Chat) || len(words) != 1 {
		return "start", nil
	}
	name, args = readPayload(words[0])
	if name == chat.JoinCommand && len(args) == 1 {
		return name, args
	}
	linked, known := commands.Find(words[0])
	if known && linked.Visibility == chat.Private && !linked.NoDeepLink {
		return linked.Name, nil
	}
	return "start", nil
}

// askedFor returns the command and the arguments that a user has sent already, if m, a message of this bot, asks for
// the next argument. It returns "" if m is not such a question.
//
// Questions are not stored. The first character of a question is invisible and has a link that names the command. An
// update with a reply includes the question and its link. Nobody can forge the link: only a message of this bot counts,
// and untrusted text never becomes a link in it.
func askedFor(m *models.Message, me *models.User) (command string, args []string) {
	if m == nil || m.From == nil || m.From.ID != me.ID {
		return "", nil
	}
	for _, e := range m.Entities {
		if e.Type != models.MessageEntityTypeTextLink || e.Offset != 0 {
			continue
		}
		// The link may have an earlier name of the bot.
		bot, payload, isQuestion := strings.Cut(e.URL, "?start="+askPayload)
		if isQuestion && strings.HasPrefix(bot, "https://t.me/") {
			return readPayload(payload)
		}
	}
	return "", nil
}

// repliedTo returns the user whose message m replies to, or nil. The user has the ID 0 if they spoke as a chat. A
// message of this bot does not count, and neither do replies that Telegram makes of all messages: to the first message
// of a topic, and to a channel's forwarded post.
func repliedTo(m *models.Message, me *models.User) *models.User {
	r := m.ReplyToMessage
	if r == nil {
		return nil
	}
	startsTopic := r.ForumTopicCreated != nil || (m.IsTopicMessage && r.ID == m.MessageThreadID)
	if startsTopic || r.IsAutomaticForward {
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
