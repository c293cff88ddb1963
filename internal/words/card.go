package words

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
)

// Card is a Reply in its language. An adapter renders it, and escapes its texts.
type Card struct {
	Language chat.Language
	Tone     chat.Tone
	// Sign is an emoji that begins the first line, such as "✅ ". It may be empty.
	Sign string
	// Dot is an emoji that precedes the Subtitle, such as "🟢 ". It may be empty.
	Dot   string
	Title Line
	// Subtitle is shown on the title's line, less prominent.
	Subtitle Line
	Text     Line
	Sections []Section
	// FullValues are the unshortened forms of shortened values in Sections. A platform shows
	// them in small print or folds them away.
	FullValues []Field
	// Folded follows FullValues if the platform can fold it away. Other platforms omit it.
	Folded []Field
	// Notes are small print, one line each.
	Notes []Line
	// Footer is the last line: Source, and how long ago Checked was. A platform may show Source and Checked separately
	// instead.
	Footer Line
	Source Line
	// Checked is when the source was last asked, or zero.
	Checked time.Time
	// Image is nil if the card has no picture.
	Image   *Image
	Buttons []Button
	// Ask is nil if the card asks for nothing.
	Ask *Ask
}

// Section is a list of fields, one line each, under an optional heading.
type Section struct {
	Heading Line
	Fields  []Field
}

// Field is one value of a Section. Either part may be empty.
type Field struct{ Name, Value Line }

// joinFields returns one Field that shows all fields on one line, with a dot between them. The line can wrap only
// before a dot, because all other spaces are non-breaking.
func joinFields(fields []Field) Field {
	line := make(Line, 0, 4*len(fields))
	for i, f := range fields {
		if i > 0 {
			line = append(line, Span{Text: "  ·\u00a0\u00a0"})
		}
		spans := slices.Clone(f.Name)
		if !f.Value.Empty() {
			spans = append(spans, Span{Text: " "})
			spans = append(spans, f.Value...)
		}
		for _, s := range spans {
			s.Text = strings.ReplaceAll(s.Text, " ", "\u00a0")
			line = append(line, s)
		}
	}
	return Field{Value: line}
}

// Line is a text. Its parts may have different styles. Cards share lines, so nothing changes a Line in place.
type Line []Span

// Style is how a Span is shown.
type Style int

// The styles.
const (
	// Plain is ordinary text.
	Plain Style = iota
	// Code is text that people copy exactly. A platform must not turn any of it into a link.
	Code
	// Untrusted is text from a service or a user. A platform must not turn any of it into a link.
	Untrusted
	// Command is a command that can be tapped, such as "/price".
	Command
	// Strong is emphasized text.
	Strong
)

// Span is a part of a Line.
type Span struct {
	// Text is complete without the other fields. A platform may ignore those.
	Text  string
	Style Style
	// URL is the target of a link, or empty.
	URL string
	// Moment is the time that a Text such as "2 min ago" describes, or nil. A platform that
	// formats times itself shows Moment instead of Text.
	Moment *Moment
	// Person is the user that Text names, or nil. The mention must not notify them.
	Person *chat.User
}

// Moment is a point in time. Date is its date and time in UTC, in the card's language.
type Moment struct {
	time.Time
	Date string
}

// Image is a picture. Name is as in chat.Image. Alt is the alternative text: the picture's
// caption and the card's subtitle.
type Image struct {
	Name, Alt string
	PNG       []byte
}

// Button has exactly one of State, URL, Copy, Private and Invite.
type Button struct {
	Label string
	// State is the state of the chat.Action, which chat.ParseState reads. The platform sends it back when the button is
	// pressed.
	State string
	// URL is opened.
	URL string
	// Copy is put on the clipboard.
	Copy string
	// Private opens the private chat with the bot.
	Private bool
	// Invite adds the bot to a group.
	Invite bool
	// NewRow begins a row of buttons.
	NewRow bool
	// Current marks the choice that the card shows. A platform may color the button.
	Current bool
	// NextStep marks the button that the reader most likely presses next. A card has at most one. A platform may color
	// the button.
	NextStep bool
}

// Ask asks the user for one more argument, which follows Args in the arguments of Command.
type Ask struct {
	Command  string
	Args     []string
	Question string
}

// String returns the line as plain text.
func (l Line) String() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Empty reports whether the line shows no text.
func (l Line) Empty() bool {
	return !slices.ContainsFunc(l, func(s Span) bool { return s.Text != "" })
}

// dot separates the lines that Join joins. A line can wrap before the dot, but not after it.
var dot = Span{Text: " ·\u00a0"}

// hanRun matches a run of Chinese characters without a space or punctuation, and a digit directly before it.
var hanRun = regexp.MustCompile(`[0-9]?\p{Han}+`)

// maxHanWord is the maximum length of a Chinese word in characters. A longer run is a sentence.
const maxHanWord = 6

// wordJoiner is an invisible character. A line cannot wrap at it.
const wordJoiner = "\u2060"

// keepWordsTogether returns l with word joiners in its Chinese words, because apps would wrap a
// line between any two Chinese characters. It does not change Code and Untrusted text.
func (l Line) keepWordsTogether() Line {
	if !slices.ContainsFunc(l, hasHan) {
		return l
	}
	return mapSlice(l, func(s Span) Span {
		if s.Style == Plain || s.Style == Strong {
			s.Text = hanRun.ReplaceAllStringFunc(s.Text, joinWord)
		}
		return s
	})
}

// hasHan reports whether a span has Chinese characters.
func hasHan(s Span) bool {
	return strings.ContainsFunc(s.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// joinWord returns a match of hanRun with word joiners between its characters. It returns a sentence unchanged, because
// sentences must wrap: see maxHanWord.
func joinWord(run string) string {
	if utf8.RuneCountInString(run) > maxHanWord {
		return run
	}
	return strings.Join(strings.Split(run, ""), wordJoiner)
}

// CutDot splits a line at the first dot that Join inserted. rest begins with the dot. If there is no such dot, first is
// the line, and rest is nil. Platforms emphasize only first.
func (l Line) CutDot() (first, rest Line) {
	if i := slices.Index(l, dot); i >= 0 {
		return l[:i], l[i:]
	}
	return l, nil
}

// Join returns the non-empty lines as one Line, with a dot between them.
func Join(lines ...Line) Line {
	all := make(Line, 0, 2*len(lines))
	for _, l := range lines {
		if !all.Empty() && !l.Empty() {
			all = append(all, dot)
		}
		all = append(all, l...)
	}
	return all
}
