package telegram

import (
	"slices"
	"strings"
	"testing"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/secret"
)

func TestCheckTellsWhoTheBotIsAndWhereItsUpdatesGo(t *testing.T) {
	const ours = "https://bot.example/hooks/telegram"
	const path = "in-the-path-of-another"
	webhook := func(c *Config) {
		c.WebhookURL, c.WebhookPath, c.WebhookSecret = ours, "/hooks/telegram", secret.New("s")
	}
	elsewhere := func(s *faketelegram.Server) { s.SetWebhook("https://other.example/" + path) }
	for name, test := range map[string]struct {
		change func(*Config)
		set    func(*faketelegram.Server)
		want   []string
	}{
		"polling": {func(*Config) {}, func(*faketelegram.Server) {}, []string{"@herald_bot, by long polling"}},
		"polling beside a webhook": {func(*Config) {}, elsewhere, []string{
			"@herald_bot, by long polling", "a webhook is set, to other.example, which `bot run` deletes: is another program using this bot?",
		}},
		"webhook not set": {webhook, func(*faketelegram.Server) {}, []string{"@herald_bot, by webhook", "no webhook is set yet: `bot run` sets it"}},
		"webhook elsewhere": {webhook, elsewhere, []string{
			"@herald_bot, by webhook", "the webhook is set to another address, at other.example: `bot run` replaces it",
		}},
		"webhook that fails": {webhook, func(s *faketelegram.Server) {
			s.SetWebhook(ours)
			s.FailDelivery("Wrong response from the webhook:\n502 Bad Gateway \x1b[31m")
		}, []string{
			"@herald_bot, by webhook", "a delivery failed just now: Wrong response from the webhook: 502 Bad Gateway [31m",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := setUp(t, test.change)
			test.set(r.api)
			learned, err := r.adapter.Check(t.Context())
			for i, l := range learned {
				// A second may have passed.
				learned[i] = strings.Replace(l, "1 s ago", "just now", 1)
			}
			if err != nil || !slices.Equal(learned, test.want) {
				t.Errorf("got %q, %v, want %q", learned, err, test.want)
			}
		})
	}
}
