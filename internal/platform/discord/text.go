package discord

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape adds backslashes to one line of plain text, valid UTF-8, so that Discord
// shows it as it is.
func escape(s string) string {
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if special(s, i) {
			b.WriteString(s[from:i])
			b.WriteByte('\\')
			from = i
		}
	}
	if b.Len() == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// special reports whether the byte at i needs a backslash. Lists, headings,
// quotes and small print begin a line; a colon begins an address or names an
// emoji unless it ends a word or stands in a time.
// https://support.discord.com/hc/en-us/articles/210298617
func special(s string, i int) bool {
	switch s[i] {
	case '\\', '*', '_', '~', '`', '|', '[', ']', '<', '>', '@':
		// Emphasis, code, spoilers, links, and what opens a mention, a timestamp
		// or an emoji mean something wherever they stand.
		return true
	case '-', '+', '#':
		return i == 0
	case '.', ')':
		return i > 0 && strings.HasPrefix(s[i+1:], " ") && strings.Trim(s[:i], "0123456789") == ""
	case ':':
		next, _ := utf8.DecodeRuneInString(s[i+1:])
		last, _ := utf8.DecodeLastRuneInString(s[:i])
		return i+1 < len(s) && !unicode.IsSpace(next) && !(unicode.IsDigit(last) && unicode.IsDigit(next))
	default:
		return false
	}
}

// units counts s in UTF-16 units, the largest count by which Discord may judge a
// length.
func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// cut shortens s to at most limit UTF-16 units, with an ellipsis at the end.
func cut(s string, limit int) string {
	if units(s) <= limit {
		return s
	}
	used := 1 // for the ellipsis
	for i, r := range s {
		if used += utf16.RuneLen(r); used > limit {
			return s[:i] + "…"
		}
	}
	return s
}
