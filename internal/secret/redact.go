package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

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

// NewRedactor makes a Redactor of secrets. It ignores those of fewer than 6 bytes.
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
	end := maxLogged
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

var upperEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

// spellings returns how secret may be written in a text: as it is, in a URL, and in
// quotes as Go and JSON write them.
func spellings(secret string) []string {
	quoted := strconv.Quote(secret)
	encoded, _ := json.Marshal(secret) // a string always can be
	path, query := url.PathEscape(secret), url.QueryEscape(secret)
	all := []string{
		secret, quoted[1 : len(quoted)-1], string(encoded[1 : len(encoded)-1]), path, query,
		upperEscape.ReplaceAllStringFunc(path, strings.ToLower), upperEscape.ReplaceAllStringFunc(query, strings.ToLower),
	}
	slices.Sort(all)
	return slices.Compact(all)
}
