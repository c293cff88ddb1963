package secret

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
)

// Value holds a value that does not print: fmt with any verb, JSON, text
// marshalling and slog show a mark in its place. The zero value is unset.
type Value struct {
	// A pointer, because fmt reads unexported fields of a struct without
	// asking their methods, and of a pointer shows the address alone.
	value *string
}

// New hides value.
func New(value string) Value { return Value{&value} }

// Reveal returns the value, empty if unset.
func (s Value) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether there is a value.
func (s Value) IsSet() bool { return s.Reveal() != "" }

// String returns the mark.
func (s Value) String() string {
	if s.IsSet() {
		return "[secret]"
	}
	return "[unset]"
}

// Format implements fmt.Formatter with the mark for every verb.
func (s Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler with the mark.
func (s Value) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer with the mark.
func (s Value) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Of returns what must never be shown of settings, a struct whose fields
// are all exported: the value of every Value in it and in the structs in it.
// Of a Value that is a URL, the parts that may be a key are returned as well.
func Of(settings any) []string {
	var found []string
	v := reflect.ValueOf(settings)
	for i := range v.NumField() {
		field := v.Field(i)
		if secret, ok := field.Interface().(Value); ok {
			if secret.IsSet() {
				found = append(found, secret.Reveal())
				found = append(found, urlKeys(secret.Reveal())...)
			}
		} else if field.Kind() == reflect.Struct {
			found = append(found, Of(field.Interface())...)
		}
	}
	return found
}

// urlKeys returns the user, the password, and each path segment and query value
// of rawURL that is long enough to be a key.
func urlKeys(rawURL string) []string {
	// A path segment such as "mainnet" is no key, and hiding it would only
	// make logs hard to read.
	const shortest = 8
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return nil
	}
	parts := strings.Split(u.Path, "/")
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	password, _ := u.User.Password()
	var keys []string
	for _, part := range append(parts, u.User.Username(), password) {
		if len(part) >= shortest {
			keys = append(keys, part)
		}
	}
	return keys
}
