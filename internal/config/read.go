package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"herald/internal/secret"
)

// The functions here that take a value read it, or make a function that does.
// Their errors continue from the setting's name and never repeat the value.

// Field makes the Set of a Setting from the field that it fills and the
// function that reads its value.
func Field[T any](field *T, read func(string) (T, error)) func(string) error {
	return func(value string) error {
		parsed, err := read(value)
		if err == nil {
			*field = parsed
		}
		return err
	}
}

// Hidden makes a Secret of what read returns.
func Hidden(read func(string) (string, error)) func(string) (secret.Value, error) {
	return func(value string) (secret.Value, error) {
		value, err := read(value)
		return secret.New(value), err
	}
}

// Text accepts any line but one with a character that looks like another, or
// like nothing: it was copied from a page, and the service would not know it.
func Text(value string) (string, error) {
	if odd(value) != "" || strings.ContainsFunc(value, unicode.IsControl) {
		return "", errors.New("must be one line of text as it is typed on a keyboard")
	}
	return value, nil
}

// Matching accepts text that matches form as a whole. The description says what
// form means, after "must be".
func Matching(form, description string) func(string) (string, error) {
	pattern := regexp.MustCompile(`^(?:` + form + `)$`)
	return func(value string) (string, error) {
		if !pattern.MatchString(value) {
			return "", fmt.Errorf("must be %s", description)
		}
		return value, nil
	}
}

// Visible accepts what can stand in an HTTP header.
var Visible = Matching(`[!-~]+`, "visible ASCII characters without white space")

// NumericID accepts an ID as Discord and Telegram have them.
var NumericID = Matching(`[1-9][0-9]{0,19}`, "a numeric ID")

// OneOf reads the name of a value.
func OneOf[T any](names []string, values []T) func(string) (T, error) {
	return func(value string) (T, error) {
		if i := slices.Index(names, value); i >= 0 {
			return values[i], nil
		}
		var none T
		return none, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
}

// OnOff reads on as true and off as false.
var OnOff = OneOf([]string{"on", Off}, []bool{true, false})

// IntBetween reads a whole number, both bounds included.
func IntBetween(least, most int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// Duration reads a duration from a millisecond to a year.
func Duration(value string) (time.Duration, error) { return durationFrom(time.Millisecond, value) }

// DurationOrZero reads a duration from zero to a year.
func DurationOrZero(value string) (time.Duration, error) { return durationFrom(0, value) }

func durationFrom(least time.Duration, value string) (time.Duration, error) {
	// A year, so that no sum of a few overflows.
	const most = 365 * 24 * time.Hour
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, errors.New("must be a duration with its unit, such as 30s, 5m or 1h30m")
	case d < least || d > most:
		return 0, fmt.Errorf("must be a duration from %v to %v", least, most)
	}
	return d, nil
}

// URL reads an absolute URL that has one of the schemes.
func URL(value string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || strings.ContainsFunc(value, unicode.IsSpace) || odd(value) != "" {
		return nil, fmt.Errorf("must be a URL with %s:// and a host", strings.Join(schemes, ":// or "))
	}
	if port := u.Port(); port != "" && !ValidPort(port) {
		return nil, errors.New("has a port that is not a number up to 65535")
	}
	return u, nil
}

// ValidPort reports whether port is the number of a TCP port.
func ValidPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// BaseURL reads an http or https URL to which paths are appended; the result
// has no slash at its end.
func BaseURL(value string) (string, error) {
	u, err := URL(value, "http", "https")
	if err != nil {
		return "", err
	}
	if u.User != nil || strings.ContainsAny(value, "?#") {
		return "", errors.New("must have no user, query or fragment, since paths are appended to it")
	}
	return strings.TrimRight(value, "/"), nil
}

// SplitList splits a list at commas and white space.
func SplitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// mostJoined is how many errors Join keeps.
const mostJoined = 10

// Join joins errors, of which each becomes a Mistake of its own. Beyond ten it
// only says how many more there are. It returns nil if there is none.
func Join(wrong []error) error {
	if more := len(wrong) - mostJoined; more > 0 {
		wrong = append(wrong[:mostJoined:mostJoined], fmt.Errorf("%d more are wrong", more))
	}
	return errors.Join(wrong...)
}

// splitJoined undoes errors.Join.
func splitJoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// Host is all of a URL that may be shown, port included; empty if there is none.
func Host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
