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

// Card is a Reply in its language, for an adapter to render. Its texts are not escaped: the
// adapter escapes its platform's markup.
type Card struct {
	Language chat.Language
	Tone     chat.Tone
	// Sign begins the first line, and Dot precedes the Subtitle. Either may be empty.
	Sign, Dot string
	Title     Line
	// Subtitle is shown on the title's line, less prominent.
	Subtitle Line
	Text     Line
	Sections []Section
	// FullValues are the unshortened forms of values above, shown small or folded away.
	FullValues []Field
	// Folded follows FullValues on platforms that can fold it away. Others leave it out.
	Folded []Field
	// Notes are small print, a line each.
	Notes []Line
	// Footer is the last line. It joins Source and the age of Checked, which a platform
	// may show apart.
	Footer, Source Line
	Checked        time.Time
	// Image may be nil.
	Image   *Image
	Buttons []Button
	// Ask may be nil.
	Ask *Ask
}

// Section is a list of fields, a line each, under an optional heading.
type Section struct {
	Heading Line
	Fields  []Field
}

// Field is one value of a Section. Either part may be empty.
type Field struct{ Name, Value Line }

// row returns one field that shows all fields on one line. Its spaces are non-breaking, so
// the line wraps only between fields, before a dot.
func row(fields []Field) Field {
	line := make(Line, 0, 4*len(fields))
	for i, f := range fields {
		if i > 0 {
			line = append(line, Span{Text: "  ·\u00a0\u00a0"})
		}
		if !f.Value.Empty() {
			f.Value = append(Line{{Text: " "}}, f.Value...)
		}
		for _, s := range append(slices.Clone(f.Name), f.Value...) {
			s.Text = strings.ReplaceAll(s.Text, " ", "\u00a0")
			line = append(line, s)
		}
	}
	return Field{Value: line}
}

// Line is a text in parts of different styles. Cards share lines, so a line is never
// changed in place.
type Line []Span

// Style is how a Span is shown.
type Style int

// The styles.
const (
	// Plain is ordinary text.
	Plain Style = iota
	// Code is text that people copy exactly; nothing in it is a link.
	Code
	// Untrusted is text of a service or a user; nothing in it is a link.
	Untrusted
	// Command is a command that can be tapped, such as "/price".
	Command
	// Strong is text that stands out.
	Strong
)

// Span is a part of a Line.
type Span struct {
	// Text is complete: a platform may ignore the fields below.
	Text  string
	Style Style
	// URL is the target of a link, or empty.
	URL string
	// Moment is the time behind a Text such as "2 min ago", and nil behind other text. A
	// platform that formats times itself shows Moment instead of Text.
	Moment *Moment
	// Person is the user whom Text names, or nil. The mention must not notify them.
	Person *chat.User
}

// Moment is a time, and the same time as a date.
type Moment struct {
	time.Time
	Date string
}

// Image is a picture. Name is as in chat.Image, and Alt is the alternative text: the caption, and
// the card's subtitle.
type Image struct {
	Name, Alt string
	PNG       []byte
}

// Button has exactly one of State, URL, Copy, Private and Invite.
type Button struct {
	Label string
	// State is handed back on a press, for chat.ParseState.
	State     string
	URL, Copy string
	// Private opens the private chat with the bot.
	Private bool
	// Invite adds the bot to a group.
	Invite bool
	// NewRow begins a row.
	NewRow bool
	// Current marks the choice that the card shows. At most one button of a card is the
	// NextStep. A platform may colour either.
	Current, NextStep bool
}

// Ask asks for the last argument of Command, after Args.
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

// Empty reports whether there is nothing to show.
func (l Line) Empty() bool {
	return !slices.ContainsFunc(l, func(s Span) bool { return s.Text != "" })
}

// dot stands between the lines that Join joins. A line may wrap before it, and not after it.
var dot = Span{Text: " ·\u00a0"}

// hanRun matches Chinese without a space or a mark in it, and the digit before it.
var hanRun = regexp.MustCompile(`[0-9]?\p{Han}+`)

// maxHanWord is the maximum number of characters of a hanRun that is not a sentence.
const maxHanWord = 6

// unbroken returns l with word joiners within short runs of Chinese, where apps would wrap a line
// between any two characters. It does not change code and text of services and users.
func (l Line) unbroken() Line {
	if !slices.ContainsFunc(l, hasHan) {
		return l
	}
	return each(l, func(s Span) Span {
		if s.Style == Plain || s.Style == Strong {
			s.Text = hanRun.ReplaceAllStringFunc(s.Text, joinedWord)
		}
		return s
	})
}

func hasHan(s Span) bool {
	return strings.ContainsFunc(s.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// joinedWord returns a run of Chinese with word joiners in it, unless it is longer than maxHanWord: that
// is a sentence, which has to wrap.
func joinedWord(run string) string {
	if utf8.RuneCountInString(run) > maxHanWord {
		return run
	}
	return strings.Join(strings.Split(run, ""), "\u2060")
}

// CutDot returns l up to the first dot of Join, and the rest with that dot. Only the first
// part of a value stands out.
func (l Line) CutDot() (first, rest Line) {
	if i := slices.Index(l, dot); i >= 0 {
		return l[:i], l[i:]
	}
	return l, nil
}

// Join returns the lines that are not empty as one, with a dot between them.
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
