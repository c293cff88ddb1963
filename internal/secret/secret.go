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
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Value holds a string that does not print: fmt with any verb, JSON, text marshalling
// and slog show Mark instead. The zero value is unset.
type Value struct {
	// fmt prints unexported fields of a struct without calling their methods, but of
	// a pointer only the address.
	value *string
}

// New hides value.
func New(value string) Value { return Value{value: &value} }

// Reveal returns the string, empty if unset. Call it where the string is sent.
func (v Value) Reveal() string {
	if v.value == nil {
		return ""
	}
	return *v.value
}

// IsSet reports whether the string is not empty.
func (v Value) IsSet() bool { return v.Reveal() != "" }

// Format implements fmt.Formatter with Mark for every verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mark) }

// MarshalText implements encoding.TextMarshaler with Mark.
func (v Value) MarshalText() ([]byte, error) { return []byte(Mark), nil }

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

// Mark replaces a secret.
const Mark = "[redacted]"

const (
	// minSecret is the length of the shortest secret that is looked for, in bytes:
	// shorter ones would hit ordinary words.
	minSecret = 6
	// maxLogged bounds each text of a log record, in bytes.
	maxLogged = 3 << 10
)

// interactionToken is good for 15 minutes to whoever reads it:
// https://docs.discord.com/developers/interactions/receiving-and-responding
var interactionToken = regexp.MustCompile(`(?i)((?:/|%2F)(?:interactions|webhooks)(?:/|%2F)[0-9]+(?:/|%2F))[A-Za-z0-9._~-]+`)

// Redactor replaces secrets in text. It is safe for concurrent use.
type Redactor struct{ known *strings.Replacer }

// NewRedactor makes a Redactor of secrets. It ignores secrets of fewer than 6 bytes.
func NewRedactor(secrets []string) *Redactor {
	var forms, pairs []string
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			forms = append(forms, spellings(secret)...)
		}
	}
	// A Replacer tries its strings in order, and one may begin another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for _, form := range forms {
		pairs = append(pairs, form, Mark)
	}
	return &Redactor{known: strings.NewReplacer(pairs...)}
}

// String returns s with every secret replaced by Mark.
func (r *Redactor) String(s string) string {
	s = r.known.Replace(s)
	if !strings.ContainsAny(s, "/%") {
		return s // without a URL
	}
	return interactionToken.ReplaceAllString(s, "${1}"+Mark)
}

// ReplaceAttr is for slog.HandlerOptions. It replaces secrets in the message, in each
// attribute's key and in its value, and cuts each of these texts to 3 KiB. A value
// that is not a number, bool, time or duration becomes the text that fmt makes of it.
// Names of groups are left as they are.
func (r *Redactor) ReplaceAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Equal(slog.Attr{}) {
		return a
	}
	a.Key = r.logged(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.logged(a.Value.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(r.logged(fmt.Sprint(a.Value.Any())))
	}
	return a
}

// logged redacts before it cuts: half a secret would not be found.
func (r *Redactor) logged(s string) string {
	s = r.String(s)
	if len(s) <= maxLogged {
		return s
	}
	return strings.ToValidUTF8(s[:maxLogged], "") + "…"
}

// spellings returns how secret may be written in a text: as it is, in a URL, and in
// quotes as Go and JSON write them.
func spellings(secret string) []string {
	quoted := strconv.Quote(secret)
	encoded, _ := json.Marshal(secret) // a string always can be
	return []string{
		secret, url.PathEscape(secret), url.QueryEscape(secret), quoted[1 : len(quoted)-1], string(encoded[1 : len(encoded)-1]),
	}
}

// PanicError words a value that recover returned, with the stack, for a log. A value
// that is not the Go runtime's own may be personal: only its type is named.
func PanicError(v any) error {
	if known, ok := v.(runtime.Error); ok {
		return fmt.Errorf("panic: %w\n%s", known, debug.Stack())
	}
	return fmt.Errorf("panic with a %T\n%s", v, debug.Stack())
}
