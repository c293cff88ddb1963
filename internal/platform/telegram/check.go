package telegram

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

// recently is how long a failed delivery is worth a mention.
const recently = 24 * time.Hour

// maxReason bounds Telegram's text on a failed delivery, in characters.
const maxReason = 120

// Check asks Telegram who the bot is and where its updates go, and changes
// nothing. What it returns is for an operator, a sentence each.
func (a *Adapter) Check(ctx context.Context) (details []string, err error) {
	me, err := a.api.GetMe(ctx)
	switch {
	case err != nil:
		return nil, checkError(err)
	case me.Username == "":
		return nil, errors.New("telegram: getMe: the answer names no bot")
	}
	way := "long polling"
	if a.WebhookURL != "" {
		way = "webhook"
	}
	details = []string{fmt.Sprintf("@%s, by %s", chat.NewUntrusted(me.Username, maxReason), way)}
	if !me.JoinsGroups {
		details = append(details, "it cannot be added to groups: send /setjoingroups to @BotFather")
	}
	info, err := a.api.GetWebhookInfo(ctx)
	if err != nil {
		return details, checkError(err)
	}
	switch {
	case a.WebhookURL != "":
		details = append(details, a.aboutWebhook(info)...)
	case info.URL != "":
		// While one is set nothing can be polled.
		const note = "a webhook is set, to %s, which `bot run` deletes: is another program using this bot?"
		details = append(details, fmt.Sprintf(note, host(info.URL)))
	}
	return details, nil
}

// checkError is the error of Check. One of a conflict says itself what to do.
func checkError(err error) error {
	kind := botapi.ErrorOf(err).Kind
	err = fmt.Errorf("telegram: %w", err)
	if kind == botapi.Conflict {
		return &config.WrongError{Problem: err.Error()}
	}
	return err
}

func (a *Adapter) aboutWebhook(info *models.WebhookInfo) (notes []string) {
	switch info.URL {
	case a.WebhookURL:
	case "":
		notes = append(notes, "no webhook is set yet: `bot run` sets it")
	default:
		notes = append(notes, fmt.Sprintf("the webhook is set to another address, at %s: `bot run` replaces it", host(info.URL)))
	}
	if info.PendingUpdateCount > 0 {
		notes = append(notes, "updates that wait: "+words.Say(chat.English, chat.Count(info.PendingUpdateCount)))
	}
	if failed := time.Unix(int64(info.LastErrorDate), 0); time.Since(failed) < recently {
		notes = append(notes, fmt.Sprintf("a delivery failed %s: %s", words.Say(chat.English, chat.Moment{Time: failed}),
			chat.NewUntrusted(info.LastErrorMessage, maxReason)))
	}
	return notes
}

// host returns the host of a URL, whose path may be a secret.
func host(rawURL string) chat.Untrusted { return chat.NewUntrusted(config.Host(rawURL), maxReason) }
