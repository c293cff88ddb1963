package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Untrusted is text of a service or a user, made harmless by NewUntrusted. A platform
// must not make a link or markup of it: NewUntrusted cannot know all that it would.
type Untrusted string

// NewUntrusted makes text harmless on any platform: one clean line of at most
// limit characters, without what platforms read as a mention or a link with a
// scheme; a renderer escapes the rest. Every such text passes through it on its
// way into a Reply.
func NewUntrusted(s string, limit int) Untrusted {
	// A character has at most four bytes.
	s = OneLine(strings.ReplaceAll(s[:min(len(s), 8*limit)], wordJoiner, ""))
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit-1]) + "…"
	}
	return Untrusted(defused.Replace(s))
}

// wordJoiner is invisible and forbids a break; it ends what a platform would
// read as a mention or a link.
const wordJoiner = "\u2060"

// defused breaks what every platform would make a mention or a link of.
var defused = strings.NewReplacer("@", "@"+wordJoiner, "://", ":"+wordJoiner+"//")

// OneLine is s fit to be shown: valid UTF-8 in one line, without control
// characters or marks that turn the direction of writing, and with single spaces
// between words.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case string(r) == wordJoiner:
			return r
		case r == utf8.RuneError, !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
