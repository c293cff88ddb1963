package app

import (
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
)

func TestBotIDIsInTheToken(t *testing.T) {
	// For each platform, tokens and the IDs in them.
	ids := map[chat.Platform]map[string]string{
		telegram.Platform: {"7000000001:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc": "7000000001"},
		discord.Platform: {
			"MTE5ODYyMjQ4MzQ3MTkyNTI0OA.Gx4Yz0.abc": "1198622483471925248",
			"NzAwMDAwMDAwMQ==.Gx4Yz0.abc":           "7000000001",
			"NzAwMDAwMDAwMQ.Gx4Yz0.abc":             "7000000001",
		},
	}
	for _, p := range new(Config).platforms() {
		if p.idInToken != nil && len(ids[p.name]) == 0 {
			t.Errorf("this test has no token of %s, from which idInToken returns an ID", p.name)
		}
		for token, want := range ids[p.name] {
			if got := p.botID(token); got != want {
				t.Errorf("%s: %s, want %s", token, got, want)
			}
		}
	}
}

func TestTheIDOfAMalformedTokenIsItsHash(t *testing.T) {
	seen := map[string]string{}
	for _, token := range []string{"", "t", "token:secret", "../x:secret", "not base64!.x.y", "aGVsbG8.x.y",
		"NzAwMDAw!DAwMQ.x.y"} {
		for _, p := range new(Config).platforms() {
			id := p.botID(token)
			if len(id) != 32 || token != "" && strings.Contains(id, token) {
				t.Errorf("%q has the ID %q, want a hash", token, id)
			}
			if other, known := seen[id]; known && other != token {
				t.Errorf("%q and %q have the same ID", token, other)
			}
			seen[id] = token
		}
	}
}
