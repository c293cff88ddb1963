package terminal

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png" // the pictures that the bot sends
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"herald/internal/demo/fake/telegram"
)

// simulated is appended to the first line of every message.
const simulated = " (simulated)"

// rendered returns a message as text without empty lines: a note of who sees it, the picture's size, the text, and the
// labels of the buttons, which the user can type. readers describes who sees the message. It is "" if the whole group
// does.
func rendered(m *telegram.Sent, readers string, now time.Time) []cell {
	var notes []string
	if readers != "" {
		notes = append(notes, readers)
	}
	if m.Edits > 0 {
		notes = append(notes, "changed")
	}
	var parts [][]cell
	if len(notes) > 0 {
		parts = append(parts, cellsOf("("+strings.Join(notes, ", ")+")", dim))
	}
	if m.Photo != nil {
		parts = append(parts, cellsOf("("+describe(m.Photo)+")", dim))
	}
	parts = append(parts, marked(body(m.Text, m.Entities, now)))
	if buttons := buttonLine(m.Markup); buttons != "" {
		parts = append(parts, cellsOf(buttons, normal))
	}
	if m.Markup.ForceReply {
		parts = append(parts, cellsOf("(your next line is the answer)", dim))
	}
	return joinLines(parts)
}

// joinLines returns the non-empty parts, one per line.
func joinLines(parts [][]cell) (text []cell) {
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if text != nil {
			text = append(text, cell{char: '\n'})
		}
		text = append(text, part...)
	}
	return text
}

// marked returns a text without its empty lines, and with simulated at the end of its first line.
func marked(text []cell) []cell {
	lines := split(text, '\n')
	for i, line := range lines {
		if len(line) > 0 {
			lines[i] = slices.Concat(line, cellsOf(simulated, dim))
			break
		}
	}
	return joinLines(lines)
}

// describe returns the format and the size of a picture.
func describe(picture []byte) string {
	size, format, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return "a picture"
	}
	return fmt.Sprintf("picture: %s, %d x %d", strings.ToUpper(format), size.Width, size.Height)
}

// body returns a text with its entities, as an app shows them.
// https://core.telegram.org/bots/api#messageentity
func body(text string, entities []telegram.Entity, now time.Time) (cells []cell) {
	// All indexes and keys are offsets in UTF-16 code units. A text has at most as many units as bytes.
	looks := make([]look, len(text))
	ages := map[int]string{}  // by the begin of the entity that an age replaces
	links := map[int]string{} // by the end of a link, its URL
	for _, e := range entities {
		begin := min(max(e.Offset, 0), len(looks))
		end := min(max(e.Offset+e.Length, begin), len(looks))
		age := ageOf(e, now)
		ages[begin] += age
		if isWeb(e.URL) {
			links[end] += " (" + e.URL + ")"
		}
		for i := begin; i < end; i++ {
			looks[i] |= lookOf(e)
			if age != "" {
				looks[i] |= hidden
			}
		}
	}
	unit := 0
	for _, r := range text {
		cells = append(cells, cellsOf(ages[unit], looks[unit]&^hidden)...)
		if isShown(r) && looks[unit]&hidden == 0 {
			cells = append(cells, cell{char: r, look: looks[unit]})
		}
		unit += utf16.RuneLen(r)
		cells = append(cells, cellsOf(links[unit], normal)...)
	}
	return cells
}

// isShown reports whether a character is printed. Control characters are not, because they could be part of escape
// sequences. Format characters such as word joiners are not, because users would copy them with the text.
func isShown(r rune) bool { return r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf) }

func lookOf(e telegram.Entity) look {
	switch e.Type {
	case "bold":
		return bold
	case "italic":
		return dim // like small print
	case "blockquote", "expandable_blockquote":
		return quoted
	}
	return normal
}

// ageOf returns how long ago the time of an entity was, such as "5 min ago". It returns "" if the entity has no such
// time: then its text is printed.
func ageOf(e telegram.Entity, now time.Time) string {
	if e.Type != "date_time" || e.TimeFormat != "r" {
		return ""
	}
	const day = 24 * time.Hour
	age := now.Sub(time.Unix(e.UnixTime, 0))
	switch {
	case age < 0:
		return ""
	case age < time.Second:
		return "just now"
	case age < time.Minute:
		return fmt.Sprintf("%d s ago", age/time.Second)
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", age/time.Minute)
	case age < day:
		return fmt.Sprintf("%d h ago", age/time.Hour)
	case age < 2*day:
		return "1 day ago"
	}
	return fmt.Sprintf("%d days ago", age/day)
}

// isWeb reports whether a link leads to a web page. Links to t.me do not: they open a chat.
func isWeb(link string) bool {
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "t.me"
}

// startParameter returns the parameter of a link that opens the private chat with the bot. The app sends it with
// /start. startParameter returns false for any other link.
// https://core.telegram.org/bots/features#deep-linking
func startParameter(link string) (parameter string, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Host != "t.me" || !u.Query().Has("start") {
		return "", false
	}
	return u.Query().Get("start"), true
}

// buttonLine returns the labels of the buttons, which the user can type, and the URLs that buttons open. It omits
// buttons that copy, because their text can be copied from the message.
func buttonLine(m telegram.Markup) string {
	var labels []string
	for _, b := range flat(m) {
		if b.Copy != nil {
			continue
		}
		label := strings.ReplaceAll("["+b.Text+"]", " ", string(noBreak))
		if isWeb(b.URL) {
			label += string(noBreak) + b.URL
		}
		labels = append(labels, label)
	}
	return strings.Join(labels, " ·"+string(noBreak))
}

// flat returns the buttons of all rows in order. It removes newlines, and characters that are not shown, from their
// labels.
func flat(m telegram.Markup) []telegram.Button {
	buttons := slices.Concat(m.Rows...)
	for i := range buttons {
		buttons[i].Text = strings.Map(func(r rune) rune {
			if !isShown(r) || r == '\n' {
				return -1
			}
			return r
		}, buttons[i].Text)
	}
	return buttons
}
