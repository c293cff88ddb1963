package telegram

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// maxTitle limits the shown name of a group, in characters.
const maxTitle = 64

// notifyTime is how long Notify may take.
const notifyTime = 3 * time.Second

// OneEach implements chat.BadgeGiver. A member of a group has one tag at a time.
func (a *Adapter) OneEach() bool { return true }

// BadgeName implements chat.BadgeGiver. The tag is its own name.
func (a *Adapter) BadgeName(_, tag string) chat.Untrusted { return chat.NewUntrusted(tag, maxTag) }

// CommunityName implements chat.BadgeGiver.
func (a *Adapter) CommunityName(group string) chat.Untrusted {
	stored, _ := a.groups.Load(group)
	known, _ := stored.(models.Chat)
	return chat.NewUntrusted(known.Title, maxTitle)
}

// Give implements chat.BadgeGiver. It replaces another tag, because the member asked for this one. It ignores the
// reason: Telegram has no audit log.
func (a *Adapter) Give(ctx context.Context, group, tag, user, _ string) error {
	return a.setTag(ctx, group, user, tag)
}

// Remove implements chat.BadgeGiver. It leaves another tag as it is.
func (a *Adapter) Remove(ctx context.Context, group, tag, user, _ string) error {
	member, err := a.member(ctx, group, user)
	if err != nil || tagOf(member) != tag {
		return err
	}
	return a.setTag(ctx, group, user, "")
}

// Worn implements chat.BadgeGiver. For an administrator, who has a title instead of a tag, it fails with
// chat.CannotHave.
func (a *Adapter) Worn(ctx context.Context, group, user string) ([]string, error) {
	member, err := a.member(ctx, group, user)
	switch {
	case err != nil:
		return nil, err
	case isAdministrator(member):
		return nil, &chat.BadgeError{Problem: chat.CannotHave, Err: errTitle}
	case tagOf(member) == "":
		return nil, nil
	}
	return []string{tagOf(member)}, nil
}

// The reasons why a user can have no tag in a group.
var (
	errAbsent = errors.New("the user is not a member")
	errTitle  = errors.New("the user is an administrator, and has a title instead of a tag")
)

// member asks Telegram about a member of a group. It fails with a *chat.BadgeError.
func (a *Adapter) member(ctx context.Context, group, user string) (m *models.ChatMember, err error) {
	m, err = a.chatMember(ctx, idOf(group), idOf(user))
	switch {
	case err != nil:
		return m, badgeError(err)
	case isAbsent(m):
		return m, &chat.BadgeError{Problem: chat.NotAMember, Err: errAbsent}
	}
	return m, nil
}

// setTag sets the tag of a member; "" removes it. It fails with a *chat.BadgeError.
func (a *Adapter) setTag(ctx context.Context, group, user, tag string) error {
	chatID := idOf(group)
	params := &bot.SetChatMemberTagParams{ChatID: chatID, UserID: idOf(user), Tag: tag}
	_, err := botapi.Change(ctx, a.api, (*bot.Bot).SetChatMemberTag, params)
	if err == nil {
		return nil
	}
	a.seeMove(chatID, err)
	failed := badgeError(err)
	failed.OutcomeUnknown = botapi.ErrorOf(err).Kind == botapi.OutcomeUnknown
	return failed
}

// idOf returns the ID of a user or a group as a number. If id is not a number, it returns 0, which is the ID of nobody.
func idOf(id string) int64 {
	number, _ := strconv.ParseInt(id, 10, 64)
	return number
}

// badgeError returns err, the error of a call about a member of a group, with the problem that it shows.
func badgeError(err error) *chat.BadgeError {
	e := botapi.ErrorOf(err)
	failed := &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: e.RetryAfter, Err: err}
	switch {
	case e.NoMember():
		failed.Problem = chat.NotAMember
	case e.CannotBeTagged():
		failed.Problem = chat.CannotHave
	case e.NoChat():
		failed.Problem = chat.CommunityGone
	case e.NotAllowed():
		failed.Problem = chat.MissingRight
	}
	return failed
}

// seeTag tells the Handler which tag the sender of a command wears, if StakerTags has a tag in the group. Telegram
// includes the sender's tag only in messages from supergroups.
func (s *session) seeTag(m *models.Message, req *chat.Request) {
	if m == nil || m.Chat.Type != models.ChatTypeSupergroup || req.From.ID == "" {
		return
	}
	if !chat.AnyIn(s.adapter.Settings.StakerTags, req.Community) {
		return
	}
	worn := []string{}
	if m.SenderTag != "" {
		worn = append(worn, m.SenderTag)
	}
	s.work.Handler.Seen(req.From, req.Community, worn)
}

// Notify implements chat.BadgeGiver. It blocks for at most notifyTime. It sends nothing while Run does not run.
func (a *Adapter) Notify(ctx context.Context, user string, reply *chat.Reply) {
	if s := a.current.Load(); s != nil {
		s.sendTo(ctx, idOf(user), notifyTime, reply)
	}
}
