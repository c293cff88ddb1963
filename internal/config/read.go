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

// The readers here, and those that others give to Field, return an error that continues
// a sentence from the setting's name and never repeats the value.

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

// Hidden hides what read returns.
func Hidden(read func(string) (string, error)) func(string) (secret.Value, error) {
	return func(value string) (secret.Value, error) {
		value, err := read(value)
		return secret.New(value), err
	}
}

// Matching accepts text that matches the regular expression form as a whole. The
// description says after "must be" what form means.
func Matching(form, description string) func(string) (string, error) {
	pattern := regexp.MustCompile(`^(?:` + form + `)$`)
	return func(value string) (string, error) {
		if !pattern.MatchString(value) {
			return "", fmt.Errorf("must be %s", description)
		}
		return value, nil
	}
}

// Except refuses what the regular expression form matches, for the reason given, and
// leaves the rest to read.
func Except(form, reason string, read func(string) (string, error)) func(string) (string, error) {
	pattern := regexp.MustCompile(form)
	return func(value string) (string, error) {
		if pattern.MatchString(value) {
			return "", errors.New(reason)
		}
		return read(value)
	}
}

// Text accepts one line without characters that look like nothing: such a value was
// copied from a page, and the service would not know it.
var Text = Matching(`[\pL\pM\pN\pP\pS ]+`, "one line of visible characters")

// Visible accepts what may be in an HTTP header.
func Visible(value string) (string, error) {
	for i, r := range []rune(value) {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("must be visible ASCII characters without white space; character %d is %U", i+1, r)
		}
	}
	return value, nil
}

// NumericID accepts an ID of Discord or Telegram.
var NumericID = Matching(`[1-9][0-9]{0,19}`, "a numeric ID")

// OneOf reads a name as the value at the same index.
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

// OrOff also takes Off, as the zero value.
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

// IntBetween reads a whole number from min to max.
func IntBetween(min, max int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < min || n > max {
			return 0, fmt.Errorf("must be a whole number from %d to %d", min, max)
		}
		return n, nil
	}
}

// Duration reads a duration from a millisecond to a year, DurationOrZero from zero.
var Duration, DurationOrZero = DurationBetween(time.Millisecond, year), DurationBetween(0, year)

// year is so short that no sum of a few overflows.
const year = 365 * 24 * time.Hour

// DurationBetween reads a duration from min to max.
func DurationBetween(min, max time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			return 0, errors.New("must be a duration with its unit, such as 30s, 5m or 1h30m")
		case d < min || d > max:
			return 0, fmt.Errorf("must be a duration from %v to %v", min, max)
		}
		return d, nil
	}
}

// URL reads an absolute URL that has one of the schemes.
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

// BaseURL reads an http or https URL that paths are appended to. The result has no
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

// BaseURLWithout is BaseURL for an address to which paths are appended: with one
// of them in it already, it would be doubled.
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

// PageURL reads the address of a page for people, which becomes a button. Discord takes
// 512 characters at most.
func PageURL(value string) (string, error) {
	u, err := URL(value, "https", "http")
	if err == nil && (u.User != nil || len(value) > 512) {
		err = errors.New("must have at most 512 characters, and no user or password")
	}
	return value, err
}

// PublicHTTP reports whether rawURL is http:// to a host of the Internet, as far as its
// name tells: anybody on the way can read what is sent there.
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

// Host returns the part of a URL that may be shown, its host and port; empty if it has
// none.
func Host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
