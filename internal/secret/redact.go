// Package redact keeps secrets out of what is logged or shown.
//
// It is the last line of defence: code elsewhere must not put a secret into an
// error or an attribute at all. It finds only what it is given and the tokens
// of Discord's interactions, whose place in a URL is known.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// shortest is the least length of a secret that is looked for, in bytes:
// shorter ones would hit ordinary words.
const shortest = 6

// longest bounds each text of a log record, in bytes as slog's handlers escape
// it. How many attributes a record has is fixed in the code.
const longest = 3 << 10

// interactionToken is good for 15 minutes to whoever reads it:
// https://docs.discord.com/developers/interactions/receiving-and-responding
var interactionToken = regexp.MustCompile(`(?i)((?:/|%2F)(?:interactions|webhooks)(?:/|%2F)[0-9]+(?:/|%2F))[A-Za-z0-9._~-]+`)

// Redactor replaces secrets in text. It may be used by many goroutines.
type Redactor struct {
	known *strings.Replacer
	// least is the length of the shortest known spelling, in bytes.
	least int
}

// NewRedactor makes a Redactor of secrets. Those of fewer than 6 bytes are ignored.
func NewRedactor(secrets []string) *Redactor {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= shortest {
			forms = append(forms, spellings(secret)...)
		}
	}
	// A Replacer tries its strings in order, and one may begin another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	least := math.MaxInt
	for _, form := range forms {
		pairs = append(pairs, form, Mark)
		least = min(least, len(form))
	}
	return &Redactor{known: strings.NewReplacer(pairs...), least: least}
}

// String is s with every secret replaced by Mark.
func (r *Redactor) String(s string) string {
	if len(s) >= r.least {
		s = r.known.Replace(s)
	}
	if !strings.ContainsAny(s, "/%") {
		return s // There is no URL in it.
	}
	return interactionToken.ReplaceAllString(s, "${1}"+Mark)
}

// ReplaceAttr is for slog.HandlerOptions. It replaces secrets in the message and
// in every attribute, except in the names of groups, and cuts each text to 3 KiB
// as it is written. A value that is no number, bool, time or duration becomes
// the text that fmt makes of it.
func (r *Redactor) ReplaceAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Equal(slog.Attr{}) {
		return a
	}
	a.Key = r.logged(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.logged(a.Value.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(r.logged(plain(a.Value.Any())))
	}
	return a
}

// plain is v as text. Bytes must not turn into a list of numbers, in which no
// secret is found.
func plain(v any) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case json.RawMessage:
		return string(v)
	}
	return fmt.Sprint(v)
}

// logged redacts before it cuts: half a secret would not be found.
func (r *Redactor) logged(s string) string {
	s = r.String(s)
	if len(s) <= longest/mostWritten {
		return s
	}
	left := longest
	for at, char := range s {
		if left -= written(char); left < 0 {
			return s[:at] + "…"
		}
	}
	return s
}

// mostWritten bounds what written returns.
const mostWritten = 10

// written is how many bytes a character takes at most once it is escaped, as
// \n, \u2028 or \U000e0001.
func written(char rune) int {
	switch {
	case strings.ContainsRune("\"\\\n\t\r", char):
		return 2
	case char == utf8.RuneError, !strconv.IsPrint(char):
		return mostWritten
	}
	return utf8.RuneLen(char)
}

// spellings are the ways in which secret may stand in a text.
func spellings(secret string) []string {
	quoted := strconv.Quote(secret)
	encoded, _ := json.Marshal(secret)
	path, query := url.PathEscape(secret), url.QueryEscape(secret)
	all := []string{
		secret, path, query, lowerEscapes(path), lowerEscapes(query),
		quoted[1 : len(quoted)-1], string(encoded[1 : len(encoded)-1]),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, within(encoding, secret)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var escape = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(s string) string { return escape.ReplaceAllStringFunc(s, strings.ToLower) }

// within is how secret looks in Base64, alone or after 1 or 2 more bytes as in
// "user:secret", less the characters that its neighbours have a part in.
func within(encoding *base64.Encoding, secret string) []string {
	var forms []string
	for before := range 3 {
		text := encoding.EncodeToString(append(make([]byte, before), secret...))
		bits := 8 * (before + len(secret))
		forms = append(forms, text[(8*before+5)/6:bits/6])
	}
	return forms
}
