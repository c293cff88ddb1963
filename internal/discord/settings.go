package discord

import (
	"crypto/ed25519"

	"herald/internal/config"
)

// Settings are what an operator chooses. Discord is on if Token is set.
type Settings struct {
	Token config.Secret
	// ApplicationID owns the commands; empty = asked from Discord.
	ApplicationID string
	// APIURL is the REST origin, as in https://discord.com.
	APIURL string
	// GuildID registers the commands in this guild alone; empty = global.
	GuildID string
	// PublicKey verifies interactions that arrive by HTTP; nil = gateway.
	PublicKey ed25519.PublicKey
}
