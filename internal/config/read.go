package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"herald/internal/secret"
)

// In this package, a reader is a function that parses the value of a setting. Its error continues a sentence that
// begins with the setting's name, and never repeats the value.

// Field returns the Set function of a Setting. It parses the value with read, and stores the result
// in field.
func Field[T any](field *T, read func(string) (T, error)) func(string) error {
	return func(value string) error {
		parsed, err := read(value)
		if err == nil {
			*field = parsed
		}
		return err
	}
}

// Hidden returns a reader of secrets, which parses a secret's text with read.
func Hidden(read func(string) (string, error)) func(string) (secret.Value, error) {
	return func(value string) (secret.Value, error) {
		value, err := read(value)
		return secret.New(value), err
	}
}

// Matching returns a reader of text that matches the regular expression form as a whole. The reader's error is "must
// be" and the description.
func Matching(form, description string) func(string) (string, error) {
	pattern := regexp.MustCompile(`^(?:` + form + `)$`)
	return func(value string) (string, error) {
		if !pattern.MatchString(value) {
			return "", fmt.Errorf("must be %s", description)
		}
		return value, nil
	}
}

// Except returns a reader that rejects text that matches the regular expression form as a whole, with reason as the
// error. It passes any other text to read.
func Except(form, reason string, read func(string) (string, error)) func(string) (string, error) {
	pattern := regexp.MustCompile(`^(?:` + form + `)$`)
	return func(value string) (string, error) {
		if pattern.MatchString(value) {
			return "", errors.New(reason)
		}
		return read(value)
	}
}

// Text accepts one line without invisible characters. A value copied from a page may have some.
var Text = Matching(`[\pL\pM\pN\pP\pS ]+`, "one line of visible characters")

// Visible accepts the characters of an HTTP header, without white space.
func Visible(value string) (string, error) {
	for i, r := range []rune(value) {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("must be visible ASCII characters without white space; character %d is %U", i+1, r)
		}
	}
	return value, nil
}

// OneOf returns a reader that accepts one of names, and returns the element of values with the same index.
func OneOf[T any](names []string, values []T) func(string) (T, error) {
	return func(value string) (T, error) {
		i := slices.Index(names, value)
		if i < 0 {
			var none T
			return none, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
		}
		return values[i], nil
	}
}

// OnOff reads "on" as true and "off" as false.
var OnOff = OneOf([]string{"on", Off}, []bool{true, false})

// OrOff returns a reader that returns the zero value for Off. It passes any other text to read.
func OrOff[T any](read func(string) (T, error)) func(string) (T, error) {
	return func(value string) (v T, err error) {
		if value == Off {
			return v, nil
		}
		v, err = read(value)
		if err != nil {
			err = fmt.Errorf("%w, or off", err)
		}
		return v, err
	}
}

// IntBetween returns a reader of a whole number from minimum to maximum.
func IntBetween(minimum, maximum int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < minimum || n > maximum {
			return 0, fmt.Errorf("must be a whole number from %d to %d", minimum, maximum)
		}
		return n, nil
	}
}

// withGroupingAdvice returns err, an error about value. If value is a number whose digits are grouped in thousands, it
// adds how to write the number.
func withGroupingAdvice(value string, err error) error {
	if !groupedNumber.MatchString(value) {
		return err
	}
	return fmt.Errorf("%w; write 1000 instead of 1,000", err)
}

// groupedNumber matches a whole number whose digits are grouped in thousands, such as 1,000, 1.000 or 1_000.
var groupedNumber = regexp.MustCompile(`^[1-9][0-9]{0,2}([,._' \x{a0}][0-9]{3})+$`)

var (
	// Duration reads a duration from a millisecond to a year.
	Duration = DurationBetween(time.Millisecond, year)
	// DurationOrZero reads a duration from zero to a year.
	DurationOrZero = DurationBetween(0, year)
)

// year is the maximum duration, so that the sum of a few durations cannot overflow.
const year = 365 * 24 * time.Hour

// DurationBetween returns a reader of a duration from minimum to maximum. The reader's error names both as an operator
// would type them: 1h, not 1h0m0s.
func DurationBetween(minimum, maximum time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		if err != nil || d < minimum || d > maximum {
			short := strings.NewReplacer("h0m0s", "h", "m0s", "m")
			return 0, fmt.Errorf("must be a duration from %s to %s, with its unit: h, m, s or ms",
				short.Replace(minimum.String()), short.Replace(maximum.String()))
		}
		return d, nil
	}
}

// URL parses an absolute URL with a host and one of the schemes. Its port, if any, is valid.
func URL(value string, schemes ...string) (*url.URL, error) {
	if _, err := Visible(value); err != nil {
		return nil, err
	}
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		return nil, fmt.Errorf("must be a URL with %s:// and a host", strings.Join(schemes, ":// or "))
	}
	if port := u.Port(); port != "" && !ValidPort(port) {
		return nil, errors.New("has a port that is not a number up to 65535")
	}
	return u, nil
}

// ValidPort reports whether port is a number from 0 to 65535.
func ValidPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// BaseURL reads an http or https URL, to which the caller appends paths. It returns the URL without
// slashes at its end.
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

// BaseURLWithout returns a reader like BaseURL that rejects a URL which already contains one of paths. The caller
// appends these paths to the URL.
func BaseURLWithout(paths ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		base, err := BaseURL(value)
		if err != nil {
			return "", err
		}
		u, _ := url.Parse(base) // BaseURL has already parsed it.
		for _, path := range paths {
			if strings.Contains(u.Path+"/", path+"/") {
				return "", fmt.Errorf("must be without %s, which is appended", path)
			}
		}
		return base, nil
	}
}

// PageURL reads the URL of a page that a button opens. It has at most 512 characters, as Discord
// requires.
func PageURL(value string) (string, error) {
	u, err := URL(value, "https", "http")
	if err == nil && (u.User != nil || len(value) > 512) {
		err = errors.New("must have at most 512 characters, and no user or password")
	}
	return value, err
}

// PublicHTTP reports whether rawURL is http:// to a host on the Internet, so that anybody on the way can read the
// requests. It decides by the name or the IP address in the URL, without a DNS query.
func PublicHTTP(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" {
		return false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), ".")
	last := labels[len(labels)-1]
	isLocalName := len(labels) == 1 || slices.Contains([]string{"localhost", "local", "internal", "svc"}, last)
	return !isLocalName
}

// SplitList splits a list at commas and white space.
func SplitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// SplitCommas splits a list at commas only, so that an entry can have spaces.
func SplitCommas(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// ListOf returns a reader of a list of entries, separated by commas or white space. If read fails for an entry, the
// error begins with the entry's number, as in "entry 1 must be an ID".
func ListOf[T any](read func(string) (T, error)) func(string) ([]T, error) {
	return listOf(SplitList, read)
}

// listOf is like ListOf, but split separates the entries.
func listOf[T any](split func(string) []string, read func(string) (T, error)) func(string) ([]T, error) {
	return func(value string) (list []T, _ error) {
		for i, text := range split(value) {
			entry, err := read(text)
			if err != nil {
				return nil, fmt.Errorf("entry %d %w", i+1, err)
			}
			list = append(list, entry)
		}
		return list, nil
	}
}

// Host returns the host and port of a URL, which contain no secret. It returns "" if there are
// none.
func Host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
