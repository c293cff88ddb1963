// Package secret keeps secrets out of logs and answers. A Value contains a secret and does not print it. A Redactor
// replaces secrets in text. PanicError describes a recovered panic without personal data.
//
// Other code must not put a secret into an error or a log attribute, because the Redactor is only the last line of
// defense: it finds only the secrets that it was given, and the tokens in URLs of Discord's interactions. The package
// imports no other package of Herald, so that every package may import it.
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

// Mark is printed in place of a secret.
const Mark = "[redacted]"

// Value contains a string. fmt, encoding/json and slog print it as Mark. The zero Value contains "".
type Value struct {
	// value is a pointer, because fmt does not call Format for a Value in an unexported field. It then prints the
	// pointer's address instead of the secret.
	value *string
}

// New returns a Value that contains value.
func New(value string) Value { return Value{value: &value} }

// Reveal returns the string. Call it only to send the string.
func (v Value) Reveal() string {
	if v.value == nil {
		return ""
	}
	return *v.value
}

// IsSet reports whether the string is not empty.
func (v Value) IsSet() bool { return v.Reveal() != "" }

// Format implements fmt.Formatter. It prints Mark for every verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mark) }

// MarshalText implements encoding.TextMarshaler. It returns Mark.
func (v Value) MarshalText() ([]byte, error) { return []byte(Mark), nil }

// Of returns the secrets in settings: the strings of all Values that are fields of settings, or of structs in it. If a
// string is a URL, Of also returns its parts that may be keys: see keysIn. settings must be a struct that has only
// exported fields. Of does not look into slices, maps and pointers.
func Of(settings any) []string {
	var secrets []string
	for _, field := range reflect.ValueOf(settings).Fields() {
		v, isValue := field.Interface().(Value)
		switch {
		case isValue && v.IsSet():
			secrets = append(secrets, v.Reveal())
			secrets = append(secrets, keysIn(v.Reveal())...)
		case !isValue && field.Kind() == reflect.Struct:
			secrets = append(secrets, Of(field.Interface())...)
		}
	}
	return secrets
}

// minKey is the minimum length of a key in a URL, in bytes. A shorter part is a word such as "mainnet", which logs may
// show.
const minKey = 8

// keysIn returns the parts of a URL that have at least minKey bytes and may be keys: the user, the password, the path
// segments and the query values.
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

const (
	// minSecret is the minimum length of a secret that is redacted, in bytes. A shorter secret would match ordinary
	// words.
	minSecret = 6
	// maxLogged is the maximum length of each text in a log record, in bytes.
	maxLogged = 3 << 10
)

// interactionToken matches the path of a Discord interaction's URL up to its token. Anybody who knows the token can
// answer the interaction for 15 minutes.
// https://docs.discord.com/developers/interactions/receiving-and-responding
var interactionToken = regexp.MustCompile(
	`(?i)((?:/|%2F)(?:interactions|webhooks)(?:/|%2F)[0-9]+(?:/|%2F))[A-Za-z0-9._~-]+`)

// Redactor replaces secrets in text. It is safe for concurrent use.
type Redactor struct {
	secrets   *strings.Replacer
	minLength int // the length of the shortest encoding of a secret, in bytes
}

// NewRedactor returns a Redactor for these secrets. It ignores secrets of less than 6 bytes.
func NewRedactor(secrets []string) *Redactor {
	var found []string
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			found = append(found, encodings(secret)...)
		}
	}
	// A Replacer tries its strings in order. A longer secret may begin with a shorter one, and so has to be tried first.
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	r := &Redactor{}
	var pairs []string
	for _, text := range found {
		pairs = append(pairs, text, Mark)
		r.minLength = len(text) // The last text is the shortest.
	}
	r.secrets = strings.NewReplacer(pairs...)
	return r
}

// String returns s with every secret replaced by Mark.
func (r *Redactor) String(s string) string {
	if len(s) >= r.minLength {
		s = r.secrets.Replace(s)
	}
	if !strings.ContainsAny(s, "/%") { // It contains no URL.
		return s
	}
	return interactionToken.ReplaceAllString(s, "${1}"+Mark)
}

// ReplaceAttr is for slog.HandlerOptions. It redacts the message and the keys and values of attributes, and cuts each
// of these texts to 3 KiB. It does not change numbers, bools, times, durations and the names of groups. It first turns
// any other value into text.
func (r *Redactor) ReplaceAttr(_ []string, a slog.Attr) slog.Attr {
	isOmitted := a.Equal(slog.Attr{}) // slog omits the zero Attr. As text, its value would be logged as "<nil>".
	if isOmitted {
		return a
	}
	a.Key = r.loggable(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.loggable(a.Value.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(r.loggable(fmt.Sprint(a.Value.Any())))
	}
	return a
}

// loggable redacts s, and then cuts it to maxLogged bytes. If it cut first, it would not find a secret that is cut.
func (r *Redactor) loggable(s string) string {
	s = r.String(s)
	if len(s) <= maxLogged {
		return s
	}
	return strings.ToValidUTF8(s[:maxLogged], "") + "…"
}

// encodings returns the forms in which a text may contain the secret: plain, in a URL, in a Go string and in a JSON
// string.
func encodings(secret string) []string {
	goString := strconv.Quote(secret)
	jsonString, _ := json.Marshal(secret) // cannot fail
	return []string{
		secret,
		url.PathEscape(secret),
		url.QueryEscape(secret),
		goString[1 : len(goString)-1],
		string(jsonString[1 : len(jsonString)-1]),
	}
}

// PanicError returns an error for the log about a value that recover returned. It contains the stack. It contains the
// value only if that is an error of the Go runtime. Any other value may be personal, so only its type is printed.
func PanicError(v any) error {
	if runtimeError, ok := v.(runtime.Error); ok {
		return fmt.Errorf("panic: %w\n%s", runtimeError, debug.Stack())
	}
	return fmt.Errorf("panic with a %T\n%s", v, debug.Stack())
}
