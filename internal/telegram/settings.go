package telegram

import "herald/internal/config"

// Settings are what an operator chooses. Telegram is on if Token is set.
type Settings struct {
	Token config.Secret
	// APIURL is the Bot API server, without a slash at its end.
	APIURL string
	// WebhookURL is where Telegram delivers updates, and WebhookPath its path;
	// empty is long polling.
	WebhookURL    string
	WebhookPath   string
	WebhookSecret config.Secret
	// Pacing keeps sends to Telegram's published rates.
	Pacing bool
}
