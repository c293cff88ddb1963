package chat

import (
	"slices"
	"strings"
)

// Language is the ISO 639-1 code of a language that the bot speaks. Its zero value is
// English.
type Language string

// The languages that code and tests name. Chinese is in simplified characters.
const (
	English    Language = "en"
	Spanish    Language = "es"
	Chinese    Language = "zh"
	Russian    Language = "ru"
	Turkish    Language = "tr"
	Vietnamese Language = "vi"
)

// LanguageInfo is how a language writes numbers and dates, according to the Unicode CLDR, and what Discord calls it.
// The messages of the language are in package words. https://www.unicode.org/cldr/charts/latest/summary/root.html
type LanguageInfo struct {
	Language Language
	// Point is the decimal point.
	Point string
	// Group separates thousands in numbers with at least GroupFrom digits before the Point.
	Group     string
	GroupFrom int
	// Units are the short names of powers of ten by their exponents, such as "M" by 6.
	Units map[int]string
	// Percent and USD are how to write a percentage and a sum in USD, such as "$#". "#" stands for the number.
	Percent, USD string
	// Moment and Day are layouts of package time: of a time in UTC, and of a date without its year.
	Moment, Day string
	// Discord lists the locales in which Discord shows the language, the most usual first:
	// https://discord.com/developers/docs/reference#locales
	Discord []string
}

// nbsp is a space that does not break the line between a number and its unit.
const nbsp = "\u00a0"

// languages has a row for each language, English first.
var languages = []LanguageInfo{{
	Language:  English,
	Point:     ".",
	Group:     ",",
	GroupFrom: 4,
	Percent:   "#%",
	USD:       "$#",
	Units:     map[int]string{6: "M", 9: "B", 12: "T"},
	Moment:    "2006-01-02 15:04 UTC",
	Day:       "Jan 2",
	Discord:   []string{"en-US", "en-GB"},
}, {
	Language:  Spanish,
	Point:     ",",
	Group:     ".",
	GroupFrom: 5,
	Percent:   "#" + nbsp + "%",
	USD:       "#" + nbsp + "$",
	Units:     map[int]string{6: nbsp + "M", 12: nbsp + "B"},
	Moment:    "2/1/2006 15:04 UTC",
	Day:       "2/1",
	Discord:   []string{"es-ES", "es-419"},
}, {
	Language:  Chinese,
	Point:     ".",
	Group:     ",",
	GroupFrom: 4,
	Percent:   "#%",
	USD:       "$#",
	Units:     map[int]string{4: "万", 8: "亿", 12: "万亿"},
	Moment:    "2006年1月2日 15:04 UTC",
	Day:       "1/2",
	Discord:   []string{"zh-CN", "zh-TW"},
}, {
	Language:  Russian,
	Point:     ",",
	Group:     nbsp,
	GroupFrom: 4,
	Percent:   "#" + nbsp + "%",
	USD:       "#" + nbsp + "$",
	Units:     map[int]string{6: nbsp + "млн", 9: nbsp + "млрд", 12: nbsp + "трлн"},
	Moment:    "02.01.2006 15:04 UTC",
	Day:       "02.01",
	Discord:   []string{"ru"},
}, {
	Language:  Turkish,
	Point:     ",",
	Group:     ".",
	GroupFrom: 4,
	Percent:   "%#",
	USD:       "$#",
	Units:     map[int]string{6: nbsp + "Mn", 9: nbsp + "Mr", 12: nbsp + "Tn"},
	Moment:    "02.01.2006 15:04 UTC",
	Day:       "02.01",
	Discord:   []string{"tr"},
}, {
	// The units are written out: T is short for tỷ, 10⁹, and many would read a trillion.
	Language:  Vietnamese,
	Point:     ",",
	Group:     ".",
	GroupFrom: 4,
	Percent:   "#%",
	USD:       "#" + nbsp + "$",
	Units:     map[int]string{6: nbsp + "triệu", 9: nbsp + "tỷ", 12: nbsp + "nghìn" + nbsp + "tỷ"},
	Moment:    "15:04 02/01/2006 UTC",
	Day:       "02/01",
	Discord:   []string{"vi"},
}}

// Languages returns all languages, English first.
func Languages() []Language {
	all := make([]Language, len(languages))
	for i, row := range languages {
		all[i] = row.Language
	}
	return all
}

// Info returns the LanguageInfo of l, or that of English if the bot does not speak l. The
// caller must not change its Units and Discord.
func (l Language) Info() LanguageInfo { return languages[max(l.row(), 0)] }

// row returns the index of l in languages, or -1.
func (l Language) row() int {
	return slices.IndexFunc(languages, func(row LanguageInfo) bool { return row.Language == l })
}

// LanguageOf returns the language of a platform's locale, such as "es-419" or "zh_CN", if the
// bot speaks it. Only the part before the first hyphen or underscore counts. So zh-TW and
// zh-Hant are Chinese too: their readers know simplified characters better than English.
func LanguageOf(locale string) (l Language, spoken bool) {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(locale), "_", "-"), "-")
	if l = Language(code); l.row() < 0 {
		return "", false
	}
	return l, true
}
