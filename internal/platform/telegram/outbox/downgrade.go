package outbox

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"herald/internal/platform/telegram/botapi"
)

// downgrade removes from contents what the server may have refused, if err is an unexplained
// refusal. It reports whether that changed any of them. The server may be too old for an entity
// or a button, or refuse an address such as http://localhost.
func downgrade(err *botapi.Error, contents ...*Content) (changed bool) {
	if !err.Unexplained() {
		return false
	}
	for _, c := range contents {
		p := plain(*c)
		changed = changed || !reflect.DeepEqual(p, *c)
		*c = p
	}
	return changed
}

// plain returns c with only those entities and buttons that every server takes and the bot cannot
// do without: code, because Telegram could otherwise make links of untrusted text; links into
// Telegram, because one of them names the command that a question belongs to (askedFor in package
// telegram); and buttons that carry a command.
func plain(c Content) Content {
	intoTelegram := func(url string) bool { return strings.HasPrefix(url, "https://t.me/") }
	c.Entities = slices.DeleteFunc(slices.Clone(c.Entities), func(e models.MessageEntity) bool {
		return e.Type != models.MessageEntityTypeCode && !intoTelegram(e.URL)
	})
	keyboard, ok := c.Markup.(*models.InlineKeyboardMarkup)
	if !ok {
		return c
	}
	var rows [][]models.InlineKeyboardButton
	for _, row := range keyboard.InlineKeyboard {
		row = slices.DeleteFunc(slices.Clone(row), func(b models.InlineKeyboardButton) bool {
			return b.CallbackData == "" && !intoTelegram(b.URL)
		})
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
