package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
)

// Telegram marks the commands and mentions in a text by entities, whose offsets and lengths count UTF-16 units.

// typedCommand is a bot command at the beginning of a text, such as "/price@OurBot" or "@OurBot /price".
type typedCommand struct {
	name string // in lower case; "" if the text does not begin with a command
	// suffix is the username after the command's @, or "".
	suffix string
	// mentioned is the username in a mention before the command, or "".
	mentioned string
	end       int // where the command ends in the text, in UTF-16 units
}

// isFor reports whether the command is addressed to a bot, or to no bot in particular.
func (c *typedCommand) isFor(bot *models.User) bool {
	addressee := cmp.Or(c.suffix, c.mentioned)
	return addressee == "" || strings.EqualFold(addressee, bot.Username)
}

// namesAnotherBot reports whether the username after the command's @ is not the username of me.
func (c *typedCommand) namesAnotherBot(me *models.User) bool { return c.suffix != "" && !c.isFor(me) }

// leadingCommand returns the bot command at the very beginning of a text, or after one mention there.
func leadingCommand(units []uint16, entities []models.MessageEntity, me *models.User) typedCommand {
	mentioned, begin := leadingMention(units, entities, me)
	for _, e := range entities {
		isCommand := e.Type == models.MessageEntityTypeBotCommand && within(&e, units)
		if !isCommand || e.Offset != begin || units[begin] != '/' {
			continue
		}
		end := e.Offset + e.Length
		name, suffix, _ := strings.Cut(string(utf16.Decode(units[begin+1:end])), "@")
		return typedCommand{name: strings.ToLower(name), suffix: suffix, mentioned: mentioned, end: end}
	}
	return typedCommand{}
}

// leadingMention returns the username in a mention at the very beginning of a text, and where the text continues after
// the mention and the separators behind it. If there is no mention, it returns "" and 0.
func leadingMention(units []uint16, entities []models.MessageEntity, me *models.User) (username string, end int) {
	for _, e := range entities {
		if e.Offset != 0 || !within(&e, units) {
			continue
		}
		switch {
		case e.Type == models.MessageEntityTypeMention && units[0] == '@':
			username = string(utf16.Decode(units[1:e.Length]))
			end = e.Length
		case e.Type == models.MessageEntityTypeTextMention && e.User != nil && e.User.ID == me.ID:
			username = me.Username
			end = e.Length
		}
	}
	if end == 0 {
		return "", 0
	}
	const separators = " \n\u00a0,:"
	for end < len(units) && strings.ContainsRune(separators, rune(units[end])) {
		end++
	}
	return username, end
}

// isForAnotherName reports whether m has a known command for a bot with another username than me. m may be nil.
func isForAnotherName(m *models.Message, me *models.User, commands chat.Commands) bool {
	if m == nil {
		return false
	}
	text, entities := textOf(m)
	if !strings.Contains(text, "@") { // This saves parsing most commands twice.
		return false
	}
	typed := leadingCommand(utf16.Encode([]rune(text)), entities, me)
	_, known := commands.Find(typed.name)
	return known && !typed.isFor(me)
}

// cutMention returns the first user who is mentioned after the command, or nil, and the text after the command without
// that mention. from is where the command ends. A mention by username stays a word, because Telegram gives bots no ID
// for it.
func cutMention(units []uint16, from int, entities []models.MessageEntity) (mentioned *models.User, rest string) {
	for _, e := range entities {
		isMention := e.Type == models.MessageEntityTypeTextMention && e.User != nil && within(&e, units)
		if !isMention || e.Offset < from {
			continue
		}
		return e.User, string(utf16.Decode(slices.Concat(units[from:e.Offset], []uint16{' '}, units[e.Offset+e.Length:])))
	}
	return nil, string(utf16.Decode(units[from:]))
}
