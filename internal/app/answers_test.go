package app

import (
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/words"
)

func TestAnswersAreInTheLanguageOfTheirReaders(t *testing.T) {
	world := startSandbox(t)
	for _, test := range []struct {
		name    string
		request chat.Request
		want    chat.Language
	}{
		{"a group's, in CHAT_LANGUAGE", chat.Request{Command: "price", Locale: "vi", Chat: "1"}, chat.Turkish},
		{"one person's own", chat.Request{Command: "price", Locale: "vi-VN", Direct: true}, chat.Vietnamese},
		{"of a language that nobody here speaks", chat.Request{Command: "price", Locale: "tlh", Direct: true}, chat.Turkish},
		{"a private one in a group", chat.Request{Command: "exists", Locale: "zh-CN", Chat: "1"}, chat.Chinese},
	} {
		if _, reply := asked(t, world, test.request, "CHAT_LANGUAGE=tr"); reply.Language != test.want {
			t.Errorf("%s is in %q, want %q", test.name, reply.Language, test.want)
		}
	}
}

func TestAnswersNameTheServiceAndLinkToTheExplorer(t *testing.T) {
	world := startSandbox(t)
	wallet := world.World.Staker.Hex()
	verify := chat.Request{Command: "verify", Args: chat.Typed(wallet), From: telegramUser(world.World.Registered), Direct: true}
	for _, test := range []struct {
		settings      []string
		service, link string
	}{
		{nil, "the service", ""},
		{[]string{"SERVICE_NAME=Zebra Passport", "EXPLORER_URL=https://explorer.example/x/"}, "Zebra Passport", "https://explorer.example/x/address/" + wallet},
	} {
		_, reply := asked(t, world, verify, test.settings...)
		card := words.Print(reply)
		if !strings.HasSuffix(card.Text.String(), " with "+test.service+".") {
			t.Errorf("with %q the answer says %q", test.settings, card.Text)
		}
		if link := card.Sections[0].Fields[0].Value[0].URL; link != test.link {
			t.Errorf("with %q the wallet links to %q, want %q", test.settings, link, test.link)
		}
	}
}
