package chat

import "strings"

// Language is one that the bot speaks, by its ISO 639-1 code. Its zero value is
// English.
type Language string

// The languages. Chinese is written in simplified characters.
const (
	English    Language = "en"
	Spanish    Language = "es"
	Chinese    Language = "zh"
	Russian    Language = "ru"
	Turkish    Language = "tr"
	Vietnamese Language = "vi"
)

// Languages are all of them, English first.
func Languages() []Language {
	return []Language{English, Spanish, Chinese, Russian, Turkish, Vietnamese}
}

// LanguageOf is the language of a locale such as "es-419" or "zh_CN", as a
// platform gives it, if the bot speaks it.
func LanguageOf(locale string) (l Language, spoken bool) {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(locale), "_", "-"), "-")
	for _, l := range Languages() {
		if string(l) == code {
			return l, true
		}
	}
	return "", false
}
