package telegram

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"herald/internal/chat"
)

// update and the types below hold the fields of
// https://core.telegram.org/bots/api#update that are read here and no more, so
// that a kind of message that is newer than this program still decodes.
type update struct {
	ID      int64    `json:"update_id"`
	Message *message `json:"message"`
}

type message struct {
	ID            int64     `json:"message_id"`
	Thread        int64     `json:"message_thread_id"`
	InTopic       bool      `json:"is_topic_message"`
	From          *person   `json:"from"`
	SenderChat    *room     `json:"sender_chat"`
	Chat          room      `json:"chat"`
	ForwardOrigin *struct{} `json:"forward_origin"`
	ViaBot        *struct{} `json:"via_bot"`
	ReplyTo       *message  `json:"reply_to_message"`
	TopicCreated  *struct{} `json:"forum_topic_created"`
	Text          string    `json:"text"`
	Entities      []entity  `json:"entities"`
}

type person struct {
	ID    int64 `json:"id"`
	IsBot bool  `json:"is_bot"`
}

type room struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

func (r room) private() bool { return r.Type == "private" }

func (r room) group() bool { return r.Type == "group" || r.Type == "supergroup" }

// entity marks a span of a text, counted in UTF-16 units. Its bounds are the
// sender's claim.
type entity struct {
	Type   string  `json:"type"`
	Offset int     `json:"offset"`
	Length int     `json:"length"`
	User   *person `json:"user"`
}

// identity is who the bot is, as getMe says.
type identity struct {
	ID       int64
	Username string
}

// place is where a message goes.
type place struct {
	chat    int64
	group   bool
	thread  int64 // 0 outside topics
	replyTo int64 // 0 is no reply
}

// question is one command as parse found it.
type question struct {
	// request lacks ID and Moderator, which parse cannot make.
	request    chat.Request
	visibility chat.Visibility
	asked      place
	// sender is 0 where the platform withholds who asked.
	sender int64
	// anonymousAdmin is an administrator who speaks as the group itself.
	anonymousAdmin bool
	// linkable is a request that a deep link can repeat.
	linkable bool
}

// parse finds the command that m begins with. It answers false for everything
// that is not for this bot to answer: other bots' commands, messages by bots,
// forwards, and in groups commands that nobody here knows.
func parse(m *message, me identity, commands map[string]chat.Command) (question, bool) {
	if m.ForwardOrigin != nil || m.ViaBot != nil || !m.Chat.private() && !m.Chat.group() {
		return question{}, false
	}
	if m.SenderChat == nil && (m.From == nil || m.From.IsBot) {
		return question{}, false
	}
	units := utf16.Encode([]rune(m.Text))
	name, suffix, length := commandAt(units, m.Entities)
	if name == "" || suffix != "" && !strings.EqualFold(suffix, me.Username) {
		return question{}, false
	}
	command, known := commands[name]
	if !known && suffix == "" && !m.Chat.private() {
		return question{}, false
	}
	q := question{asked: placeOf(m), visibility: chat.Public}
	if known {
		q.visibility = command.Visibility
	}
	if m.SenderChat == nil {
		q.sender = m.From.ID
	} else {
		q.anonymousAdmin = m.SenderChat.ID == m.Chat.ID
	}
	mentioned, rest := mention(units, length, m.Entities)
	q.request = chat.Request{
		Command: name,
		Args:    chat.Typed(strings.Fields(rest)...),
		From:    userOf(q.sender),
		Target:  mentioned,
		Chat:    strconv.FormatInt(m.Chat.ID, 10),
		Direct:  m.Chat.private(),
	}
	if mentioned == nil {
		q.request.Target = repliedTo(m, me)
	}
	if name == "start" {
		q.followLink(commands, strings.Fields(rest))
	}
	q.linkable = known && hasEmptyForm(command) && q.request.Args.Len() == 0 && q.request.Target == nil
	return q, true
}

// followLink reads what stands after /start: a deep link's payload, which
// nobody typed. The name of a private command that needs no arguments is that
// command; any other payload says nothing to this bot.
func (q *question) followLink(commands map[string]chat.Command, words []string) {
	q.request.Args = chat.Typed()
	if !q.request.Direct || len(words) != 1 {
		return
	}
	linked, known := commands[words[0]]
	if known && linked.Visibility == chat.Private && hasEmptyForm(linked) {
		q.request.Command, q.visibility = linked.Name, linked.Visibility
	}
}

func hasEmptyForm(c chat.Command) bool {
	return slices.ContainsFunc(c.Forms, func(f chat.Form) bool { return len(f.Params) == 0 && !f.Moderators })
}

func placeOf(m *message) place {
	p := place{chat: m.Chat.ID, group: m.Chat.group(), replyTo: m.ID}
	// Outside of topics message_thread_id is a thread of replies, to which
	// nothing can be sent.
	if m.InTopic {
		p.thread = m.Thread
	}
	return p
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

// within tells whether e marks a span of units that is there.
func (e entity) within(units []uint16) bool {
	return e.Offset >= 0 && e.Length > 0 && e.Offset <= len(units) && e.Length <= len(units)-e.Offset
}

// mention is the first person mentioned without a username after the command,
// and the text after the command without that mention. A mention by username
// stays a word: Telegram tells bots no ID for it.
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
func repliedTo(m *message, me identity) *chat.User {
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
