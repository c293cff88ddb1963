package app

import (
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
)

func TestBotIDIsInTheToken(t *testing.T) {
	for _, c := range []struct {
		platform  chat.Platform
		token, id string
	}{
		{telegram.Platform, "7000000001:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc", "7000000001"},
		{discord.Platform, "MTE5ODYyMjQ4MzQ3MTkyNTI0OA.Gx4Yz0.abc", "1198622483471925248"},
		{discord.Platform, "NzAwMDAwMDAwMQ==.Gx4Yz0.abc", "7000000001"},
		{discord.Platform, "NzAwMDAwMDAwMQ.Gx4Yz0.abc", "7000000001"},
	} {
		got := botID(c.platform, c.token)
		if got != c.id {
			t.Errorf("%s: the ID is %s, want %s", c.token, got, c.id)
		}
	}
}

func TestTheIDOfAMalformedTokenIsItsHash(t *testing.T) {
	seen := map[string]string{}
	for _, token := range []string{"", "t", "token:secret", "../x:secret", "not base64!.x.y", "aGVsbG8.x.y"} {
		for _, platform := range []chat.Platform{telegram.Platform, discord.Platform} {
			id := botID(platform, token)
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
