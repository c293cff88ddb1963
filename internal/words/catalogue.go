// Package words says a chat.Reply in a language: it prints the typed values of a
// Reply as a Card, which an adapter renders. A language is a file in locales and a
// row in chat/language.go; a message is a line in every file. Tests say what is
// missing, and what to write where.
//
// It knows no platform. What platforms have in common in showing a Card, such as
// what a long one leaves out, is done here (fit.go).
package words

import (
	"cmp"
	"embed"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"herald/internal/chat"
)

//go:embed locales/*.json
var locales embed.FS

// pluralArg is the argument that chooses a message's plural form.
const pluralArg = "n"

// catalogue is what the bot can say in one language.
type catalogue struct {
	chat.LanguageInfo
	tag language.Tag
	// messages have a text for plural.Other, and for each plural form that has
	// one of its own.
	messages map[string]map[plural.Form]string
}

var catalogues = func() map[chat.Language]*catalogue {
	all := map[chat.Language]*catalogue{}
	for _, l := range chat.Languages() {
		c := &catalogue{LanguageInfo: l.Info(), tag: language.MustParse(string(l)), messages: map[string]map[plural.Form]string{}}
		path := "locales/" + string(l) + ".json"
		content, err := locales.ReadFile(path)
		if err != nil {
			panic("words: translate locales/en.json: " + err.Error())
		}
		file, err := i18n.ParseMessageFileBytes(content, path, nil)
		if err != nil {
			panic("words: " + path + ": " + err.Error())
		}
		for _, m := range file.Messages {
			c.messages[m.ID] = map[plural.Form]string{
				plural.Zero: m.Zero, plural.One: m.One, plural.Two: m.Two, plural.Few: m.Few, plural.Many: m.Many, plural.Other: m.Other,
			}
		}
		all[l] = c
	}
	return all
}()

func catalogueOf(l chat.Language) *catalogue { return cmp.Or(catalogues[l], catalogues[chat.English]) }

// Say returns a value as one plain string, as for menus and alternative texts.
func Say(l chat.Language, v chat.Value) string {
	return catalogueOf(l).value(v).String()
}
