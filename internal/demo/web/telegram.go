package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	faketelegram "herald/internal/demo/fake/telegram"
)

const (
	// inlineWait is how long the page waits for the answer to an inline query.
	inlineWait = 10 * time.Second
	// maxQuery is in characters, https://core.telegram.org/bots/api#inlinequery.
	maxQuery = 256
)

// telegramSide shows what a Bot API is told to show, and does there what people
// do.
type telegramSide struct {
	api    *faketelegram.Server
	feed   *feed
	people people
}

func newTelegramSide(api *faketelegram.Server, f *feed, all people) *telegramSide {
	t := &telegramSide{api, f, all}
	// A message may be pressed for as long as it is shown.
	api.Remember(2 * maxShown)
	for _, a := range all {
		if a.moderator {
			api.Promote(telegramGroup, a.telegramID, "administrator")
		}
	}
	api.Watch(t.see)
	return t
}

// see shows one event. The server waits for it.
func (t *telegramSide) see(e faketelegram.Event) {
	switch {
	case e.Said != nil:
		t.seeSaid(e.Said)
	case e.Message != nil && e.Message.Deleted:
		t.feed.drop(Telegram, idOf(e.Message))
	case e.Message != nil:
		t.seeMessage(e.Message)
	case e.Notice != nil:
		about := t.place(e.Chat, e.Notice.User)
		about.Kind, about.From, about.For = KindAlert, Bot, t.people.onTelegram(e.Notice.User)
		about.Message = encoded(Alert{Text: e.Notice.Text, ShowAlert: e.Notice.Alert, URL: e.Notice.URL})
		t.feed.pass(about)
	case e.Typing:
		about := t.place(e.Chat, 0)
		about.Kind, about.From = KindTyping, Bot
		t.feed.pass(about)
	case e.Menus:
		t.feed.pass(Event{Kind: KindMenu, Side: Telegram})
	}
}

// place is an event in a chat, which one reader alone sees if there is one.
func (t *telegramSide) place(chat, reader int64) Event {
	e := Event{Side: Telegram, Chat: Group}
	if chat > 0 {
		e.Chat, reader = Private, chat
	}
	if reader != 0 {
		e.For = t.people.onTelegram(reader)
	}
	return e
}

// numbers are the IDs of a message and those of what it answers.
type numbers struct {
	Message   int64    `json:"message_id"`
	Ephemeral int64    `json:"ephemeral_message_id"`
	ReplyTo   *numbers `json:"reply_to_message"`
	From      struct {
		ID int64 `json:"id"`
	} `json:"from"`
	Chat struct {
		ID int64 `json:"id"`
	} `json:"chat"`
}

// id names a message among all of Telegram's here.
func (n *numbers) id() string {
	switch {
	case n == nil:
		return ""
	case n.Ephemeral != 0:
		return ephemeralMark + idText(n.Ephemeral)
	}
	return idText(n.Message)
}

// ephemeralMark begins the ID of an ephemeral message, and inlineMark that of one
// sent by inline mode.
const (
	ephemeralMark = "e"
	inlineMark    = "inline-"
)

func idText(id int64) string { return strconv.FormatInt(id, 10) }

// idOf names a message that was sent.
func idOf(m *faketelegram.Sent) string {
	if m.Inline != "" {
		return m.Inline
	}
	return (&numbers{Message: m.ID, Ephemeral: m.Ephemeral}).id()
}

func (t *telegramSide) seeSaid(m faketelegram.Message) {
	raw := encoded(m)
	var n numbers
	_ = json.Unmarshal(raw, &n) // which this package wrote
	reader := int64(0)
	if n.Ephemeral != 0 {
		reader = n.From.ID
	}
	e := t.place(n.Chat.ID, reader)
	e.Kind, e.From, e.ID, e.ReplyTo, e.Message = KindAsked, t.people.onTelegram(n.From.ID), n.id(), n.ReplyTo.id(), raw
	t.feed.put(e, nil)
}

func (t *telegramSide) seeMessage(m *faketelegram.Sent) {
	e := t.place(m.Chat, m.Reader)
	e.Kind, e.ID, e.From = KindMessage, idOf(m), t.people.onTelegram(m.Sender)
	if m.ReplyTo != 0 {
		to := numbers{Message: m.ReplyTo}
		if m.Ephemeral != 0 {
			to = numbers{Ephemeral: m.ReplyTo}
		}
		e.ReplyTo = to.id()
	}
	wire := m.Message()
	if m.Markup.ForceReply {
		wire["reply_markup"] = m.Markup // which a bot is not shown
	}
	pictures := map[string][]byte{}
	if m.Photo != nil {
		address := fmt.Sprintf("/file/telegram/%s/%d.png", e.ID, m.Edits)
		pictures[address] = m.Photo
		wire["photo"] = []map[string]any{{"url": address}}
	}
	e.Message = encoded(wire)
	t.feed.put(e, pictures)
}

// act does one thing.
func (t *telegramSide) act(a Act, by asker, in language) (Result, error) {
	t.api.Meet(t.user(by, in))
	chat := t.chat(a.Chat, by)
	switch a.Kind {
	case "say":
		return t.say(a, by, in, chat)
	case "press":
		t.press(a, by, chat)
		return Result{}, nil
	case "complete":
		return t.complete(a.Text, by)
	case "choose":
		if _, ok := t.api.Choose(a.Message, a.Button, chat); !ok {
			return Result{}, errors.New("there is no such result")
		}
		return Result{}, nil
	}
	return Result{}, errNoSuchKind
}

// chat is the one that an asker has as Group or Private.
func (t *telegramSide) chat(name string, by asker) faketelegram.Chat {
	if name == Private {
		return faketelegram.Private(by.telegramID)
	}
	group := faketelegram.Group(telegramGroup)
	group.Title = groupTitle
	return group
}

func (t *telegramSide) user(by asker, in language) faketelegram.User {
	return faketelegram.User{ID: by.telegramID, FirstName: by.name, Language: in.telegram}
}

// say sends a message as an app does: a command that the menu has as ephemeral is
// for the bot alone.
func (t *telegramSide) say(a Act, by asker, in language, chat faketelegram.Chat) (Result, error) {
	m := faketelegram.Text(chat, t.user(by, in), a.Text)
	m["date"] = time.Now().Unix()
	if marks := t.marks(m, a.Text); len(marks) > 0 {
		m["entities"] = marks
	}
	if a.ReplyTo != "" {
		to := t.feed.seen(Telegram, a.ReplyTo, a.Chat, a.As)
		if to.Kind == "" {
			return Result{}, errNoSuchMessage
		}
		m["reply_to_message"] = to.Message
	}
	if a.Chat == Group && !a.OldApp && t.ephemeral(a.Text, chat, by, in) {
		t.api.PushEphemeral(m)
	} else {
		t.api.Push(m)
	}
	return Result{}, nil
}

// ephemeral reports whether a text is a command that its menu marks so.
func (t *telegramSide) ephemeral(text string, chat faketelegram.Chat, by asker, in language) bool {
	first, _, _ := strings.Cut(text, " ")
	name, bot, named := strings.Cut(strings.TrimPrefix(first, "/"), "@")
	if first == name || named && !strings.EqualFold(bot, faketelegram.Username) {
		return false
	}
	for _, c := range t.menu(chat, by, in) {
		if strings.EqualFold(c.Command, name) {
			return c.Ephemeral
		}
	}
	return false
}

func (t *telegramSide) menu(chat faketelegram.Chat, by asker, in language) []faketelegram.Command {
	return t.api.MenuFor(chat, by.telegramID, in.code)
}

// marks are the entities of a text: what Text finds, and the askers mentioned.
func (t *telegramSide) marks(m faketelegram.Message, text string) []any {
	var marks []any
	if commands, ok := m["entities"].([]faketelegram.Entity); ok {
		for _, c := range commands {
			marks = append(marks, c)
		}
	}
	offset := 0
	for _, part := range strings.SplitAfter(text, " ") {
		word := strings.TrimSpace(part)
		if a, mentioned := t.people.mentioned(word); mentioned {
			marks = append(marks, map[string]any{"type": "text_mention", "offset": offset, "length": len(word),
				"user": faketelegram.User{ID: a.telegramID, FirstName: a.name}})
		}
		offset += len(utf16.Encode([]rune(part)))
	}
	return marks
}

func (t *telegramSide) press(a Act, by asker, chat faketelegram.Chat) {
	number, ephemeral := strings.CutPrefix(a.Message, ephemeralMark)
	id, _ := strconv.ParseInt(number, 10, 64) // it was seen
	switch {
	case ephemeral:
		t.api.PressEphemeral(chat, id, a.Button)
	case strings.HasPrefix(a.Message, inlineMark):
		t.api.PressInline(by.telegramID, a.Message, a.Button)
	default:
		t.api.Press(by.telegramID, chat, id, a.Button)
	}
}

// complete asks for the results of an inline query.
func (t *telegramSide) complete(text string, by asker) (Result, error) {
	if utf8.RuneCountInString(text) > maxQuery {
		return Result{}, fmt.Errorf("text: an inline query has at most %d characters", maxQuery)
	}
	query := t.api.Inline(by.telegramID, text, "")
	found, _ := t.api.WaitInline(query, inlineWait)
	return Result{Query: query, Choices: encoded(append([]faketelegram.InlineResult{}, found.Results...))}, nil
}

// menuIn is Telegram's part of a Menu.
func (t *telegramSide) menuIn(chat string, by asker, in language) []faketelegram.Command {
	return append([]faketelegram.Command{}, t.menu(t.chat(chat, by), by, in)...)
}
