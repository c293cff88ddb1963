package telegram

import (
	"strings"

	"herald/internal/platform/telegram/botapi"
)

// A question for an argument carries the command that it is for, since nothing
// else is kept of it: a link below its first character, which is invisible. A
// reply quotes that message with its entities. The link is believed in messages
// of this bot alone, and nobody else can have it write one: what is foreign is
// never a link there.
const (
	hidden     = "\u200b"
	askPayload = "ask-"
)

// maxPlaceholder is in characters, https://core.telegram.org/bots/api#forcereply.
const maxPlaceholder = 64

// deepLink opens the private chat with a bot, which is then told payload: 1 to 64
// of A-Za-z0-9_-, https://core.telegram.org/bots/features#deep-linking.
func deepLink(bot, payload string) string { return "https://t.me/" + bot + "?start=" + payload }

// askedFor is the command for which the bot asked in a message, or "".
func askedFor(m *message, me botapi.User) string {
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

// cut is s, or as much of it as makes n characters with an ellipsis.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
