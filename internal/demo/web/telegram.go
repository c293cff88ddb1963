package web

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"herald/internal/chat"
	"herald/internal/demo/community"
	faketelegram "herald/internal/demo/fake/telegram"
)

// ephemeralMark is the prefix of the ID of an ephemeral message in Events.
const ephemeralMark = "e"

// seeTelegram adds an event of the fake to the feed. The fake calls it, and waits for it.
func (d *Demo) seeTelegram(e faketelegram.Event) {
	switch {
	case e.Said != nil:
		d.seeSaid(e.Said)
	case e.Message != nil && e.Message.Deleted:
		d.feed.add(Event{Kind: KindGone, Side: Telegram, ID: messageID(e.Message.ID, e.Message.Ephemeral)})
	case e.Message != nil:
		d.seeSent(e.Message)
	case e.Notice != nil:
		alert := d.telegramEvent(KindAlert, e.Chat, e.Notice.User)
		alert.Message = encoded(map[string]any{
			"text":       e.Notice.Text,
			"show_alert": e.Notice.Alert,
			"url":        e.Notice.URL,
		})
		d.feed.add(alert)
	case e.Join != nil:
		d.seeJoin(e.Join)
	case e.Typing:
		d.feed.add(d.telegramEvent(KindTyping, e.Chat, everybody))
	case e.Menus:
		d.feed.add(Event{Kind: KindMenu, Side: Telegram})
	}
}

// everybody is the reader of a message that all in its chat see.
const everybody = 0

// telegramEvent returns an Event without a message, from the bot in a chat. reader is the user ID of the only
// person that sees it, or everybody.
func (d *Demo) telegramEvent(kind string, chatID, reader int64) Event {
	e := Event{Kind: kind, Side: Telegram, Chat: Group, From: Bot}
	isPrivate := chatID > 0
	if isPrivate {
		e.Chat = Private
		reader = chatID // A private chat has the ID of its user.
	}
	if reader != everybody {
		e.For = d.nameOnTelegram(reader)
	}
	return e
}

// messageID returns the ID in Events of the message with this ID or this ephemeral ID. It returns "" if both are 0.
func messageID(id, ephemeral int64) string {
	switch {
	case ephemeral != 0:
		return ephemeralMark + strconv.FormatInt(ephemeral, 10)
	case id != 0:
		return strconv.FormatInt(id, 10)
	}
	return ""
}

// seeSaid adds a message of a person to the feed.
func (d *Demo) seeSaid(m faketelegram.Message) {
	type ids struct {
		ID        int64 `json:"message_id"`
		Ephemeral int64 `json:"ephemeral_message_id"`
	}
	// A Message is a map. Reading it through JSON is shorter than type assertions.
	raw := encoded(m)
	var said struct {
		ids
		From    faketelegram.User `json:"from"`
		Chat    faketelegram.Chat `json:"chat"`
		ReplyTo ids               `json:"reply_to_message"`
	}
	_ = json.Unmarshal(raw, &said) // cannot fail
	e := d.telegramEvent(KindAsked, said.Chat.ID, everybody)
	e.From = d.nameOnTelegram(said.From.ID)
	e.ID = messageID(said.ID, said.Ephemeral)
	e.Message = raw
	e.ReplyTo = messageID(said.ReplyTo.ID, said.ReplyTo.Ephemeral)
	if said.Ephemeral != 0 {
		e.For = e.From
	}
	d.feed.add(e)
}

// seeSent adds a new state of a message of the bot to the feed.
func (d *Demo) seeSent(m *faketelegram.Sent) {
	e := d.telegramEvent(KindMessage, m.Chat, m.Reader)
	e.ID = messageID(m.ID, m.Ephemeral)
	if m.Ephemeral != 0 {
		e.ReplyTo = messageID(0, m.ReplyTo) // If this one is ephemeral, so is the other.
	} else {
		e.ReplyTo = messageID(m.ReplyTo, 0)
	}
	message := m.Message()
	if m.Markup.ForceReply {
		message["reply_markup"] = m.Markup // The Bot API does not return a ForceReply.
	}
	if m.Photo != nil {
		e.address = fmt.Sprintf("/file/telegram/%s/%d.png", e.ID, m.Edits)
		e.picture = m.Photo
		message["photo"] = []map[string]any{{"url": e.address}}
	}
	e.Message = encoded(message)
	d.feed.add(e)
}

// telegramChat returns by's private chat if chatName is Private, and otherwise the group.
func telegramChat(chatName string, by community.Person) faketelegram.Chat {
	if chatName == Private {
		return faketelegram.Private(by.TelegramID)
	}
	return community.Group()
}

// telegramMenu returns the commands that a person's app lists in a chat.
func (d *Demo) telegramMenu(chatName string, by community.Person, l chat.Language) []faketelegram.Command {
	menu := []faketelegram.Command{} // not nil: JSON must have an array
	return append(menu, d.Community.Menu(telegramChat(chatName, by), by, string(l))...)
}

// actOnTelegram does an Act of a person on Telegram.
func (d *Demo) actOnTelegram(a Act, by community.Person) (any, error) {
	language := string(languageOf(a.Language))
	chat := telegramChat(a.Chat, by)
	switch a.Kind {
	case "join":
		return Result{}, d.requestJoin(a.Target, by, language)
	case "say":
		line := community.Line{By: by, Language: language, Chat: chat, Text: a.Text, OldApp: a.OldApp}
		if a.Message != "" {
			answered := d.feed.messageOf(a)
			if answered.Kind == "" {
				return nil, errNotThere
			}
			line.ReplyTo = answered.Message
		}
		d.Community.Write(line)
	case "press":
		pressed := community.Message{Chat: chat}
		number, isEphemeral := strings.CutPrefix(a.Message, ephemeralMark)
		id, _ := strconv.ParseInt(number, 10, 64) // cannot fail: act has found the message
		if isEphemeral {
			pressed.Ephemeral = id
		} else {
			pressed.ID = id
		}
		d.Community.Press(by, language, pressed, a.Button)
	}
	return Result{}, nil
}
