package app

import (
	"encoding/base64"
	"regexp"
	"strings"

	"herald/internal/chat"
)

// Saved addresses, and what is in Redis, belong to one bot. A bot's ID must therefore be known before any platform is
// asked, so it is taken from the bot's token.

// numericID matches the ID of a bot on every platform whose tokens contain it.
var numericID = regexp.MustCompile(`^[0-9]{1,20}$`)

// hashedIDLength is the length of an ID that is a hash of a token, in hexadecimal digits. With 128 bits, two tokens do
// not have the same ID.
const hashedIDLength = 32

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
		if numericID.MatchString(id) {
			return id
		}
	}
	return hash("bot", token)[:hashedIDLength]
}

// redisID returns an ID of the bot among those that share a Redis. It is the bot's ID on the first platform whose token
// is set, after the platform's name. It is "" if no token is set.
func (c *Config) redisID() string {
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			return string(p.name) + "-" + p.botID(p.token.Reveal())
		}
	}
	return ""
}

// botIDs returns the bot's ID on each platform whose token is set.
func (c *Config) botIDs() map[chat.Platform]string {
	ids := map[chat.Platform]string{}
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			ids[p.name] = p.botID(p.token.Reveal())
		}
	}
	return ids
}
