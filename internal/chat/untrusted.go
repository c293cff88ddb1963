package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Untrusted is text of a service or a user, made harmless by NewUntrusted. An
// adapter must still escape it and keep its platform from making links of it.
type Untrusted string

// NewUntrusted makes text harmless on any platform: one clean line of at most limit
// characters, without mentions or links that have a scheme. Every such text passes
// through it on its way into a Reply.
func NewUntrusted(s string, limit int) Untrusted {
	// A character has at most four bytes.
	s = OneLine(strings.ReplaceAll(s[:min(len(s), 8*limit)], wordJoiner, ""))
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit-1]) + "…"
	}
	return Untrusted(sanitizer.Replace(s))
}

// wordJoiner is invisible, and ends what a platform would read as a mention or a
// link.
const wordJoiner = "\u2060"

// sanitizer breaks what every platform would make a mention or a link of.
var sanitizer = strings.NewReplacer("@", "@"+wordJoiner, "://", ":"+wordJoiner+"//")

// OneLine returns s as one line of valid UTF-8, with single spaces between words
// and without control characters or marks that turn the direction of writing.
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
