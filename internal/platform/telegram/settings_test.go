package telegram_test

import (
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/platform/telegram"
)

func TestAWebhookNeedsATokenAndASecret(t *testing.T) {
	const webhook = "TELEGRAM_WEBHOOK_URL=https://bot.example.org/telegram"
	table := new(telegram.Settings).Table()
	configtest.OneMistake(t, table, configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", webhook),
		"TELEGRAM_WEBHOOK_SECRET", "is needed by TELEGRAM_WEBHOOK_URL and not set")
	configtest.OneMistake(t, table, configtest.Try(table, "TELEGRAM_WEBHOOK_SECRET=a", webhook),
		"TELEGRAM_BOT_TOKEN", "is needed by TELEGRAM_WEBHOOK_URL and not set")
}

func TestAWebhooksPathIsThatOfItsURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://bot.example.org":             "/",
		"https://bot.example.org/":            "/",
		"https://bot.example.org:8443/a/t.b_": "/a/t.b_",
	} {
		var s telegram.Settings
		configtest.Fill(t, s.Table(), "TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_WEBHOOK_SECRET=a", "TELEGRAM_WEBHOOK_URL="+url)
		if s.WebhookPath != want {
			t.Errorf("%s: the path is %q, want %q", url, s.WebhookPath, want)
		}
	}
}
