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

// simulated ends the first line of every message.
const simulated = " (simulated)"

// rendered returns a message as text without empty lines: who sees it, its picture, its text, and
// what can be typed instead of pressing its buttons. who is empty if the whole group sees it.
func rendered(m *telegram.Sent, who string, now time.Time) []cell {
	var about []string
	if who != "" {
		about = append(about, who)
	}
	if m.Edits > 0 {
		about = append(about, "changed")
	}
	var parts [][]cell
	if len(about) > 0 {
		parts = append(parts, plain("("+strings.Join(about, ", ")+")", dim))
	}
	if m.Photo != nil {
		parts = append(parts, plain("("+describe(m.Photo)+")", dim))
	}
	parts = append(parts, marked(body(m.Text, m.Entities, now)))
	if buttons := buttonLine(m.Markup); buttons != "" {
		parts = append(parts, plain(buttons, 0))
	}
	if m.Markup.ForceReply {
		parts = append(parts, plain("(your next line is the answer)", dim))
	}
	return lines(parts)
}

// lines returns parts that are not empty, a line each.
func lines(parts [][]cell) (text []cell) {
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if text != nil {
			text = append(text, cell{r: '\n'})
		}
		text = append(text, part...)
	}
	return text
}

// marked returns a text without empty lines. Its first line ends with simulated.
func marked(text []cell) []cell {
	all := split(text, '\n')
	for i, line := range all {
		if len(line) > 0 {
			all[i] = slices.Concat(line, plain(simulated, dim))
			break
		}
	}
	return lines(all)
}

// describe returns what can be said of a picture in a line.
func describe(picture []byte) string {
	c, kind, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return "a picture"
	}
	return fmt.Sprintf("picture: %s, %d x %d", strings.ToUpper(kind), c.Width, c.Height)
}

// body returns a text with its entities, as an app shows them.
// https://core.telegram.org/bots/api#messageentity
func body(text string, entities []telegram.Entity, now time.Time) (cells []cell) {
	looks := make([]look, len(text)) // by UTF-16 unit; there are no more units than bytes
	before := map[int]string{}       // what is told in place of an entity, by the unit where it begins
	after := map[int]string{}        // where a link leads, by the unit after it
	for _, e := range entities {
		begin := min(max(e.Offset, 0), len(looks))
		end := min(max(e.Offset+e.Length, begin), len(looks))
		told := timeOf(e, now)
		before[begin] += told
		if isWeb(e.URL) {
			after[end] += " (" + e.URL + ")"
		}
		for i := begin; i < end; i++ {
			looks[i] |= lookOf(e)
			if told != "" {
				looks[i] |= hidden
			}
		}
	}
	unit := 0
	for _, r := range text {
		cells = append(cells, plain(before[unit], looks[unit]&^hidden)...)
		if isShown(r) && looks[unit]&hidden == 0 {
			cells = append(cells, cell{r: r, look: looks[unit]})
		}
		unit += utf16.RuneLen(r)
		cells = append(cells, plain(after[unit], 0)...)
	}
	return cells
}

// isShown reports whether a character is printed. Control characters could be escape sequences;
// characters of format, such as word joiners, would be copied with the text.
func isShown(r rune) bool { return r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf) }

func lookOf(e telegram.Entity) look {
	switch e.Type {
	case "bold":
		return bold
	case "italic":
		return dim // as small print is
	case "blockquote", "expandable_blockquote":
		return quoted
	}
	return 0
}

// timeOf returns how long ago the time of an entity was, or "" if the text tells the time.
func timeOf(e telegram.Entity, now time.Time) string {
	if e.Type != "date_time" || e.TimeFormat != "r" {
		return ""
	}
	return ago(now.Sub(time.Unix(e.UnixTime, 0)))
}

func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 2*day:
		return "1 day ago"
	}
	return fmt.Sprintf("%d days ago", d/day)
}

// isWeb reports whether a link leads to a web page, and not to a chat or a person.
func isWeb(link string) bool {
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "t.me"
}

// startParameter returns the parameter of a link that opens the private chat with the bot, and
// false for any other link. The app sends it with /start.
// https://core.telegram.org/bots/features#deep-linking
func startParameter(link string) (parameter string, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Host != "t.me" || !u.Query().Has("start") {
		return "", false
	}
	return u.Query().Get("start"), true
}

// buttonLine returns what can be typed or opened instead of pressing each button. It leaves out
// buttons that copy: their text can be copied from the message.
func buttonLine(m telegram.Markup) string {
	var all []string
	for _, b := range flat(m) {
		label := noBreaks("[" + b.Text + "]")
		if isWeb(b.URL) {
			label += string(noBreak) + b.URL
		}
		if b.Copy == nil {
			all = append(all, label)
		}
	}
	return strings.Join(all, " ·"+string(noBreak))
}

func noBreaks(text string) string { return strings.ReplaceAll(text, " ", string(noBreak)) }

// flat returns the buttons of a markup in order. Their labels have no characters that are not shown.
func flat(m telegram.Markup) (all []telegram.Button) {
	for _, row := range m.Rows {
		for _, b := range row {
			b.Text = strings.Map(func(r rune) rune {
				if !isShown(r) || r == '\n' {
					return -1
				}
				return r
			}, b.Text)
			all = append(all, b)
		}
	}
	return all
}
