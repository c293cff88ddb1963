package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// value is a value from a line of an env file, or from the process environment. The same rules apply to both, because
// docker run --env-file leaves quotes and comments in the environment.
//
// Single or double quotes around a value are removed, and so are white space and invisible characters on both sides of
// the quotes. Outside quotes, a # after white space begins a comment, and so does a # that begins the value, if white
// space follows. Inside quotes, nothing is special. Examples:
//
//	NAME=a # b      a
//	NAME=a#b        a#b
//	NAME='a # b'    a # b
//	NAME='"a"'      "a"
//
// In a file that NAME_FILE names, quotes and # are part of the secret.
type value struct {
	text string // "" if there is no value
	err  error  // why the value could not be read, or nil
	// line is the line in the env file, from 1. It is 0 if the value is from the process environment.
	line int
	// place is the beginning of an error about the value, as in "herald.env:7: ". It is "" if the value is from the
	// process environment.
	place string
}

// isSet reports whether there is a value. It need not be valid.
func (v value) isSet() bool { return v.text != "" || v.err != nil }

// readValue returns the value in raw, the text after the = of a line. It does not set the line and the place.
func readValue(raw string) value {
	raw = Trim(raw)
	isQuoted := strings.HasPrefix(raw, `"`) || strings.HasPrefix(raw, "'")
	if !isQuoted {
		return value{text: withoutComment(raw)}
	}
	quote := raw[:1]
	inside, after, isClosed := strings.Cut(raw[1:], quote)
	if !isClosed || withoutComment(after) != "" {
		return value{
			err: errors.New("begins with a quote that does not end it; put the whole value in quotes of the other " +
				"kind, or in none"),
		}
	}
	return value{text: Trim(inside)}
}

// withoutComment returns the text before a comment.
func withoutComment(text string) string { return Trim(comment.ReplaceAllString(text, "")) }

// comment matches a comment at the end of an unquoted value.
var comment = regexp.MustCompile(`^#([\s\pZ].*)?$|[\s\pZ]#.*$`)

// Trim removes white space around a value. It also removes invisible characters, which editors and
// web pages add.
func Trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

// parse adds the values in content to g. Each line has the form KEY=value, and may begin with "export ". parse skips
// blank lines and lines that begin with #. If two lines have different values for a key, parse keeps the first and
// reports the second.
func (g Given) parse(file, content string) (mistakes Errors) {
	for i, line := range strings.Split(content, "\n") {
		line = Trim(line)
		if isBlankOrComment(line) {
			continue
		}
		name, raw, isAssignment := cutAssignment(line)
		v := readValue(raw)
		v.line = i + 1
		v.place = fmt.Sprintf("%s:%d: ", file, i+1)
		earlier := g[name]
		switch {
		case !isAssignment:
			mistakes = append(mistakes, v.place+"this line is not of the form KEY=value; for example LOG_LEVEL=info")
		case earlier.isSet() && v.text != earlier.text:
			mistakes = append(mistakes,
				fmt.Sprintf("%s%s: has another value on line %d; keep one of the two", v.place, nameForError(name), earlier.line))
		case !earlier.isSet():
			g[name] = v
		}
	}
	return mistakes
}

// isBlankOrComment reports whether a line of an env file, without surrounding space, holds no setting.
func isBlankOrComment(line string) bool { return line == "" || line[0] == '#' }

// cutAssignment divides a line of the form KEY=value or export KEY=value at the =. isAssignment is false if the line
// has another form.
func cutAssignment(line string) (name, raw string, isAssignment bool) {
	name, raw, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	name = Trim(name)
	return name, raw, found && variableName.MatchString(name)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// otherFormat describes the content of a file that is not an env file, as in "seems to be YAML". It returns "" for an
// env file. A file that begins with { is not an env file, and neither is a file in which at least two lines, and more
// than half of all, do not have the form KEY=value.
func otherFormat(content string) string {
	all := 0       // lines that are neither blank nor comments
	malformed := 0 // lines among all without the form KEY=value
	yaml := 0      // lines among all that look like YAML
	for line := range strings.Lines(content) {
		line = Trim(line)
		if isBlankOrComment(line) {
			continue
		}
		all++
		if _, _, isAssignment := cutAssignment(line); !isAssignment {
			malformed++
		}
		if yamlLine.MatchString(line) {
			yaml++
		}
	}
	isMostlyMalformed := malformed >= 2 && 2*malformed > all
	var format string
	switch {
	case strings.HasPrefix(Trim(content), "{"):
		format = "seems to be JSON"
	case !isMostlyMalformed:
		return ""
	case 2*yaml >= malformed:
		format = "seems to be YAML"
	default:
		format = "is no env file"
	}
	return fmt.Sprintf("%s: %d of its %d lines are not of the form KEY=value", format, malformed, all)
}

// yamlLine matches a line of YAML that has a key.
var yamlLine = regexp.MustCompile(`^(- )?"?[A-Za-z_][\w.-]*"?:(\s|$)`)

// ReadFile returns the text of a UTF-8 file of at most limit bytes, without a byte order mark. Its
// error continues a sentence that begins with the file, as in "cannot be opened". The error does
// not repeat path, because path may be a misplaced secret.
func ReadFile(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot be opened: %w", WithoutPath(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot be read: %w", WithoutPath(err))
	case bytes.HasPrefix(content, []byte("\xff\xfe")), bytes.HasPrefix(content, []byte("\xfe\xff")):
		return "", errors.New("is UTF-16 text; save it as UTF-8")
	case bytes.IndexByte(content, 0) >= 0:
		return "", errors.New("is not a text file")
	case int64(len(content)) > limit:
		return "", fmt.Errorf("is larger than %d bytes", limit)
	case !utf8.Valid(content):
		return "", errors.New("is not UTF-8 text; save it as that")
	}
	return strings.TrimPrefix(string(content), "\ufeff"), nil
}

// WithoutPath returns the operating system's part of an error of package os, such as "permission
// denied". It leaves out the path, because the path may be a misplaced secret.
func WithoutPath(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return errors.New("it failed")
}
