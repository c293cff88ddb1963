package outbox

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"
)

// part is a part of a message that is left out if Telegram refuses the message because of it: an answer without a link
// is better than no answer. A part is one bit, so that a value can combine several parts.
//
// The parameters that make a message ephemeral, and the topic of a channel's direct messages, are not parts: without
// them, the wrong users would read the message.
type part uint8

// The parts.
const (
	linkPart    part = 1 << iota // links that lead out of Telegram
	picturePart                  // the picture; its caption becomes the text
	formatPart                   // entities and buttons that an old server may not know
	threadPart                   // the topic of a group
	replyPart                    // the message to reply to
)

// parts returns the parts that can be left out of the message. An edit and an ephemeral message can only do without
// links and formats.
func (m *Message) parts() part {
	all := m.Content.parts()
	if !m.isNew() {
		return all &^ picturePart
	}
	if m.To.Thread != 0 {
		all |= threadPart
	}
	if m.To.ReplyTo != 0 {
		all |= replyPart
	}
	return all
}

// isNew reports whether the message is neither an edit nor an ephemeral message.
func (m *Message) isNew() bool { return m.EditID == 0 && !m.Ephemeral.Arrived() }

// parts returns the parts that can be left out of the content: leaving out one of them changes it.
func (c *Content) parts() (all part) {
	for _, p := range []part{linkPart, picturePart, formatPart} {
		if !reflect.DeepEqual(c.without(p), *c) {
			all |= p
		}
	}
	return all
}

// leaveOut removes parts from the message.
func (m *Message) leaveOut(parts part) {
	if parts&threadPart != 0 {
		m.To.Thread = 0
	}
	if parts&replyPart != 0 {
		m.To.ReplyTo = 0
	}
	m.Content = m.Content.without(parts)
}

// without returns c without some parts.
func (c Content) without(parts part) Content {
	if parts&linkPart != 0 {
		c = c.keep(staysInTelegram, buttonStaysInTelegram)
	}
	if parts&picturePart != 0 {
		c.Picture = nil
	}
	if parts&formatPart != 0 {
		c = c.keep(isEssential, carriesCommand)
	}
	return c
}

func staysInTelegram(e models.MessageEntity) bool { return e.URL == "" || intoTelegram(e.URL) }

func buttonStaysInTelegram(b models.InlineKeyboardButton) bool {
	return b.URL == "" || intoTelegram(b.URL)
}

// isEssential reports whether an entity stays even in plain text. Code keeps Telegram from making links of untrusted
// text. A link into Telegram may name the command that a question belongs to (askedFor in package telegram).
func isEssential(e models.MessageEntity) bool {
	return e.Type == models.MessageEntityTypeCode || intoTelegram(e.URL)
}

// carriesCommand reports whether a button sends a command, itself or by a link into Telegram.
func carriesCommand(b models.InlineKeyboardButton) bool {
	return b.CallbackData != "" || intoTelegram(b.URL)
}

// intoTelegram reports whether a link leads into Telegram.
func intoTelegram(url string) bool { return strings.HasPrefix(url, "https://t.me/") }

// keep returns c with only those entities and buttons that the functions accept.
func (c Content) keep(
	keepsEntity func(models.MessageEntity) bool, keepsButton func(models.InlineKeyboardButton) bool,
) Content {
	c.Entities = filter(c.Entities, keepsEntity)
	keyboard, isKeyboard := c.Markup.(*models.InlineKeyboardMarkup)
	if !isKeyboard {
		return c
	}
	var rows [][]models.InlineKeyboardButton
	for _, row := range keyboard.InlineKeyboard {
		row = filter(row, keepsButton)
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

// filter returns a copy of all with only the elements that keep accepts.
func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}
