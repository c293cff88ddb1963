package app

import (
	"encoding/base64"
	"regexp"
	"strings"

	"herald/internal/chat"
)

// Saved addresses belong to one bot, and so does what is in Redis. The bot's ID must be known before any platform is
// asked, so it is taken from the bot's token.

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

// redisID returns an ID of the bot among the bots that share a Redis: the first platform whose token is set, and the
// bot's ID there, such as "telegram-7000000001". It returns "" if no token is set. If a bot for Discord alone gets a
// token for Telegram, its ID changes.
func (c *Config) redisID() string {
	for _, p := range c.platforms() {
		if p.token.IsSet() {
			return string(p.name) + "-" + p.botID(p.token.Reveal())
		}
	}
	return ""
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

// numericID matches a bot's ID. On every platform whose tokens contain the ID, it is a number.
var numericID = regexp.MustCompile(`^[0-9]{1,20}$`)

// hashedIDLength is the length of an ID that is a hash of a token, in hexadecimal digits: 128 bits, so that no two
// tokens have the same ID.
const hashedIDLength = 32

// idInTelegramToken returns the ID in a token such as "7000000001:AAE…".
func idInTelegramToken(token string) string {
	id, _, _ := strings.Cut(token, ":")
	return id
}

// idInDiscordToken returns the ID in a token such as "NzAwMDAwMDAwMQ.G3…", with or without padding.
func idInDiscordToken(token string) string {
	encoded, _, _ := strings.Cut(token, ".")
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		return "" // Without this, a part of the ID would count as the ID of a damaged token.
	}
	return string(decoded)
}
