// Package secret keeps secrets out of logs and answers. A Value holds a secret and does not
// print it, a Redactor removes secrets from text, and PanicError words a
// recovered panic, without a value that may be personal.
//
// Other code must not put a secret into an error or an attribute: the Redactor is the last
// line of defence. It finds only the secrets that it was given, and the tokens in the URLs
// of Discord's interactions. The package imports nothing of Herald, so that every package
// may use it.
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

// Value holds a string and prints as Mark: by fmt with any verb, as JSON, as text and in
// slog. The zero Value is unset.
type Value struct {
	// A pointer, because fmt prints an unexported field without calling its methods.
	value *string
}

// New hides value.
func New(value string) Value { return Value{value: &value} }

// Reveal returns the string, empty if unset. Only the call that sends it should.
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

// Of returns every string hidden in settings, a struct with exported fields alone, and in
// the structs in it. Of a URL it also returns the user, the password, and each path
// segment and query value of at least minKey bytes.
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

// minKey is the length in bytes of the shortest key in a URL. A shorter part is a word such
// as "mainnet", which logs may show.
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
	// minSecret is the length in bytes of the shortest secret that is redacted: shorter ones
	// would match ordinary words.
	minSecret = 6
	// maxLogged bounds each text of a log record, in bytes.
	maxLogged = 3 << 10
)

// interactionToken matches a token with which anybody can answer for 15 minutes:
// https://docs.discord.com/developers/interactions/receiving-and-responding
var interactionToken = regexp.MustCompile(
	`(?i)((?:/|%2F)(?:interactions|webhooks)(?:/|%2F)[0-9]+(?:/|%2F))[A-Za-z0-9._~-]+`)

// Redactor replaces secrets in text. It is safe for concurrent use.
type Redactor struct {
	known    *strings.Replacer
	shortest int // the length of the shortest form of a secret, in bytes
}

// NewRedactor makes a Redactor. It ignores secrets of fewer than 6 bytes.
func NewRedactor(secrets []string) *Redactor {
	var forms, pairs []string
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			forms = append(forms, spellings(secret)...)
		}
	}
	// A Replacer tries its strings in order, and one may begin another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	r := &Redactor{}
	for _, form := range forms {
		pairs = append(pairs, form, Mark)
		r.shortest = len(form)
	}
	r.known = strings.NewReplacer(pairs...)
	return r
}

// String returns s with every secret replaced by Mark.
func (r *Redactor) String(s string) string {
	if len(s) >= r.shortest {
		s = r.known.Replace(s)
	}
	if !strings.ContainsAny(s, "/%") {
		return s // without a URL
	}
	return interactionToken.ReplaceAllString(s, "${1}"+Mark)
}

// ReplaceAttr is for slog.HandlerOptions. It replaces secrets in the message and in each
// attribute's key and value, and cuts each of these texts to 3 KiB. It leaves numbers,
// bools, times, durations and the names of groups as they are, and makes a text of any
// other value.
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

// logged redacts s and then cuts it: the Redactor would not find half a secret.
func (r *Redactor) logged(s string) string {
	s = r.String(s)
	if len(s) <= maxLogged {
		return s
	}
	return strings.ToValidUTF8(s[:maxLogged], "") + "…"
}

// spellings returns the forms of secret in a text: plain, in a URL, and as Go and JSON
// quote it.
func spellings(secret string) []string {
	quoted := strconv.Quote(secret)
	encoded, _ := json.Marshal(secret) // a string always can be
	return []string{
		secret, url.PathEscape(secret), url.QueryEscape(secret), quoted[1 : len(quoted)-1],
		string(encoded[1 : len(encoded)-1]),
	}
}

// PanicError returns an error for the log from a value that recover returned, with the
// stack. Of a value that is not the Go runtime's, which may be personal, it shows the type.
func PanicError(v any) error {
	if known, ok := v.(runtime.Error); ok {
		return fmt.Errorf("panic: %w\n%s", known, debug.Stack())
	}
	return fmt.Errorf("panic with a %T\n%s", v, debug.Stack())
}
