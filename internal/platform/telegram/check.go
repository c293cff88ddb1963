package telegram

import (
	"context"
	"fmt"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform"
	"herald/internal/words"
)

const (
	// recently is how long Check mentions a failed delivery.
	recently = 24 * time.Hour
	// maxReason limits texts from Telegram, such as the reason of a failed delivery, in characters.
	maxReason = 120
)

// Check asks Telegram who the bot is, where Telegram delivers its updates, what it may do in the groups of JoinChats
// and StakerTags, and whether it is in the groups of entries. It also checks Links. It changes nothing. details are
// sentences for an operator.
func (a *Adapter) Check(
	ctx context.Context, _ chat.Commands, entries ...platform.Entry,
) (details []string, rights []platform.Right, err error) {
	me, err := a.api.GetMe(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("telegram: %w", err)
	}
	way := "long polling"
	if a.Settings.WebhookURL != "" {
		way = "webhook"
	}
	details = []string{fmt.Sprintf("@%s, by %s", chat.NewUntrusted(me.Username, maxReason), way)}
	details = append(details, a.aboutLinks()...)
	info, err := a.api.GetWebhookInfo(ctx)
	if err != nil {
		return details, nil, fmt.Errorf("telegram: %w", err)
	}
	details = append(details, a.aboutWebhook(info)...)
	return details, a.rightsOf(ctx, me.ID, entries), nil
}

// aboutWebhook returns a sentence for an operator if Telegram has another webhook than the settings, and one if a
// delivery has failed recently.
func (a *Adapter) aboutWebhook(info *models.WebhookInfo) (details []string) {
	wanted := a.Settings.WebhookURL
	switch {
	case wanted == "" && info.URL != "":
		const note = "a webhook is set, to %s, which `bot run` deletes: is another program using this bot?"
		details = append(details, fmt.Sprintf(note, host(info.URL)))
	case wanted != "" && info.URL == "":
		details = append(details, "no webhook is set yet: `bot run` sets it")
	case wanted != info.URL:
		const note = "the webhook is set to another address, at %s: `bot run` replaces it"
		details = append(details, fmt.Sprintf(note, host(info.URL)))
	}
	failedAt := time.Unix(int64(info.LastErrorDate), 0)
	if wanted != "" && time.Since(failedAt) < recently {
		ago := words.Say(chat.English, chat.Moment{Time: failedAt})
		reason := chat.NewUntrusted(info.LastErrorMessage, maxReason)
		details = append(details, fmt.Sprintf("a delivery failed %s: %s", ago, reason))
	}
	return details
}

// host returns the host of a URL, whose path may be a secret.
func host(rawURL string) chat.Untrusted { return chat.NewUntrusted(config.Host(rawURL), maxReason) }
