package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// value is one as it was given: in a line of an env file, or in the process
// environment, where docker run --env-file and others leave quotes and comments
// that they do not understand. It is read in the same way from both.
//
// A value may stand in single or double quotes, which are removed; nothing in
// them is expanded. White space and invisible characters around it are removed.
// Outside quotes, a # after white space begins a comment, and so does one at the
// start with white space after it.
//
// A secret may really hold what is removed here. It can be put in quotes, even
// if it begins with a quote itself ('"key"' is "key"), or into the file that
// NAME_FILE names, where quotes and # are part of it.
type value struct {
	text string
	// whole is the text with what was taken for a comment.
	whole string
	err   error // with which the text cannot be told
	line  int   // in the env file, from 1
}

var trailingComment = regexp.MustCompile(`^#([\s\pZ].*)?$|[\s\pZ]#.*$`)

func withoutComment(text string) string { return trim(trailingComment.ReplaceAllString(text, "")) }

func readValue(raw string) value {
	whole := trim(raw)
	if whole == "" || whole[0] != '"' && whole[0] != '\'' {
		return value{text: withoutComment(raw), whole: whole}
	}
	quote := whole[:1]
	inside, after, closed := strings.Cut(whole[1:], quote)
	switch {
	case !closed || withoutComment(after) != "":
		return value{err: errors.New("begins with a quote that does not end it; put the whole value in quotes of the other kind, or in none")}
	case quote == `"` && strings.Contains(inside, `\`):
		return value{err: errors.New("has a backslash in double quotes, which some programs read as an escape; use single quotes")}
	}
	inside = trim(inside)
	return value{text: inside, whole: inside}
}

// isSet reports whether there is a value, whatever its form.
func (v value) isSet() bool { return v.text != "" || v.err != nil }

// trim removes white space around a value, and what a page or an editor may have
// put there that nobody sees.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

// odd describes the first character in text that looks like another, or like
// nothing, as in text that was copied from a page; empty is none. It shows that
// character alone.
func odd(text string) string {
	for i, r := range []rune(text) {
		if what := oddKind(r); what != "" {
			return fmt.Sprintf("%s (%U) at character %d", what, r, i+1)
		}
	}
	return ""
}

func oddKind(r rune) string {
	switch {
	case r <= unicode.MaxASCII:
		return ""
	case unicode.Is(unicode.Cf, r):
		return "an invisible character"
	case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
		return "an unusual space"
	case unicode.In(r, unicode.Pi, unicode.Pf), strings.ContainsRune("‚„", r):
		return "a typographic quote"
	case unicode.Is(unicode.Pd, r):
		return "a typographic dash"
	}
	return ""
}
