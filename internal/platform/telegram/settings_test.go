package telegram_test

import (
	"strings"
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/platform/telegram"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	table := new(telegram.Settings).Table()
	configtest.Refuses(t, table, "TELEGRAM_BOT_TOKEN", "@BotFather",
		configtest.Canary, "1:"+configtest.Canary+"/x", ":"+configtest.Canary, "a1:"+configtest.Canary, "1:"+configtest.Canary+" b")
	configtest.Refuses(t, table, "TELEGRAM_API_URL", "",
		configtest.Canary, "ftp://"+configtest.Canary, "https://", "https://u:"+configtest.Canary+"@host", "https://host?"+configtest.Canary, "https://h:99999")
	configtest.Refuses(t, table, "TELEGRAM_PACING", "one of on, off", configtest.Canary, "ON", "true")
	configtest.Refuses(t, table, "TELEGRAM_WEBHOOK_SECRET", "1 to 256", configtest.Canary+" b", configtest.Canary+"é", strings.Repeat("a", 257))
	for _, url := range []string{configtest.Canary, "http://host/" + configtest.Canary, "https://host/healthz", "https://host/readyz", "https://host/metrics", "https://host/discord/interactions",
		"https://host/%6Detrics", "https://host/{" + configtest.Canary + "}", "https://host/a//b", "https://host/a/../b", "https://host/a/", "https://host/?" + configtest.Canary} {
		mistakes := configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_WEBHOOK_SECRET=a", "TELEGRAM_WEBHOOK_URL="+url)
		configtest.OneMistake(t, table, mistakes, "TELEGRAM_WEBHOOK_URL", "must")
	}
}

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
