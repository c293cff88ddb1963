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

// A reader's error continues a sentence that begins with the setting's name. It never
// repeats the value.

// Field returns the Set of a Setting that stores in field what read returns.
func Field[T any](field *T, read func(string) (T, error)) func(string) error {
	return func(value string) error {
		parsed, err := read(value)
		if err == nil {
			*field = parsed
		}
		return err
	}
}

// Hidden returns read with a secret as its result.
func Hidden(read func(string) (string, error)) func(string) (secret.Value, error) {
	return func(value string) (secret.Value, error) {
		value, err := read(value)
		return secret.New(value), err
	}
}

// Matching accepts text that matches the whole regular expression form. The error is "must
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

// Except refuses text that matches the regular expression form, with reason as the error,
// and passes other text to read.
func Except(form, reason string, read func(string) (string, error)) func(string) (string, error) {
	pattern := regexp.MustCompile(form)
	return func(value string) (string, error) {
		if pattern.MatchString(value) {
			return "", errors.New(reason)
		}
		return read(value)
	}
}

// Text accepts one line without invisible characters, which come along when a value is
// copied from a page.
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

// OneOf accepts one of names and returns the value at its index.
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

// OrOff returns the zero value for Off, and passes any other text to read.
func OrOff[T any](read func(string) (T, error)) func(string) (T, error) {
	return func(value string) (v T, err error) {
		if value == Off {
			return v, nil
		}
		if v, err = read(value); err != nil {
			err = fmt.Errorf("%w, or off", err)
		}
		return v, err
	}
}

// IntBetween reads a whole number from least to most.
func IntBetween(least, most int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// grouped matches a number that is grouped in thousands.
var grouped = regexp.MustCompile(`^[1-9][0-9]{0,2}([,._' \x{a0}][0-9]{3})+$`)

// ungrouped returns err, with advice if the value that it is about is grouped.
func ungrouped(value string, err error) error {
	if !grouped.MatchString(value) {
		return err
	}
	return fmt.Errorf("%w; write 1000 instead of 1,000", err)
}

// Duration reads a duration from a millisecond to a year, DurationOrZero from zero.
var Duration, DurationOrZero = DurationBetween(time.Millisecond, year), DurationBetween(0, year)

// year bounds durations, so that no sum of a few overflows.
const year = 365 * 24 * time.Hour

// DurationBetween reads a duration from least to most. The error names both as one would type them.
func DurationBetween(least, most time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		if err != nil || d < least || d > most {
			short := strings.NewReplacer("h0m0s", "h", "m0s", "m")
			return 0, fmt.Errorf("must be a duration from %s to %s, with its unit: h, m, s or ms",
				short.Replace(least.String()), short.Replace(most.String()))
		}
		return d, nil
	}
}

// URL reads an absolute URL with one of the schemes.
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

// ValidPort reports whether port is the number of a TCP port.
func ValidPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// BaseURL reads an http or https URL to which paths are appended, and returns it without a
// slash at its end.
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

// BaseURLWithout is BaseURL, but refuses a URL that already has one of the paths that are
// appended.
func BaseURLWithout(paths ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		base, err := BaseURL(value)
		if err != nil {
			return "", err
		}
		u, _ := url.Parse(base) // which BaseURL has parsed
		for _, path := range paths {
			if strings.Contains(u.Path+"/", path+"/") {
				return "", fmt.Errorf("must be without %s, which is appended", path)
			}
		}
		return base, nil
	}
}

// PageURL reads the address of a page for a button: Discord takes 512 characters at most.
func PageURL(value string) (string, error) {
	u, err := URL(value, "https", "http")
	if err == nil && (u.User != nil || len(value) > 512) {
		err = errors.New("must have at most 512 characters, and no user or password")
	}
	return value, err
}

// PublicHTTP reports whether rawURL is http:// to a host on the Internet, by its name:
// anybody on the way can read what is sent there.
func PublicHTTP(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" {
		return false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), ".")
	return len(labels) > 1 && !slices.Contains([]string{"localhost", "local", "internal", "svc"}, labels[len(labels)-1])
}

// SplitList splits a list at commas and white space.
func SplitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// SplitCommas splits a list at commas alone, since an entry may have white space.
func SplitCommas(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// ListOf reads a list of entries, separated by commas or white space. It returns the error
// of the first wrong entry, with its number.
func ListOf[T any](read func(string) (T, error)) func(string) ([]T, error) {
	return listOf(SplitList, read)
}

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

// Host returns a URL's host and port, which may be shown; empty if it has none.
func Host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
