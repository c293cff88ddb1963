// Package words says a chat.Reply in a language: it prints the typed values of a
// Reply as a Card, whose lines an adapter shows in its platform's way. The
// messages stand in locales, a file for each language; which plural form a number
// takes is the library's business, and how it is written number.go's.
//
// A language is a file in locales, a row in number.go and a line of
// chat.Languages; tests name what is missing. A message is a line in every file;
// tests name those that no code says.
//
// It knows no platform. What is common to how platforms show a Card, such as
// what is left out of a long one, is done here (fit.go).
package words

import (
	"embed"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

//go:embed locales/*.json
var locales embed.FS

// pluralArg is the argument that chooses a message's plural form.
const pluralArg = "n"

// catalogue is the messages of one language.
type catalogue struct {
	numbers  numbers
	tag      language.Tag
	messages map[string]message
}

// message has a sentence for every plural form that differs from the others;
// plural.Other is always there.
type message map[plural.Form]sentence

// sentence is a message cut at its placeholders.
type sentence struct {
	parts []part
	// line is the whole of a sentence without placeholders. It is shared by all
	// cards.
	line Line
}

// part is words or, if arg is set, the place of an argument.
type part struct{ words, arg string }

var catalogues = func() map[chat.Language]*catalogue {
	all := map[chat.Language]*catalogue{}
	for _, l := range chat.Languages() {
		c := &catalogue{numbers: numbersOf[l], tag: language.MustParse(string(l)), messages: map[string]message{}}
		path := "locales/" + string(l) + ".json"
		content, err := locales.ReadFile(path)
		if err != nil {
			panic("words: " + err.Error())
		}
		file, err := i18n.ParseMessageFileBytes(content, path, nil)
		if err != nil {
			panic("words: " + path + ": " + err.Error())
		}
		for _, m := range file.Messages {
			c.messages[m.ID] = newMessage(m)
		}
		all[l] = c
	}
	return all
}()

func newMessage(m *i18n.Message) message {
	all := message{plural.Other: split(m.Other)}
	for form, text := range map[plural.Form]string{plural.Zero: m.Zero, plural.One: m.One, plural.Two: m.Two, plural.Few: m.Few, plural.Many: m.Many} {
		if text != "" {
			all[form] = split(text)
		}
	}
	return all
}

// split cuts a message at its placeholders, as in "{n} of {pools} pools".
func split(text string) sentence {
	var parts []part
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			parts = append(parts, part{words: before})
		}
		if !found {
			break
		}
		var arg string
		arg, text, _ = strings.Cut(rest, "}")
		parts = append(parts, part{arg: arg})
	}
	if len(parts) == 1 && parts[0].arg == "" {
		return sentence{line: Line{{Text: parts[0].words}}}
	}
	return sentence{parts: parts}
}

// sentence is that of a key and, if it has plural forms, of a number. A key that
// there is not is said itself.
func (c *catalogue) sentence(key string, n int) sentence {
	m, known := c.messages[key]
	if !known {
		return sentence{line: Line{{Text: key}}}
	}
	if len(m) > 1 {
		if s, differs := m[plural.Cardinal.MatchPlural(c.tag, n, 0, 0, 0, 0)]; differs {
			return s
		}
	}
	return m[plural.Other]
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

// AxisPrice is a price in USD as the axis of a chart tells it: rounded like any
// other, without zeros at the end but for cents.
func AxisPrice(l chat.Language, usd decimal.Decimal) string {
	return catalogueOf(l).numbers.axisPrice(usd)
}
