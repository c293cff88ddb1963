// Package words prints a chat.Reply as a Card in a language, which an adapter renders. A
// language is a file in locales and a row in chat/language.go. A message is a line in
// every file. Tests name what is missing, and where to write it.
//
// It knows no platform. Card.Fit shortens a card to a platform's limit.
package words

import (
	"cmp"
	"embed"
	"encoding/json"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"herald/internal/chat"
)

//go:embed locales/*.json
var locales embed.FS

// pluralArg is the name of the argument that chooses a message's plural form.
const pluralArg = "n"

// catalogue is what the bot can say in one language.
type catalogue struct {
	chat.LanguageInfo
	tag      language.Tag
	messages map[string]message
}

// message is a template for each of its plural forms. Every message has plural.Other.
type message map[plural.Form]template

// template is a text in pieces. Each is words and the name of the argument that follows
// them; either may be empty.
type template []struct{ words, arg string }

// parse returns the template of a text such as "{symbol} is {price}". A line may wrap before a
// dot in it, and not after it.
func parse(text string) template {
	text = strings.ReplaceAll(text, "· ", "·\u00a0")
	t := make(template, 1+strings.Count(text, "{"))
	for i := range t {
		var rest string
		t[i].words, rest, _ = strings.Cut(text, "{")
		t[i].arg, text, _ = strings.Cut(rest, "}")
	}
	return t
}

// pluralForms are the CLDR's names of plural forms, as a file spells them.
var pluralForms = map[string]plural.Form{
	"zero":  plural.Zero,
	"one":   plural.One,
	"two":   plural.Two,
	"few":   plural.Few,
	"many":  plural.Many,
	"other": plural.Other,
}

// UnmarshalJSON reads "text" or {"one": "text", "other": "texts"}.
func (m *message) UnmarshalJSON(content []byte) error {
	var text string
	if json.Unmarshal(content, &text) == nil {
		*m = message{plural.Other: parse(text)}
		return nil
	}
	var texts map[string]string
	if err := json.Unmarshal(content, &texts); err != nil {
		return err
	}
	*m = message{}
	for name, text := range texts {
		(*m)[pluralForms[name]] = parse(text)
	}
	return nil
}

var catalogues = func() map[chat.Language]*catalogue {
	all := map[chat.Language]*catalogue{}
	for _, l := range chat.Languages() {
		path := "locales/" + string(l) + ".json"
		content, err := locales.ReadFile(path)
		if err != nil {
			panic("words: translate locales/en.json: " + err.Error())
		}
		c := &catalogue{LanguageInfo: l.Info(), tag: language.MustParse(string(l))}
		if err := json.Unmarshal(content, &c.messages); err != nil {
			panic("words: " + path + ": " + err.Error())
		}
		all[l] = c
	}
	return all
}()

// catalogueOf returns the catalogue of a language, or of English if there is none.
func catalogueOf(l chat.Language) *catalogue { return cmp.Or(catalogues[l], catalogues[chat.English]) }

// Say returns a value as one plain string, as for menus and alternative texts.
func Say(l chat.Language, v chat.Value) string {
	return catalogueOf(l).value(v).String()
}
