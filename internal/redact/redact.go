// Package redact keeps secrets out of what is logged or shown.
//
// It is the last line of defence: code elsewhere must not put a secret into an
// error or an attribute at all. It finds only what it is given and the tokens
// of Discord's interactions, whose place in a URL is known.
//
// The handler is our own, because slog's ReplaceAttr sees one attribute at a
// time and no group's name: it cannot bound a record as a whole.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// shortest is the least length of a secret that is looked for, in bytes:
// shorter ones would hit ordinary words.
const shortest = 6

// interactionToken is good for 15 minutes to whoever reads it:
// https://docs.discord.com/developers/interactions/receiving-and-responding
var interactionToken = regexp.MustCompile(`(?i)((?:/|%2F)(?:interactions|webhooks)(?:/|%2F)[0-9]+(?:/|%2F))[A-Za-z0-9._~-]+`)

// Redactor replaces secrets in text. It may be used by many goroutines.
type Redactor struct {
	known *strings.Replacer
}

// New makes a Redactor of secrets. Those of fewer than 6 bytes are ignored.
func New(secrets []string) *Redactor {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= shortest {
			forms = append(forms, spellings(secret)...)
		}
	}
	// A Replacer tries its strings in order, and one may begin another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, Mark)
	}
	return &Redactor{known: strings.NewReplacer(pairs...)}
}

// String is s with every secret replaced by Mark.
func (r *Redactor) String(s string) string {
	return interactionToken.ReplaceAllString(r.known.Replace(s), "${1}"+Mark)
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
