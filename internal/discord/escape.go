package discord

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape makes one line of plain text, valid UTF-8, show as it is.
func escape(s string) string {
	var b strings.Builder
	from := 0
	for at := range special(s) {
		b.WriteString(s[from:at])
		b.WriteByte('\\')
		from = at
	}
	if b.Len() == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// units is the length of s in UTF-16 units, the longest way in which a limit of
// Discord's can be counted.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// special are the places in s that need a backslash. Lists, headings, quotes and
// small print begin a line; a colon begins an address or names an emoji unless
// it ends a word or stands in a time.
// https://support.discord.com/hc/en-us/articles/210298617
func special(s string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range len(s) {
			var escaped bool
			switch s[i] {
			case '\\', '*', '_', '~', '`', '|', '[', ']', '<', '>', '@':
				// Emphasis, code, spoilers, links, and what opens a mention, a
				// timestamp or an emoji mean something wherever they stand.
				escaped = true
			case '-', '+', '#':
				escaped = i == 0
			case '.', ')':
				escaped = i > 0 && strings.HasPrefix(s[i+1:], " ") && strings.Trim(s[:i], "0123456789") == ""
			case ':':
				next, _ := utf8.DecodeRuneInString(s[i+1:])
				last, _ := utf8.DecodeLastRuneInString(s[:i])
				escaped = i+1 < len(s) && !unicode.IsSpace(next) && !(unicode.IsDigit(last) && unicode.IsDigit(next))
			}
			if escaped && !yield(i) {
				return
			}
		}
	}
}
