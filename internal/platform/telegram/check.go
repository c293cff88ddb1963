package telegram

import (
	"context"
	"fmt"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform"
	"herald/internal/words"
)

// recently is how long Check mentions a failed delivery.
const recently = 24 * time.Hour

// maxReason limits texts from Telegram, such as the reason of a failed delivery, in characters.
const maxReason = 120

// Check asks Telegram who the bot is, where Telegram delivers its updates, what it may do in the groups of
// JoinChats and StakerTags, and whether it is in the groups of entries. It also checks Links. It
// changes nothing. details are sentences for an operator.
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
	switch {
	case a.Settings.WebhookURL == "" && info.URL != "":
		const note = "a webhook is set, to %s, which `bot run` deletes: is another program using this bot?"
		details = append(details, fmt.Sprintf(note, host(info.URL)))
	case a.Settings.WebhookURL != "" && info.URL == "":
		details = append(details, "no webhook is set yet: `bot run` sets it")
	case info.URL != a.Settings.WebhookURL:
		const note = "the webhook is set to another address, at %s: `bot run` replaces it"
		details = append(details, fmt.Sprintf(note, host(info.URL)))
	}
	if failed := time.Unix(int64(info.LastErrorDate), 0); a.Settings.WebhookURL != "" && time.Since(failed) < recently {
		details = append(details, fmt.Sprintf("a delivery failed %s: %s", words.Say(chat.English, chat.Moment{Time: failed}),
			chat.NewUntrusted(info.LastErrorMessage, maxReason)))
	}
	return details, a.rightsOf(ctx, me.ID, entries), nil
}

// host returns the host of a URL, whose path may be a secret.
func host(rawURL string) chat.Untrusted { return chat.NewUntrusted(config.Host(rawURL), maxReason) }
