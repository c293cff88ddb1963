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
	"herald/internal/platform/telegram/botapi"
)

// command is what an update asks of this bot, and where its answer goes.
type command struct {
	request chat.Request       // without an ID
	to      botapi.Destination // the chat in which it was asked; Silent in groups
	// user is who asked; 0 is somebody who speaks as a chat. sender is the ID of that
	// chat or of the user.
	user, sender int64
	// ephemeral is the message that can be answered in the group for its user's eyes
	// alone; zero if everybody saw it.
	ephemeral botapi.EphemeralMessage
	// press is the button that was pressed below the message to reply to; nil is a
	// message.
	press *chat.Press
	// text is the command and its words, the same for all who ask the same.
	text string
	// private is set if the answer is for its user alone.
	private bool
}

// parse finds what a message or a press asks. It returns false for everything that
// this bot has no answer to.
func parse(u update, me *models.User, commands chat.Commands) (c command, ours bool) {
	m := u.message()
	if m == nil || !m.Chat.private() && !m.Chat.group() {
		return command{}, false
	}
	if u.Press != nil {
		c, ours = parsePress(u.Press)
	} else {
		c, ours = parseMessage(m, me, commands)
	}
	if !ours || m.Chat.private() && m.Chat.ID != c.user {
		return command{}, false // A private chat belongs to one person.
	}
	c.sender = cmp.Or(c.sender, c.user)
	c.to = botapi.Destination{Chat: m.Chat.ID, ReplyTo: m.ID, Silent: m.Chat.group()}
	if m.InTopic {
		// Elsewhere message_thread_id is a thread of replies, to which nothing can be
		// sent.
		c.to.Thread = m.Thread
	}
	c.request.From = userOf(c.user)
	c.request.Chat = strconv.FormatInt(m.Chat.ID, 10)
	c.request.Direct = m.Chat.private()
	if m.Chat.group() {
		c.request.Community = c.request.Chat
		if c.user != 0 {
			c.request.Role = chat.UnknownRole
		}
	}
	c.request.BotName = me.FirstName
	asked, _ := commands.Find(c.request.Command)
	c.private = asked.Visibility == chat.Private || c.ephemeral.Arrived()
	return c, true
}

// parseMessage finds the command that m begins with, or for which m is the argument
// that the bot asked for. It ignores other bots' commands, messages by bots,
// forwards, and in groups commands that nobody here knows, and replies to a question
// without a word like its argument. In a private chat it guesses at any other text, and
// takes a picture or the like as /start.
func parseMessage(m *message, me *models.User, commands chat.Commands) (c command, ours bool) {
	if m.ForwardOrigin != nil || m.AutoForward || m.ViaBot != nil || m.SenderChat == nil && (m.From == nil || m.From.IsBot) {
		return command{}, false
	}
	units := utf16.Encode([]rune(m.Text))
	name, suffix, length := commandAt(units, m.Entities)
	if name == "" && len(units) > 0 {
		name = askedFor(m.ReplyTo, me)
		asked, _ := commands.Find(name)
		if params, _ := asked.Params(); m.Chat.group() && len(chat.Meant(strings.Fields(m.Text), params...)) == 0 {
			return command{}, false
		}
	}
	if name == "" && m.Chat.private() && (len(units) > 0 || m.attachments != attachments{}) {
		if name = commands.Guess(m.Text); name == "start" {
			length = len(units)
		}
	}
	_, known := commands.Find(name)
	if name == "" || suffix != "" && !strings.EqualFold(suffix, me.Username) || !known && !m.Chat.private() {
		return command{}, false
	}
	target, rest := mention(units, length, m.Entities)
	if target == nil {
		target = repliedTo(m, me)
	}
	words := strings.Fields(rest)
	c.text = strings.Join(append([]string{name}, words...), " ")
	if name == "start" {
		name, words = followLink(m, words, commands)
	}
	c.request.Command, c.request.Args = name, chat.Typed(words...)
	c.request.Asked = time.Unix(m.Date, 0)
	if target != nil {
		user := userOf(target.ID)
		c.request.Target, c.request.TargetName = &user, target.name()
	}
	switch {
	case m.SenderChat == nil:
		c.user, c.request.Locale = m.From.ID, m.From.Language
	case m.SenderChat.ID == m.Chat.ID: // an anonymous administrator
		c.request.Role = chat.Moderator
	default:
		c.request.LimitKey = strconv.FormatInt(m.SenderChat.ID, 10)
	}
	if m.SenderChat != nil {
		c.sender = m.SenderChat.ID
	}
	if m.From != nil {
		c.ephemeral = botapi.NewEphemeralMessage(m.Chat.ID, m.From.ID, m.EphemeralID, "")
	}
	c.request.CanReplyEphemerally = c.ephemeral.Arrived()
	return c, true
}

// parsePress reads the state of a button below a message. Anybody can press with any
// state.
func parsePress(q *callbackQuery) (c command, ours bool) {
	state, err := chat.ParseState(q.Data)
	if err != nil {
		return command{}, false
	}
	return command{
		request: chat.Request{
			Command: state.Command, Args: chat.Typed(state.Args...), Locale: q.From.Language, CanReplyEphemerally: true,
		},
		user:      q.From.ID,
		ephemeral: botapi.NewEphemeralMessage(q.Message.Chat.ID, q.From.ID, q.Message.EphemeralID, q.ID),
		press:     &state,
		text:      strings.Join(append([]string{state.Command}, state.Args...), " "),
	}, true
}

// parseInline finds the commands that an inline query means: those inline that
// begin like it, or the one for which it is the argument. A query comes with every
// letter that is typed, so an argument counts only once it is as long as its
// example.
func parseInline(query string, commands chat.Commands) (found []chat.Request) {
	written, name := strings.Fields(query), ""
	if len(written) > 0 {
		name = strings.ToLower(strings.TrimPrefix(written[0], "/"))
	}
	named, known := commands.Find(name)
	for _, c := range commands {
		args, meant := written, known && c.Name == named.Name
		if meant {
			args = written[1:]
		}
		for _, f := range c.Forms {
			switch {
			case !f.Inline:
			case len(f.Params) == 0 && len(written) < 2 && (meant || strings.HasPrefix(c.Name, name)):
				found = append(found, chat.Request{Command: c.Name, Args: chat.Typed()})
			case len(f.Params) > 0 && len(args) == 1 && len(args[0]) == len(f.Params[0].Example):
				found = append(found, chat.Request{Command: c.Name, Args: chat.Typed(args...)})
			}
		}
	}
	return found
}

// followLink reads what stands after /start: the payload of a deep link, which
// nobody typed. The name of a private command is that command without arguments;
// any other payload says nothing to this bot.
func followLink(m *message, words []string, commands chat.Commands) (name string, args []string) {
	if m.Chat.private() && len(words) == 1 {
		if linked, known := commands.Find(words[0]); known && linked.Visibility == chat.Private {
			return linked.Name, nil
		}
	}
	return "start", nil
}

// commandAt is the bot command at the very beginning of a text, its name in lower
// case, what stands after its @, and its length in UTF-16 units.
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

// askedFor is the command for which the bot asked in a message, or "". Nothing is
// kept of a question: a link below its first character, which is invisible, names
// the command, and a reply quotes the message with its entities. The link is
// believed in messages of this bot alone, and nobody else can have it write one:
// untrusted text is never a link there.
func askedFor(m *message, me *models.User) string {
	if m == nil || m.From == nil || m.From.ID != me.ID {
		return ""
	}
	for _, e := range m.Entities {
		if command, is := strings.CutPrefix(e.URL, deepLink(me.Username, askPayload)); is && e.Type == "text_link" && e.Offset == 0 {
			return command
		}
	}
	return ""
}

// mention is the first person mentioned without a username after the command, and
// the text after the command without that mention. A mention by username stays a
// word: Telegram gives bots no ID for it.
func mention(units []uint16, from int, entities []entity) (*tgUser, string) {
	for _, e := range entities {
		if e.Type != "text_mention" || e.User == nil || !e.within(units) || e.Offset < from {
			continue
		}
		return e.User, string(utf16.Decode(slices.Concat(units[from:e.Offset], []uint16{' '}, units[e.Offset+e.Length:])))
	}
	return nil, string(utf16.Decode(units[from:]))
}

// repliedTo is the person whose message m answers. Everything in a topic answers the
// message that opened it, and every comment answers the channel's forwarded post:
// they mean nobody. So does a message of this bot. Who spoke as a chat has no ID.
func repliedTo(m *message, me *models.User) *tgUser {
	r := m.ReplyTo
	if r == nil || r.AutoForward || r.TopicCreated != nil || m.InTopic && r.ID == m.Thread {
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

// userOf names a person; 0 is somebody whose identity is withheld.
func userOf(id int64) chat.User {
	if id <= 0 {
		return chat.User{Platform: Platform}
	}
	return chat.User{Platform: Platform, ID: strconv.FormatInt(id, 10)}
}
