package discord

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// always are the characters that mean something to Discord's markdown wherever
// they stand: emphasis, code, spoilers, links, and what opens a mention, a
// timestamp or an emoji.
// https://support.discord.com/hc/en-us/articles/210298617
const always = "\\*_~`|[]<>@"

// escape makes one line of plain text, valid UTF-8, show as it is.
func escape(s string) string {
	var b strings.Builder
	number := len(s) - len(strings.TrimLeft(s, "0123456789")) // where a number ends that begins s
	for i, r := range s {
		if special(s, i, r, number) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// special reports whether the r at s[i] needs a backslash. Lists, headings,
// quotes and small print begin a line; a colon begins an address or names an
// emoji unless it ends a word or stands in a time.
func special(s string, i int, r rune, number int) bool {
	before, after := s[:i], s[i+utf8.RuneLen(r):]
	switch {
	case strings.ContainsRune(always, r):
		return true
	case r == '-' || r == '+' || r == '#':
		return before == ""
	case r == '.' || r == ')':
		return i > 0 && i == number
	case r == ':':
		next, _ := utf8.DecodeRuneInString(after)
		last, _ := utf8.DecodeLastRuneInString(before)
		return after != "" && !unicode.IsSpace(next) && !(unicode.IsDigit(last) && unicode.IsDigit(next))
	}
	return false
}

// units is the length of s in UTF-16 units, the longest way in which a limit
// of Discord's can be counted.
func units(s string) int { return len(utf16.Encode([]rune(s))) }
