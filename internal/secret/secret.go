// Package secret keeps what is secret or personal out of logs and answers. A Value
// holds a secret and does not print it, a Redactor removes secrets from text, and
// PanicError words a recovered panic.
//
// Code elsewhere must not put a secret into an error or an attribute at all: the
// Redactor is the last line of defence. It finds only the secrets it is given, and the
// tokens of Discord's interactions, whose place in a URL is known. The package imports
// nothing of Herald, so that everything may use it.
package secret

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Value holds a string that does not print: fmt with any verb, JSON, text marshalling
// and slog show a mark instead. The zero value is unset.
type Value struct {
	// fmt prints unexported fields of a struct without calling their methods, but of
	// a pointer only the address.
	value *string
}

// New hides value.
func New(value string) Value { return Value{&value} }

// Reveal returns the string, empty if unset. Call it where the string is sent.
func (v Value) Reveal() string {
	if v.value == nil {
		return ""
	}
	return *v.value
}

// IsSet reports whether the string is not empty.
func (v Value) IsSet() bool { return v.Reveal() != "" }

// String returns the mark.
func (v Value) String() string {
	if v.IsSet() {
		return "[secret]"
	}
	return "[unset]"
}

// Format implements fmt.Formatter with the mark for every verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// MarshalText implements encoding.TextMarshaler with the mark.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// LogValue implements slog.LogValuer with the mark.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Of returns every string that is hidden in settings, a struct whose fields are all
// exported, and in the structs in it. For one that is a URL it also returns the user,
// the password, and each path segment and query value that may be a key.
func Of(settings any) []string {
	var found []string
	for _, field := range reflect.ValueOf(settings).Fields() {
		if v, ok := field.Interface().(Value); ok && v.IsSet() {
			found = append(found, v.Reveal())
			found = append(found, keysIn(v.Reveal())...)
		} else if !ok && field.Kind() == reflect.Struct {
			found = append(found, Of(field.Interface())...)
		}
	}
	return found
}

// minKey is the length of the shortest part of a URL that may be a key, in bytes: to
// hide a segment such as "mainnet" would only make logs hard to read.
const minKey = 8

func keysIn(rawURL string) []string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return nil
	}
	password, _ := u.User.Password()
	parts := append(strings.Split(u.Path, "/"), u.User.Username(), password)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	return slices.DeleteFunc(parts, func(part string) bool { return len(part) < minKey })
}

// PanicError words a value that recover returned, with the stack, for a log. A value
// that is not the Go runtime's own may be personal: only its type is named.
func PanicError(v any) error {
	if known, ok := v.(runtime.Error); ok {
		return fmt.Errorf("panic: %w\n%s", known, debug.Stack())
	}
	return fmt.Errorf("panic with a %T\n%s", v, debug.Stack())
}
