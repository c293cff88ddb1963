package chat_test

import (
	"context"
	"io"
	"testing"

	"herald/internal/chat"
)

func TestTheLanguageOfALocaleIsItsFirstPart(t *testing.T) {
	for locale, want := range map[string]chat.Language{
		"en": "en", "en-US": "en", "es-419": "es", "es_MX": "es", "zh-hans": "zh", "ZH_cn": "zh", "ru": "ru", "tr": "tr", "vi-VN": "vi",
		"": "", "-": "", "xx": "", "english": "", "e": "", "x-en": "", "\xff": "",
	} {
		if got, spoken := chat.LanguageOf(locale); got != want || spoken != (want != "") {
			t.Errorf("%q is %q, %v, want %q", locale, got, spoken, want)
		}
	}
}

// The sender's language is used where nobody else reads along.
func TestAnAnswerIsInTheLanguageOfThoseWhoReadIt(t *testing.T) {
	run := func(context.Context, chat.Request) (chat.Reply, error) { return chat.Reply{}, nil }
	router := newRouter(t, io.Discard, func(c *chat.Config) {
		c.Language = chat.Turkish
		c.Commands = append(c.Commands, chat.Command{Name: "price", Summary: chat.Say("price"), Visibility: chat.Public, Forms: []chat.Form{{Run: run}}})
	})
	for name, test := range map[string]struct {
		req  chat.Request
		want chat.Language
	}{
		"public":                 {chat.Request{Command: "price", Locale: "ru"}, chat.Turkish},
		"public, one to one":     {chat.Request{Command: "price", Locale: "ru", Direct: true}, chat.Russian},
		"public, ephemeral chat": {chat.Request{Command: "price", Locale: "es-419", CanReplyEphemerally: true}, chat.Turkish},
		"private":                {chat.Request{Command: "exists", Locale: "ru"}, chat.Russian},
		"an ephemeral refusal":   {chat.Request{Command: "price", Locale: "es-419", Args: chat.Typed("x"), CanReplyEphemerally: true}, chat.Spanish},
		"a refusal that all see": {chat.Request{Command: "price", Locale: "es-419", Args: chat.Typed("x")}, chat.Turkish},
		"an unknown command":     {chat.Request{Command: "moon", Locale: "es"}, chat.Turkish},
	} {
		test.req.From = ann
		if got := router.Handle(t.Context(), test.req).Language; got != test.want {
			t.Errorf("%s: answered in %q, want %q", name, got, test.want)
		}
	}
}
