package discord

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// always are the characters that mean something to Discord's markdown wherever
// they stand: emphasis, code, spoilers, links, and what opens a mention, a
// timestamp or an emoji.
// https://support.discord.com/hc/en-us/articles/210298617
const always = "\\*_~`|[]<>@"

// escape makes one line of plain text show as it is: as much of s as fits into
// limit UTF-16 units, with an ellipsis where something is missing. It never
// cuts an escape in two.
func escape(s string, limit int) string {
	var b strings.Builder
	size, fits := 0, 0 // fits is how much of b leaves room for the ellipsis
	for i, r := range s {
		piece := string(r)
		if special(s, i, r) {
			piece = `\` + piece
		}
		size += units(piece)
		if size > limit {
			return b.String()[:fits] + "…"
		}
		b.WriteString(piece)
		if size < limit {
			fits = b.Len()
		}
	}
	return b.String()
}

// special tells whether the r at s[i] needs a backslash. Lists, headings,
// quotes and small print begin a line; a colon begins an address or names an
// emoji unless it ends a word or stands in a time.
func special(s string, i int, r rune) bool {
	before, after := s[:i], s[i+utf8.RuneLen(r):]
	switch {
	case strings.ContainsRune(always, r):
		return true
	case r == '-' || r == '+' || r == '#':
		return before == ""
	case r == '.' || r == ')':
		return before != "" && strings.Trim(before, "0123456789") == ""
	case r == ':':
		next, _ := utf8.DecodeRuneInString(after)
		last, _ := utf8.DecodeLastRuneInString(before)
		return after != "" && !unicode.IsSpace(next) && !(unicode.IsDigit(last) && unicode.IsDigit(next))
	}
	return false
}

// units is the length of s in UTF-16 units, the longest way in which a limit
// of Discord's can be counted.
func units(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
