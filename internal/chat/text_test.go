package chat_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
)

// joiner is the invisible character that breaks up mentions and links.
const joiner = "\u2060"

func TestUntrustedTextIsOneHarmlessLine(t *testing.T) {
	for text, want := range map[string]string{
		" a  b ":                 "a b",
		"@everyone":              "@" + joiner + "everyone",
		"https://evil.example":   "https:" + joiner + "//evil.example",
		"a\nb\tc\u00a0d":         "a b c d",
		"\u202egnp.exe\x1b[0m":   "gnp.exe[0m",
		"bad \xff utf8":          "bad utf8",
		" " + joiner + " \u200b": "",
		strings.Repeat("é", 99):  strings.Repeat("é", 39) + "…",
	} {
		if got := chat.NewUntrusted(text, 40); string(got) != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestOneLineKeepsWordJoiners(t *testing.T) {
	if got, want := chat.OneLine(" a\n"+joiner+"b "), "a "+joiner+"b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzUntrusted checks that any text becomes one line of at most limit visible characters, without mentions and links.
func FuzzUntrusted(f *testing.F) {
	f.Add("plain", 10)
	f.Add("@everyone https://evil.example \u202e\x1b[31m", 60)
	f.Add("\xff\xfe", 1)
	isForbidden := func(r rune) bool { return !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) }
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 4096 {
			return
		}
		harmless := string(chat.NewUntrusted(text, limit))
		visible := strings.ReplaceAll(harmless, joiner, "")
		if !utf8.ValidString(harmless) || utf8.RuneCountInString(visible) > limit {
			t.Fatalf("%q became %q, want valid text of at most %d characters", text, harmless, limit)
		}
		if strings.ContainsFunc(visible, isForbidden) {
			t.Fatalf("%q became %q", text, harmless)
		}
		mentions := strings.Count(harmless, "@") > strings.Count(harmless, "@"+joiner)
		if mentions || strings.Contains(harmless, "://") {
			t.Fatalf("%q became %q", text, harmless)
		}
	})
}

func TestTheLanguageOfALocaleIsItsFirstPart(t *testing.T) {
	for want, locales := range map[chat.Language][]string{
		chat.English:    {"en", "en-US"},
		chat.Spanish:    {"es-419", "es_MX"},
		chat.Chinese:    {"zh-hans", "ZH_cn", "zh-TW", "zh-Hant-HK"},
		chat.Russian:    {"ru"},
		chat.Turkish:    {"tr"},
		chat.Vietnamese: {"vi-VN"},
		"":              {"", "-", "xx", "english", "e", "x-en", "\xff"},
	} {
		for _, locale := range locales {
			got, spoken := chat.LanguageOf(locale)
			if got != want || spoken != (want != "") {
				t.Errorf("%q is %q, %v, want %q", locale, got, spoken, want)
			}
		}
	}
}
