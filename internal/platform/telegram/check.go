package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

// recently is how long Check mentions a failed delivery.
const recently = 24 * time.Hour

// maxReason bounds Telegram's text on a failed delivery, in characters.
const maxReason = 120

// Check asks Telegram who the bot is and where its updates go, and changes nothing. It
// returns sentences for an operator.
func (a *Adapter) Check(ctx context.Context) (details []string, err error) {
	me, err := a.api.GetMe(ctx)
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	way := "long polling"
	if a.Settings.WebhookURL != "" {
		way = "webhook"
	}
	details = []string{fmt.Sprintf("@%s, by %s", chat.NewUntrusted(me.Username, maxReason), way)}
	info, err := a.api.GetWebhookInfo(ctx)
	if err != nil {
		return details, fmt.Errorf("telegram: %w", err)
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
	for _, group := range slices.Sorted(maps.Keys(a.Settings.JoinChats)) {
		found, problem := a.checkJoinChat(ctx, me.ID, group)
		if details = append(details, found...); problem != nil {
			details, err = append(details, problem.Error()), errClosed
		}
	}
	for _, tag := range a.tagChats() {
		detail, problem := a.checkTagChat(ctx, me.ID, tag.Community)
		if problem != nil {
			detail, err = problem.Error(), cmp.Or(err, error(errTags))
		}
		details = append(details, fmt.Sprintf("STAKER_TAGS, group %s: %s", tag.Community, detail))
	}
	return details, err
}

// errTags is the error of Check if a tag of StakerTags cannot be set, or would not be true.
var errTags = &config.WrongError{Problem: "a tag of STAKER_TAGS cannot be set, or anybody can set it"}

// errClosed is the error of Check if a group of JoinChats lets nobody in.
var errClosed = &config.WrongError{Problem: "nobody can be let into a group of JOIN_CHATS"}

// errNoRight is the error of a group in which the bot cannot let people in.
var errNoRight = errors.New("the bot may not let people in: make it an administrator there, with the right to invite users via link")

// checkJoinChat asks Telegram about a group of JoinChats, and stores the group's name. It
// returns sentences for an operator, of which the first alone has the name. It fails if the
// bot cannot let people in there.
func (a *Adapter) checkJoinChat(ctx context.Context, self, group int64) (details []string, err error) {
	about := fmt.Sprintf("JOIN_CHATS, group %d: ", group)
	info, err := a.api.GetChat(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("%s%w: is the ID right, and the bot in the group?", about, err)
	}
	a.titles.Store(strconv.FormatInt(group, 10), info.Title)
	m, err := a.api.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: group, UserID: self})
	if err == nil && (m.Administrator == nil || !m.Administrator.CanInviteUsers) {
		err = errNoRight
	}
	if err != nil {
		return nil, fmt.Errorf("%s%w", about, err)
	}
	details = []string{fmt.Sprintf("%sthe bot may let people in (%s)", about, chat.NewUntrusted(info.Title, maxReason))}
	if !info.JoinByRequest {
		details = append(details, about+"only those ask to join who come by an invite link with admin approval: "+
			"make such a link, or switch on Approve New Members")
	}
	if info.GuardBot != nil && info.GuardBot.ID != self {
		details = append(details, about+"another bot is asked about join requests first: make this one process them instead")
	}
	return details, nil
}

// checkJoinChats logs what keeps the bot from answering join requests. It repeats calls that
// fail until ctx is done.
func (s *session) checkJoinChats(ctx context.Context) {
	for group := range s.a.Settings.JoinChats {
		_ = s.repeat(ctx, func() error {
			details, err := s.a.checkJoinChat(ctx, s.me.ID, group)
			switch e := botapi.ErrorOf(err); {
			case err == nil && len(details) > 1:
				s.a.Log.Warn("telegram: some join requests may not reach the bot", "details", details[1:])
			case errors.Is(err, errNoRight), err != nil && !e.Passing() && e.Kind != botapi.Unauthorized:
				s.a.Log.Warn("telegram: nobody can be let into a group", "err", err)
				return nil
			}
			return err
		})
	}
}

// host returns the host of a URL, whose path may be a secret.
func host(rawURL string) chat.Untrusted { return chat.NewUntrusted(config.Host(rawURL), maxReason) }
