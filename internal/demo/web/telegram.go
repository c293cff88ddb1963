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

// addTelegramEvent adds an event of the fake to the feed. The fake calls it, and waits for it.
func (d *Demo) addTelegramEvent(e faketelegram.Event) {
	switch {
	case e.Said != nil:
		d.addPersonMessage(e.Said)
	case e.Message != nil && e.Message.Deleted:
		d.feed.add(Event{Kind: KindGone, Side: Telegram, ID: messageID(e.Message.ID, e.Message.Ephemeral)})
	case e.Message != nil:
		d.addBotMessage(e.Message)
	case e.Notice != nil:
		alert := d.telegramEvent(KindAlert, e.Chat, e.Notice.User)
		alert.Message = encoded(map[string]any{
			"text":       e.Notice.Text,
			"show_alert": e.Notice.Alert,
			"url":        e.Notice.URL,
		})
		d.feed.add(alert)
	case e.Join != nil:
		d.addJoin(e.Join)
	case e.Typing:
		d.feed.add(d.telegramEvent(KindTyping, e.Chat, everybody))
	case e.Menus:
		d.feed.add(Event{Kind: KindMenu, Side: Telegram})
	}
}

// everybody is the reader of a message that everyone in its chat sees.
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

// addPersonMessage adds a message of a person to the feed.
func (d *Demo) addPersonMessage(m faketelegram.Message) {
	type ids struct { // One of them is 0.
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

// addBotMessage adds a new state of a message of the bot to the feed.
func (d *Demo) addBotMessage(m *faketelegram.Sent) {
	e := d.telegramEvent(KindMessage, m.Chat, m.Reader)
	e.ID = messageID(m.ID, m.Ephemeral)
	if m.Ephemeral != 0 {
		e.ReplyTo = messageID(0, m.ReplyTo) // An ephemeral message replies to an ephemeral one.
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
	switch a.Kind {
	case "join":
		return Result{}, d.requestJoin(a.Target, by, appLanguage(a))
	case "say":
		return Result{}, d.sayOnTelegram(a, by)
	case "press":
		d.pressOnTelegram(a, by)
	}
	return Result{}, nil
}

// appLanguage returns the code of the language of the person's app.
func appLanguage(a Act) string { return string(languageOf(a.Language)) }

func (d *Demo) sayOnTelegram(a Act, by community.Person) error {
	line := community.Line{
		By:       by,
		Language: appLanguage(a),
		Chat:     telegramChat(a.Chat, by),
		Text:     a.Text,
		OldApp:   a.OldApp,
	}
	if a.Message != "" {
		answered := d.feed.messageOf(a)
		if answered.Kind == "" {
			return errNotThere
		}
		line.ReplyTo = answered.Message
	}
	d.Community.Write(line)
	return nil
}

// pressOnTelegram presses a button. The feed must have the message.
func (d *Demo) pressOnTelegram(a Act, by community.Person) {
	pressed := community.Message{Chat: telegramChat(a.Chat, by)}
	number, isEphemeral := strings.CutPrefix(a.Message, ephemeralMark)
	id, _ := strconv.ParseInt(number, 10, 64) // cannot fail: messageID has made it
	if isEphemeral {
		pressed.Ephemeral = id
	} else {
		pressed.ID = id
	}
	d.Community.Press(by, appLanguage(a), pressed, a.Button)
}
