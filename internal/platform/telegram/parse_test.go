package telegram

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/platformtest"
	"herald/internal/platform/telegram/outbox"
)

var testCommands = (&platformtest.Handler{}).Commands()

var testMe = &models.User{ID: 99, Username: "OurBot", FirstName: "Our bot"}

// parsed returns the command that an update asks of testMe, and whether there is one.
func parsed(u *update) (c command, ours bool) {
	if p := parse(u, testMe, &platformtest.Handler{}); p != nil {
		return *p, true
	}
	return command{}, false
}

// parsedMessage returns the command that a new message asks of testMe, and whether there is one.
func parsedMessage(m *models.Message) (c command, ours bool) {
	return parsed(&update{Update: models.Update{Message: m}})
}

// messageOption changes a message that a test makes.
type messageOption func(*models.Message)

// messageIn returns message 7 from user 5 in a chat of a type: in their private chat, or else in chat -100.
func messageIn(chatType models.ChatType, text string, options ...messageOption) *models.Message {
	m := &models.Message{
		ID:   7,
		Date: 1750000000,
		Text: text,
		From: &models.User{ID: 5},
		Chat: models.Chat{ID: -100, Type: chatType, Title: "The *talk*"},
	}
	if chatType == models.ChatTypePrivate {
		m.Chat.ID = 5
	}
	for _, option := range options {
		option(m)
	}
	return m
}

func groupMessage(text string, options ...messageOption) *models.Message {
	return messageIn(models.ChatTypeGroup, text, options...)
}

func privateMessage(text string, options ...messageOption) *models.Message {
	return messageIn(models.ChatTypePrivate, text, options...)
}

// entity marks a span of the text, in UTF-16 units.
func entity(kind models.MessageEntityType, offset, length int) messageOption {
	return func(m *models.Message) {
		m.Entities = append(m.Entities, models.MessageEntity{Type: kind, Offset: offset, Length: length})
	}
}

// commandAt marks a span of the text as a command.
func commandAt(offset, length int) messageOption {
	return entity(models.MessageEntityTypeBotCommand, offset, length)
}

// mentionOf marks the first units of the text as a mention by username.
func mentionOf(length int) messageOption {
	return entity(models.MessageEntityTypeMention, 0, length)
}

// nameAt marks a span of the text as a mention of a user without a username.
func nameAt(offset, length int, user models.User) messageOption {
	return func(m *models.Message) {
		m.Entities = append(m.Entities, models.MessageEntity{
			Type:   models.MessageEntityTypeTextMention,
			Offset: offset,
			Length: length,
			User:   &user,
		})
	}
}

// asCaption makes the text and what the options before have marked in it the caption of a picture.
func asCaption(m *models.Message) {
	m.Photo = []models.PhotoSize{{Width: 1}}
	m.Caption, m.CaptionEntities = m.Text, m.Entities
	m.Text, m.Entities = "", nil
}

// inReplyTo makes the message a reply to message 3, from user 8 unless the options say otherwise.
func inReplyTo(options ...messageOption) messageOption {
	return func(m *models.Message) {
		answered := &models.Message{ID: 3, From: &models.User{ID: 8, FirstName: "Bob"}}
		for _, option := range options {
			option(answered)
		}
		m.ReplyToMessage = answered
	}
}

func from(user models.User) messageOption {
	return func(m *models.Message) { m.From = &user }
}

// asChat makes a chat the sender of the message.
func asChat(id int64) messageOption {
	return func(m *models.Message) { m.SenderChat = &models.Chat{ID: id} }
}

func inThread(id int) messageOption {
	return func(m *models.Message) { m.MessageThreadID = id }
}

func inTopic(id int) messageOption {
	return func(m *models.Message) { m.IsTopicMessage, m.MessageThreadID = true, id }
}

func forwarded(m *models.Message) {
	m.ForwardOrigin = &models.MessageOrigin{Type: models.MessageOriginTypeUser}
}

func withID(id int) messageOption {
	return func(m *models.Message) { m.ID = id }
}

func forwardedFromChannel(m *models.Message) {
	m.IsAutomaticForward = true
	m.SenderChat = &models.Chat{ID: -300}
}

// commandCase is a message and the command that it asks of testMe, "" if none.
type commandCase struct {
	message *models.Message
	want    string
}

func checkCommands(t *testing.T, cases map[string]commandCase) {
	t.Helper()
	for name, tt := range cases {
		c, ours := parsedMessage(tt.message)
		if ours != (tt.want != "") || c.request.Command != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, c.request.Command, ours, tt.want)
		}
	}
}

func TestParseFindsCommandsForThisBot(t *testing.T) {
	checkCommands(t, map[string]commandCase{
		"any case":                 {messageIn("supergroup", "/Price", commandAt(0, 6)), "price"},
		"to us in another case":    {groupMessage("/PRICE@ourbot", commandAt(0, 13)), "price"},
		"to another bot":           {groupMessage("/price@OtherBot", commandAt(0, 15)), ""},
		"unknown in a group":       {groupMessage("/foo", commandAt(0, 4)), ""},
		"unknown in private":       {privateMessage("/foo", commandAt(0, 4)), "foo"},
		"in a channel":             {messageIn("channel", "/price", commandAt(0, 6)), ""},
		"not at the beginning":     {groupMessage("hi /price", commandAt(3, 6)), ""},
		"longer than its own text": {groupMessage("/price", commandAt(0, 600)), ""},
	})
}

func TestParseFindsACommandAfterAMentionOfThisBot(t *testing.T) {
	ourName := nameAt(0, 6, models.User{ID: testMe.ID})
	checkCommands(t, map[string]commandCase{
		"of us":                 {groupMessage("@OurBot /price", mentionOf(7), commandAt(8, 6)), "price"},
		"of us in another case": {groupMessage("@ourbot, /PRICE", mentionOf(7), commandAt(9, 6)), "price"},
		"of us, to us":          {groupMessage("@OurBot\n/price@OurBot", mentionOf(7), commandAt(8, 13)), "price"},
		"of us, to another bot": {groupMessage("@OurBot /price@OtherBot", mentionOf(7), commandAt(8, 15)), ""},
		"of another bot":        {groupMessage("@OtherBot /price", mentionOf(9), commandAt(10, 6)), ""},
		"of another bot, to us": {groupMessage("@OtherBot /price@OurBot", mentionOf(9), commandAt(10, 13)), "price"},
		"by our name":           {groupMessage("Our 🤖 /price", ourName, commandAt(7, 6)), "price"},
		"of us, and a word":     {groupMessage("@OurBot hi /price", mentionOf(7), commandAt(11, 6)), ""},
		"longer than the text":  {groupMessage("@OurBot /price", mentionOf(700), commandAt(8, 6)), ""},
		"of us, in private":     {privateMessage("@OurBot /price", mentionOf(7), commandAt(8, 6)), "price"},
		"of us, in a caption":   {groupMessage("@OurBot /price", mentionOf(7), commandAt(8, 6), asCaption), "price"},
	})
}

func TestParseFindsACommandInACaption(t *testing.T) {
	checkCommands(t, map[string]commandCase{
		"to us":          {groupMessage("/price@OurBot", commandAt(0, 13), asCaption), "price"},
		"in private":     {privateMessage("/price", commandAt(0, 6), asCaption), "price"},
		"later":          {groupMessage("🎉 /price", commandAt(3, 6), asCaption), ""},
		"to another bot": {groupMessage("/price@OtherBot", commandAt(0, 15), asCaption), ""},
		"of a forward":   {groupMessage("/price", commandAt(0, 6), asCaption, forwarded), ""},
	})
}

func TestParseIgnoresBotsAndForwards(t *testing.T) {
	price := commandAt(0, 6)
	viaBot := func(m *models.Message) { m.ViaBot = &models.User{ID: 1} }
	ofANewKind := func(m *models.Message) {
		if err := json.Unmarshal([]byte(`{"forward_origin":{"type":"of a new kind"}}`), m); err != nil {
			t.Fatal(err)
		}
	}
	checkCommands(t, map[string]commandCase{
		"by a bot":                {groupMessage("/price", price, from(models.User{ID: 5, IsBot: true})), ""},
		"a forward of a new kind": {groupMessage("/price", price, ofANewKind), ""},
		"via another bot":         {groupMessage("/price", price, viaBot), ""},
		"a channel's post":        {groupMessage("/price", price, forwardedFromChannel), ""},
	})
}

func TestParseReadsArguments(t *testing.T) {
	exists := commandAt(0, 7)
	annAt := func(offset, length int) messageOption {
		return nameAt(offset, length, models.User{ID: 8, FirstName: "Ann"})
	}
	for name, tt := range map[string]struct {
		message *models.Message
		want    []string
	}{
		"words":                  {groupMessage("/exists  a\n b", exists), []string{"a", "b"}},
		"words of a caption":     {groupMessage("/exists a b", exists, asCaption), []string{"a", "b"}},
		"words beside a person":  {groupMessage("/exists 😀 Ann B x", exists, annAt(11, 5)), []string{"😀", "x"}},
		"a person, in a caption": {groupMessage("/exists 😀 Ann", exists, annAt(11, 3), asCaption), []string{"😀"}},
		"a person, after a mention": {
			groupMessage("@OurBot /exists 😀 Ann", mentionOf(7), commandAt(8, 7), annAt(19, 3)),
			[]string{"😀"},
		},
		"a reply": {groupMessage("/exists", exists, inReplyTo()), nil},
	} {
		c, ours := parsedMessage(tt.message)
		if want := chat.Typed(tt.want...); !ours || fmt.Sprint(c.request.Args) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, %v; want %v", name, c.request.Args, ours, want)
		}
	}
}

func TestParseFindsThePersonNamedOrRepliedTo(t *testing.T) {
	exists := commandAt(0, 7)
	annAt := func(offset, length int) messageOption {
		return nameAt(offset, length, models.User{ID: 8, FirstName: "Ann"})
	}
	nameless := from(models.User{ID: 1087968824})
	ofTopicCreated := func(m *models.Message) { m.ForumTopicCreated = &models.ForumTopicCreated{} }
	const nobody = "none"
	for name, tt := range map[string]struct {
		message *models.Message
		want    string // ID and name
	}{
		"nobody":                        {groupMessage("/exists a b", exists), nobody},
		"in a caption without a person": {groupMessage("/exists a b", exists, asCaption), nobody},
		"a mention without a username":  {groupMessage("/exists 😀 Ann B x", exists, annAt(11, 5)), "8 Ann"},
		"in a caption":                  {groupMessage("/exists 😀 Ann", exists, annAt(11, 3), asCaption), "8 Ann"},
		"after a mention of us": {
			groupMessage("@OurBot /exists 😀 Ann", mentionOf(7), commandAt(8, 7), annAt(19, 3)),
			"8 Ann",
		},
		"a reply":                {groupMessage("/exists", exists, inReplyTo()), "8 Bob"},
		"a reply to us":          {groupMessage("/exists", exists, inReplyTo(from(*testMe))), nobody},
		"a reply to the unnamed": {groupMessage("/exists", exists, inReplyTo(nameless, asChat(-100))), " "},
		"a topic's beginning":    {groupMessage("/exists", exists, inTopic(3), inReplyTo(withID(3))), nobody},
		"a topic's creation":     {groupMessage("/exists", exists, inReplyTo(ofTopicCreated)), nobody},
		"a reply in a topic":     {groupMessage("/exists", exists, inTopic(3), inReplyTo(withID(4))), "8 Bob"},
		"a channel's post":       {groupMessage("/exists", exists, inReplyTo(forwardedFromChannel)), nobody},
	} {
		c, ours := parsedMessage(tt.message)
		got := nobody
		if c.request.Target != nil {
			got = c.request.Target.ID + " " + c.request.TargetName
		}
		if !ours || got != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, ours, tt.want)
		}
	}
}

// A sender who speaks as a chat has no ID. If it is the group itself, they are a moderator.
func TestParseReadsTheSender(t *testing.T) {
	ann := from(models.User{ID: 5, LanguageCode: "pt-br"})
	for name, tt := range map[string]struct {
		message *models.Message
		sender  int64
		want    chat.Request
	}{
		"a member": {
			message: messageIn("supergroup", "/price", ann),
			sender:  5,
			want:    chat.Request{From: userOf(5), Community: "-100", Role: chat.UnknownRole, Locale: "pt-br"},
		},
		"an anonymous administrator": {
			message: messageIn("supergroup", "/price", ann, asChat(-100)),
			sender:  -100,
			want:    chat.Request{From: userOf(0), Community: "-100", Role: chat.Moderator},
		},
		"a member in a topic": {
			message: messageIn("supergroup", "/price", ann, inTopic(44)),
			sender:  5,
			want:    chat.Request{From: userOf(5), Community: "-100", Role: chat.UnknownRole, Locale: "pt-br"},
		},
		"a user in the name of their channel": {
			message: messageIn("supergroup", "/price", asChat(-200)),
			sender:  -200,
			want:    chat.Request{From: userOf(0), Community: "-100", Role: chat.Member, LimitKey: "-200"},
		},
		"in private": {
			message: privateMessage("/price"),
			sender:  5,
			want:    chat.Request{From: userOf(5), Direct: true, Role: chat.Member},
		},
	} {
		commandAt(0, 6)(tt.message)
		want := tt.want
		want.Command = "price"
		want.Args = chat.Typed()
		want.Chat = fmt.Sprint(tt.message.Chat.ID)
		want.Asked = time.Unix(1750000000, 0)
		want.BotName = "Our bot"
		want.BotHandle = "@OurBot"
		c, ours := parsedMessage(tt.message)
		if !ours || fmt.Sprintf("%+v", c.request) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: got %+v, want %+v", name, c.request, want)
		}
		check(t, name+": sender", c.sender, tt.sender)
	}
}

func TestParseSendsTheReplyToTheTopic(t *testing.T) {
	for name, tt := range map[string]struct {
		message *models.Message
		want    outbox.Destination
	}{
		"a group": {
			messageIn("supergroup", "/price"),
			outbox.Destination{Chat: -100, ReplyTo: 7, Silent: true},
		},
		"a topic": {
			messageIn("supergroup", "/price", inTopic(44)),
			outbox.Destination{Chat: -100, Thread: 44, ReplyTo: 7, Silent: true},
		},
		"a thread of replies": {
			messageIn("supergroup", "/price", inThread(44)),
			outbox.Destination{Chat: -100, ReplyTo: 7, Silent: true},
		},
		"a private chat": {
			privateMessage("/price"),
			outbox.Destination{Chat: 5, ReplyTo: 7},
		},
	} {
		commandAt(0, 6)(tt.message)
		c, ours := parsedMessage(tt.message)
		if !ours || c.to != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, c.to, ours, tt.want)
		}
	}
}

// A private chat belongs to one person. If an update there is by somebody else, the server is at fault.
func TestParseRefusesAnotherUserInAPrivateChat(t *testing.T) {
	const privateChat = `"chat":{"id":5,"type":"private"}`
	const press = `{"callback_query":{"id":"1","from":{"id":%d},"data":"1 e 0 price","message":{` + privateChat + `}}}`
	const message = `{"message":{"from":{"id":%d},` +
		`"text":"/price","entities":[{"type":"bot_command","length":6}],` + privateChat + `}}`
	for _, format := range []string{press, message} {
		for user, want := range map[int64]bool{5: true, 6: false} {
			u, answerable := setUp(t).adapter.read(fmt.Appendf(nil, format, user))
			if _, ours := parsed(u); !answerable || ours != want {
				t.Errorf("%s by %d: answerable %v, ours %v", format, user, answerable, ours)
			}
		}
	}
}
