package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret holds a value that does not print: fmt with any verb, JSON, text
// marshalling and slog show a mark in its place. Its zero value is an unset one.
type Secret struct {
	// A pointer, because fmt reads unexported fields of a struct without
	// asking their methods, and of a pointer shows the address alone.
	value *string
}

// NewSecret hides value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal is the value, empty if unset.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet tells whether there is a value.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String is the mark.
func (s Secret) String() string {
	if s.IsSet() {
		return "[secret]"
	}
	return "[unset]"
}

// Format implements fmt.Formatter with the mark for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler with the mark.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer with the mark.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
