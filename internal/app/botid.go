package app

import (
	"encoding/base64"
	"regexp"
	"strings"

	"herald/internal/chat"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
)

// digits matches a platform's ID.
var digits = regexp.MustCompile(`^[0-9]{1,20}$`)

// botID returns the ID that the bot with this token has on the platform, without asking the platform: both
// platforms' tokens contain it. The ID of a token of another form is a hash of the token.
func botID(platform chat.Platform, token string) string {
	var id string
	switch platform {
	case telegram.Platform: // "7000000001:AAE…"
		id, _, _ = strings.Cut(token, ":")
	case discord.Platform: // "NzAwMDAwMDAwMQ.G3…", with or without padding
		encoded, _, _ := strings.Cut(token, ".")
		decoded, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
		id = string(decoded)
	}
	if digits.MatchString(id) {
		return id
	}
	return hash("bot", token)[:32]
}

// botID returns the bot's ID on the first platform whose token is set. It tells apart the bots that share a Redis.
func (c *Config) botID() string {
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			return string(p.name) + "-" + botID(p.name, p.token.Reveal())
		}
	}
	return ""
}

// bots returns the bot's ID on each platform whose token is set.
func (c *Config) bots() map[chat.Platform]string {
	ids := map[chat.Platform]string{}
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			ids[p.name] = botID(p.name, p.token.Reveal())
		}
	}
	return ids
}
