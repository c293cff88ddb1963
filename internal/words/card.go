package words

import (
	"strings"
	"time"

	"herald/internal/chat"
)

// Card is a Reply in its language, for an adapter to render. All of it is text: the
// adapter escapes what its platform would take for markup.
type Card struct {
	Language chat.Language
	Tone     chat.Tone
	Title    Line
	Text     Line
	Sections []Section
	// Details are the exact values of what stands short above. They are shown small
	// or folded away.
	Details []Field
	// Notes are small print, a line each.
	Notes []Line
	// Image may be nil.
	Image   *Image
	Buttons []Button
	// Ask may be nil.
	Ask *Ask
}

// Section is a list of fields under an optional heading.
type Section struct {
	Heading Line
	Fields  []Field
}

// Field is one line of a Section. Either part may be empty.
type Field struct{ Name, Value Line }

// Line is text in parts that are shown in different ways. Cards share lines, so a
// line is never changed in place.
type Line []Span

// Style is how a Span is shown.
type Style int

// The styles.
const (
	// Plain is ordinary text.
	Plain Style = iota
	// Code is to be copied letter by letter; nothing in it is a link.
	Code
	// Untrusted is what a service or a user named; nothing in it is a link.
	Untrusted
)

// Span is a part of a Line.
type Span struct {
	// Text is shown by a platform that can do nothing with the fields below.
	Text  string
	Style Style
	// URL is where the text leads, or empty.
	URL string
	// At is the time if Text says how long ago something was, or zero. A platform
	// that shows times itself shows this one. UTC is the same time as a date.
	At  time.Time
	UTC string
	// Person and Channel are mentioned without notifying anybody. Both may be nil.
	Person  *chat.User
	Channel *chat.Channel
}

// Image is a picture with its alternative text.
type Image struct {
	Name, Alt string
	PNG       []byte
}

// Button has exactly one of State, URL and Copy.
type Button struct {
	Label string
	// State comes back when the button is pressed, for chat.ParseState.
	State     string
	URL, Copy string
}

// Ask is a question for the last argument of Command.
type Ask struct {
	Command, Param    string
	Question, Example string
}

// String returns the line as plain text.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Empty reports whether there is nothing to show.
func (l Line) Empty() bool { return l.String() == "" }
