// Package words prints a chat.Reply as a Card in the reader's language. An adapter renders the Card on its platform,
// and calls Card.Fit to shorten it to the platform's limit.
//
// Each language has a file in locales and a row in chat/language.go. Each message has a line in every file. If one is
// missing, a test names it and the place to add it.
//
//	catalogue.go  the messages of a language
//	print.go      Print: from a Reply to a Card
//	number.go     numbers as text
//	card.go       Card, and the Lines that it consists of
//	fit.go        Card.Fit
package words

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"herald/internal/chat"
)

//go:embed locales/*.json
var locales embed.FS

// pluralArg is the name of the argument that chooses a message's plural form.
const pluralArg = "n"

// catalogue holds the messages and number formats of one language.
type catalogue struct {
	chat.LanguageInfo
	tag      language.Tag
	messages map[string]message
}

// message is a template for each of its plural forms. Every message has plural.Other; a test checks that.
type message map[plural.Form]template

// template is a text with placeholders, in pieces. Each piece has words, which are followed by the argument with the
// name arg. Either may be empty. The pieces of "{symbol} is {price}." are {"", "symbol"}, {" is ", "price"}, {".", ""}.
type template []struct{ words, arg string }

// parseTemplate returns the template of a text such as "{symbol} is {price}.". It makes the space after each middle dot
// (·) non-breaking, so that a line can wrap before a dot, but not after it.
func parseTemplate(text string) template {
	text = strings.ReplaceAll(text, "· ", "·\u00a0")
	t := make(template, 1+strings.Count(text, "{"))
	for i := range t {
		var rest string
		t[i].words, rest, _ = strings.Cut(text, "{")
		t[i].arg, text, _ = strings.Cut(rest, "}")
	}
	return t
}

// pluralForms has the plural forms by their names in the files, which are those of the CLDR.
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
		*m = message{plural.Other: parseTemplate(text)}
		return nil
	}
	var texts map[string]string
	if err := json.Unmarshal(content, &texts); err != nil {
		return err
	}
	*m = message{}
	for name, text := range texts {
		form, isForm := pluralForms[name]
		if !isForm {
			return fmt.Errorf("%q is not a plural form", name)
		}
		(*m)[form] = parseTemplate(text)
	}
	return nil
}

// catalogues has the catalogue of every language.
var catalogues = readCatalogues()

// readCatalogues reads the files in locales. It panics if one is missing or invalid, which is a programming error.
func readCatalogues() map[chat.Language]*catalogue {
	all := map[chat.Language]*catalogue{}
	for _, l := range chat.Languages() {
		path := "locales/" + string(l) + ".json"
		content, err := locales.ReadFile(path)
		if err != nil {
			panic("words: " + path + " is missing; translate locales/en.json: " + err.Error())
		}
		c := &catalogue{LanguageInfo: l.Info(), tag: language.MustParse(string(l))}
		if err := json.Unmarshal(content, &c.messages); err != nil {
			panic("words: " + path + ": " + err.Error())
		}
		all[l] = c
	}
	return all
}

// catalogueOf returns the catalogue of a language, or of English if there is none.
func catalogueOf(l chat.Language) *catalogue { return cmp.Or(catalogues[l], catalogues[chat.English]) }

// Say returns a value as one plain string, for example for menus and alternative texts.
func Say(l chat.Language, v chat.Value) string {
	return catalogueOf(l).value(v).String()
}
