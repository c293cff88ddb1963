package app

import (
	"encoding/base64"
	"regexp"
	"strings"

	"herald/internal/chat"
)

// digits matches a platform's ID.
var digits = regexp.MustCompile(`^[0-9]{1,20}$`)

// idInTelegramToken returns the ID in a token such as "7000000001:AAE…".
func idInTelegramToken(token string) string {
	id, _, _ := strings.Cut(token, ":")
	return id
}

// idInDiscordToken returns the ID in a token such as "NzAwMDAwMDAwMQ.G3…", with or without padding.
func idInDiscordToken(token string) string {
	encoded, _, _ := strings.Cut(token, ".")
	decoded, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	return string(decoded)
}

// botID returns the ID that the bot with this token has on the platform, without asking the platform. If the token does
// not contain the ID, botID returns a hash of the token.
func (p servable) botID(token string) string {
	if p.idInToken != nil {
		id := p.idInToken(token)
		if digits.MatchString(id) {
			return id
		}
	}
	return hash("bot", token)[:32]
}

// botID returns the bot's ID on the first platform whose token is set. It tells apart the bots that share a Redis.
func (c *Config) botID() string {
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			return string(p.name) + "-" + p.botID(p.token.Reveal())
		}
	}
	return ""
}

// bots returns the bot's ID on each platform whose token is set.
func (c *Config) bots() map[chat.Platform]string {
	ids := map[chat.Platform]string{}
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			ids[p.name] = p.botID(p.token.Reveal())
		}
	}
	return ids
}
