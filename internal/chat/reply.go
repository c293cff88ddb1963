package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tone is the drift of a Reply, for its colour or sign.
type Tone int

// The tones.
const (
	Neutral Tone = iota
	// Positive is a yes.
	Positive
	// Negative is a no that was checked.
	Negative
	// Warning is an answer that could not be given, or not wholly.
	Warning
)

// Reply is an answer, free of its platform. All of it is plain text: a
// renderer escapes whatever its platform would take for markup, and has Fit
// shorten what its platform has no room for.
type Reply struct {
	Tone     Tone
	Title    string
	Text     string
	Sections []Section
	// Notes are small print, a line each.
	Notes []string
	// SaidBefore is true for a refusal that its asker was told in this chat
	// within the last minute. A platform on which every answer is a message of
	// its own leaves it out.
	SaidBefore bool
}

// Section is a list of fields under an optional heading.
type Section struct {
	Heading string
	Fields  []Field
}

// Field is one line of a Section. Either part may be empty.
type Field struct {
	Name, Value string
	// ForeignName and ForeignValue mark what a service or a user named, which a
	// platform must not make a link of: Foreign cannot know all that it would.
	ForeignName, ForeignValue bool
}

// Clean is the reply with every string fit to be shown: valid UTF-8, without
// control characters or marks that turn the direction of writing. Fit begins
// with it, and so does a renderer without a limit.
func (r Reply) Clean() Reply {
	clean := r
	clean.Title = oneLine(r.Title)
	clean.Text = oneLine(r.Text)
	clean.Sections = make([]Section, len(r.Sections))
	for i, s := range r.Sections {
		clean.Sections[i] = Section{Heading: oneLine(s.Heading), Fields: make([]Field, len(s.Fields))}
		for j, f := range s.Fields {
			f.Name, f.Value = oneLine(f.Name), oneLine(f.Value)
			clean.Sections[i].Fields[j] = f
		}
	}
	clean.Notes = make([]string, len(r.Notes))
	for i, n := range r.Notes {
		clean.Notes[i] = oneLine(n)
	}
	return clean
}

// wordJoiner is invisible and forbids a break; it ends what a platform would
// read as a mention or a link.
const wordJoiner = "\u2060"

// oneLine folds white space and drops what is not for the eye.
func oneLine(s string) string {
	if isPlain(s) {
		return s
	}
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

// isPlain reports whether s is one clean line already, as nearly every string of
// a Reply is: printable ASCII with single spaces between words.
func isPlain(s string) bool {
	last := byte(' ')
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && last == ' ' {
			return false
		}
		last = s[i]
	}
	return s == "" || last != ' '
}

// defused breaks what every platform would make a mention or a link of.
var defused = strings.NewReplacer("@", "@"+wordJoiner, "://", ":"+wordJoiner+"//")

// Foreign makes text of a service or a user harmless in any platform: one
// clean line of at most limit characters, without what platforms read as a
// mention or a link with a scheme; a renderer escapes the rest. Every such text
// passes through it on its way into a Reply.
func Foreign(s string, limit int) string {
	// A character has at most four bytes.
	s = oneLine(s[:min(len(s), 8*limit)])
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit-1]) + "…"
	}
	return defused.Replace(s)
}
