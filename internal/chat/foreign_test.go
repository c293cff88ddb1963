package chat_test

import (
	"strings"
	"testing"

	"herald/internal/chat"
)

func TestForeignTextIsOneHarmlessLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain name":            "plain name",
		"@everyone":             "@\u2060everyone",
		"https://evil.example":  "https:\u2060//evil.example",
		"a\nb\tc":               "a b c",
		"\u202egnp.exe\x1b[0m":  "gnp.exe[0m",
		"bad \xff utf8":         "bad utf8",
		"\u2060a\u2060b\u200b":  "ab",
		" \u2060 \u200b":        "",
		"**b** <i>&amp; [x](y)": "**b** <i>&amp; [x](y)",
		"":                      "",
	} {
		if got := chat.NewForeign(in, 40); string(got) != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := chat.NewForeign(strings.Repeat("é", 5000), 20); len([]rune(string(got))) != 20 || !strings.HasSuffix(string(got), "…") {
		t.Errorf("5000 characters became %q, want 20 and an ellipsis", got)
	}
}

func TestOneLineIsOneCleanLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " ": "", "plain text, as it is": "plain text, as it is", "~!": "~!", "a  b": "a b", " a": "a", "a ": "a",
		"a\tb": "a b", "a\nb": "a b", "a\x00b": "ab", "a\x7fb": "ab", "a\u202eb": "ab", "é  é": "é é", "a\u00a0b": "a b", "\xff": "",
		"a\u200b\u200db": "ab", "a\u2060b": "a\u2060b",
	} {
		if got := chat.OneLine(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
