package chat_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
)

func TestUntrustedTextIsOneHarmlessLine(t *testing.T) {
	for in, want := range map[string]string{
		" a  b ":                "a b",
		"@everyone":             "@\u2060everyone",
		"https://evil.example":  "https:\u2060//evil.example",
		"a\nb\tc\u00a0d":        "a b c d",
		"\u202egnp.exe\x1b[0m":  "gnp.exe[0m",
		"bad \xff utf8":         "bad utf8",
		" \u2060 \u200b":        "",
		strings.Repeat("é", 99): strings.Repeat("é", 39) + "…",
	} {
		if got := chat.NewUntrusted(in, 40); string(got) != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := chat.OneLine(" a\n\u2060b "); got != "a \u2060b" {
		t.Errorf("a mark of NewUntrusted is lost in %q", got)
	}
}

// FuzzUntrusted: any text becomes one clean line within its limit that pings
// nobody and links nowhere.
func FuzzUntrusted(f *testing.F) {
	f.Add("plain", 10)
	f.Add("@everyone https://evil.example \u202e\x1b[31m", 60)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		if limit < 1 || limit > 4096 {
			return
		}
		out := string(chat.NewUntrusted(in, limit))
		visible := strings.ReplaceAll(out, "\u2060", "")
		if !utf8.ValidString(out) || utf8.RuneCountInString(visible) > limit {
			t.Fatalf("%q became %q", in, out)
		}
		if strings.ContainsFunc(visible, func(r rune) bool { return !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) }) {
			t.Fatalf("%q became %q", in, out)
		}
		if strings.Contains(out, "@everyone") || strings.Contains(out, "://") {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func TestTheLanguageOfALocaleIsItsFirstPart(t *testing.T) {
	for locale, want := range map[string]chat.Language{
		"en": "en", "en-US": "en", "es-419": "es", "es_MX": "es", "zh-hans": "zh", "ZH_cn": "zh", "zh-TW": "zh", "zh-Hant-HK": "zh", "ru": "ru", "tr": "tr", "vi-VN": "vi",
		"": "", "-": "", "xx": "", "english": "", "e": "", "x-en": "", "\xff": "",
	} {
		if got, spoken := chat.LanguageOf(locale); got != want || spoken != (want != "") {
			t.Errorf("%q is %q, %v, want %q", locale, got, spoken, want)
		}
	}
}
