package chat

import (
	"slices"
	"strings"
)

// Language is one that the bot speaks, by its ISO 639-1 code. Its zero value is
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

// LanguageInfo is what there is to know of a language apart from its messages,
// which are a file of package words. Numbers and dates are written by the Unicode
// CLDR: https://www.unicode.org/cldr/charts/latest/summary/root.html
type LanguageInfo struct {
	Language Language
	// Point and Group stand between the digits of a number. A whole number is
	// grouped from so many digits on.
	Point, Group string
	GroupFrom    int
	// Units are short names of large numbers by their power of ten.
	Units map[int]string
	// Percent and USD show where the number stands: "#".
	Percent, USD string
	// Moment and Day are layouts of package time, in UTC. Day is short: it labels
	// the axis of a chart.
	Moment, Day string
	// Discord lists Discord's locales of the language, the most usual first:
	// https://discord.com/developers/docs/reference#locales
	Discord []string
}

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

// languages has a row for each language, English first.
var languages = []LanguageInfo{{
	Language: English, Point: ".", Group: ",", GroupFrom: 4, Percent: "#%", USD: "$#",
	Units:  map[int]string{6: "M", 9: "B", 12: "T"},
	Moment: "2006-01-02 15:04 UTC", Day: "Jan 2",
	Discord: []string{"en-US", "en-GB"},
}, {
	Language: Spanish, Point: ",", Group: ".", GroupFrom: 5, Percent: "#" + nbsp + "%", USD: "#" + nbsp + "$",
	Units:  map[int]string{6: nbsp + "M", 12: nbsp + "B"},
	Moment: "2/1/2006 15:04 UTC", Day: "2/1",
	Discord: []string{"es-ES", "es-419"},
}, {
	Language: Chinese, Point: ".", Group: ",", GroupFrom: 4, Percent: "#%", USD: "$#",
	Units:  map[int]string{4: "万", 8: "亿", 12: "万亿"},
	Moment: "2006年1月2日 15:04 UTC", Day: "1/2",
	Discord: []string{"zh-CN"},
}, {
	Language: Russian, Point: ",", Group: nbsp, GroupFrom: 4, Percent: "#" + nbsp + "%", USD: "#" + nbsp + "$",
	Units:  map[int]string{6: nbsp + "млн", 9: nbsp + "млрд", 12: nbsp + "трлн"},
	Moment: "02.01.2006 15:04 UTC", Day: "02.01",
	Discord: []string{"ru"},
}, {
	Language: Turkish, Point: ",", Group: ".", GroupFrom: 4, Percent: "%#", USD: "$#",
	Units:  map[int]string{6: nbsp + "Mn", 9: nbsp + "Mr", 12: nbsp + "Tn"},
	Moment: "02.01.2006 15:04 UTC", Day: "02.01",
	Discord: []string{"tr"},
}, {
	// The short names of 10⁹ and of English trillions are the same letter, so the
	// units have their long names.
	Language: Vietnamese, Point: ",", Group: ".", GroupFrom: 4, Percent: "#%", USD: "#" + nbsp + "$",
	Units:  map[int]string{6: nbsp + "triệu", 9: nbsp + "tỷ", 12: nbsp + "nghìn" + nbsp + "tỷ"},
	Moment: "15:04 02/01/2006 UTC", Day: "02/01",
	Discord: []string{"vi"},
}}

// Languages lists all languages, English first.
func Languages() []Language {
	all := make([]Language, len(languages))
	for i, row := range languages {
		all[i] = row.Language
	}
	return all
}

// Info returns the language's row, or the English one of a language that the bot
// does not speak. It is not the caller's to change.
func (l Language) Info() LanguageInfo { return languages[max(l.row(), 0)] }

func (l Language) row() int {
	return slices.IndexFunc(languages, func(row LanguageInfo) bool { return row.Language == l })
}

// LanguageOf returns the language of a platform's locale, such as "es-419" or
// "zh_CN", if the bot speaks it.
func LanguageOf(locale string) (l Language, spoken bool) {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(locale), "_", "-"), "-")
	if l = Language(code); l.row() < 0 {
		return "", false
	}
	return l, true
}
