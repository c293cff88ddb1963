// Package words says a chat.Reply in a language: it prints the typed values of a
// Reply as a Card, whose lines an adapter shows in its platform's way. The
// messages stand in locales, a file for each language; plural forms are the
// library's business, numbers and dates number.go's.
//
// It knows no platform. What is common to how platforms show a Card, such as
// what is left out of a long one, is done here (fit.go).
package words

import (
	"embed"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/nicksnyder/go-i18n/v2/i18n/template"
	"golang.org/x/text/language"

	"herald/internal/chat"
)

//go:embed locales/*.json
var locales embed.FS

// pluralArg is the argument that chooses a message's plural form.
const pluralArg = "n"

// catalogue is the messages of one language.
type catalogue struct {
	numbers numbers
	// fixed are the messages without plural forms, ready to be printed.
	fixed map[string][]part
	// plural chooses the form of the others.
	plural *i18n.Localizer
}

// part of a message is words or, if arg is set, the place of an argument.
type part struct{ words, arg string }

var catalogues = func() map[chat.Language]*catalogue {
	bundle := i18n.NewBundle(language.English)
	all := map[chat.Language]*catalogue{}
	for _, l := range chat.Languages() {
		c := &catalogue{numbers: numbersOf[l], fixed: map[string][]part{}}
		file, err := bundle.LoadMessageFileFS(locales, "locales/"+string(l)+".json")
		if err != nil {
			panic("words: " + err.Error())
		}
		for _, m := range file.Messages {
			if m.Zero+m.One+m.Two+m.Few+m.Many == "" {
				c.fixed[m.ID] = split(m.Other)
			}
		}
		c.plural = i18n.NewLocalizer(bundle, string(l))
		all[l] = c
	}
	return all
}()

// split cuts a message at its placeholders, as in "{n} of {pools} pools".
func split(message string) []part {
	var parts []part
	for message != "" {
		before, rest, found := strings.Cut(message, "{")
		if before != "" {
			parts = append(parts, part{words: before})
		}
		if !found {
			break
		}
		var arg string
		arg, message, _ = strings.Cut(rest, "}")
		parts = append(parts, part{arg: arg})
	}
	return parts
}

// message is the parts of a text, in English where the language lacks it, and
// the key itself where both do.
func (c *catalogue) message(t chat.Text) []part {
	if parts, ok := c.fixed[t.Key]; ok {
		return parts
	}
	config := i18n.LocalizeConfig{MessageID: t.Key, TemplateParser: template.IdentityParser{}}
	if n, counts := t.Args[pluralArg].(chat.Count); counts {
		config.PluralCount = int(n)
	}
	// With an error there may still be a message, in English.
	if message, _ := c.plural.Localize(&config); message != "" {
		return split(message)
	}
	return []part{{words: t.Key}}
}

func catalogueOf(l chat.Language) *catalogue {
	if c, spoken := catalogues[l]; spoken {
		return c
	}
	return catalogues[chat.English]
}

// Say is a value as one plain string, as for menus and alternative texts.
func Say(l chat.Language, v chat.Value) string {
	return newPrinter(l).value(v).String()
}
