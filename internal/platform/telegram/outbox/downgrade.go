package outbox

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"herald/internal/platform/telegram/botapi"
)

// part is a part of a message that it can do without.
type part int

// The parts. An answer without one of them is better than no answer.
const (
	noPart part = iota
	topicPart
	replyPart
	picturePart // its caption becomes the text
	linkPart    // links that lead out of Telegram
	stylePart   // links out of Telegram, and entities and buttons that an old server may not know
)

// refusable returns the parts of a message that may have caused a refusal, the likeliest first.
func refusable(err *botapi.Error) []part {
	switch {
	case err.Kind == botapi.Forbidden: // The chat may forbid pictures only.
		return []part{picturePart}
	case err.Kind != botapi.Refused:
		return nil
	case err.RefusesTopic(): // The message to reply to may be in the lost topic, too.
		return []part{topicPart, replyPart}
	case err.RefusesReply():
		return []part{replyPart}
	case err.RefusesLink():
		return []part{linkPart}
	case err.Unexplained():
		return []part{stylePart, picturePart, topicPart, replyPart}
	}
	return []part{picturePart}
}

// refusedPart returns the part that m is sent again without after err, or nothing if m has none that
// may have caused the refusal.
func refusedPart(err *botapi.Error, m *Message) part {
	for _, p := range refusable(err) {
		if m.has(p) {
			return p
		}
	}
	return noPart
}

// has reports whether m has a part. An edit has no topic and no reply, and its message would stay
// the picture that it is. An ephemeral message is tied to the message that it answers.
func (m *Message) has(p part) bool {
	isNew := m.EditID == 0 && !m.Ephemeral.Arrived()
	switch p {
	case topicPart:
		return isNew && m.To.Thread != 0
	case replyPart:
		return isNew && m.To.ReplyTo != 0
	case picturePart:
		return isNew && m.Content.Picture != nil
	}
	return !reflect.DeepEqual(m.Content.without(p), m.Content)
}

// leaveOut leaves out a part of the message from now on. Only styles may come back: if the picture is
// left out next, the picture may have been the cause.
func (d *delivery) leaveOut(p part) {
	switch p {
	case topicPart:
		d.m.To.Thread = 0
	case replyPart:
		d.m.To.ReplyTo = 0
	case picturePart:
		d.m.Content = d.whole
		d.m.Content.Picture = nil
	case linkPart:
		d.whole = d.whole.without(linkPart)
		d.m.Content = d.m.Content.without(linkPart)
	case stylePart:
		d.m.Content = d.m.Content.without(stylePart)
	}
}

// downgrade removes from contents the part that the server may have refused. It reports whether
// that changed any of them.
func downgrade(err *botapi.Error, contents ...*Content) (changed bool) {
	for _, c := range contents {
		m := Message{Content: *c}
		p := refusedPart(err, &m)
		if p == linkPart || p == stylePart {
			*c = c.without(p)
			changed = true
		}
	}
	return changed
}

// without returns c without links or styles.
func (c Content) without(p part) Content {
	switch p {
	case linkPart:
		return c.keep(
			func(e models.MessageEntity) bool { return e.URL == "" || intoTelegram(e.URL) },
			func(b models.InlineKeyboardButton) bool { return b.URL == "" || intoTelegram(b.URL) },
		)
	case stylePart:
		return c.plain()
	}
	return c
}

// plain returns c with only those entities and buttons that every server takes and the bot cannot do
// without: code, because Telegram could otherwise make links of untrusted text; links into Telegram,
// because one of them names the command that a question belongs to (askedFor in package telegram);
// and buttons that carry a command.
func (c Content) plain() Content {
	return c.keep(
		func(e models.MessageEntity) bool {
			return e.Type == models.MessageEntityTypeCode || intoTelegram(e.URL)
		},
		func(b models.InlineKeyboardButton) bool { return b.CallbackData != "" || intoTelegram(b.URL) },
	)
}

// keep returns c with only the entities and the buttons for which the functions return true.
func (c Content) keep(
	entity func(models.MessageEntity) bool, button func(models.InlineKeyboardButton) bool,
) Content {
	c.Entities = slices.DeleteFunc(slices.Clone(c.Entities), func(e models.MessageEntity) bool { return !entity(e) })
	keyboard, ok := c.Markup.(*models.InlineKeyboardMarkup)
	if !ok {
		return c
	}
	var rows [][]models.InlineKeyboardButton
	for _, row := range keyboard.InlineKeyboard {
		row = slices.DeleteFunc(slices.Clone(row), func(b models.InlineKeyboardButton) bool { return !button(b) })
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	c.Markup = nil
	if rows != nil {
		c.Markup = &models.InlineKeyboardMarkup{InlineKeyboard: rows}
	}
	return c
}

// intoTelegram reports whether a link leads into Telegram.
func intoTelegram(url string) bool { return strings.HasPrefix(url, "https://t.me/") }
