package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
)

// Communities implements chat.Badges. It returns the chats of StakerTags, in ascending order.
func (a *Adapter) Communities() (ids []string) {
	for _, group := range slices.Sorted(maps.Keys(a.Settings.StakerTags)) {
		ids = append(ids, strconv.FormatInt(group, 10))
	}
	return ids
}

// tagOf returns the chat with an ID, and its tag.
func (a *Adapter) tagOf(community string) (group int64, tag string) {
	group, _ = strconv.ParseInt(community, 10, 64) // It is one of Communities, or has no tag.
	return group, a.Settings.StakerTags[group]
}

// BadgeName implements chat.Badges. It returns the tag.
func (a *Adapter) BadgeName(community string) chat.Untrusted {
	_, tag := a.tagOf(community)
	return chat.NewUntrusted(tag, maxTag)
}

// Give implements chat.Badges. It replaces another tag: the member asked for this one.
// Telegram has no audit log for the reason.
func (a *Adapter) Give(ctx context.Context, community, user, _ string) error {
	group, tag := a.tagOf(community)
	return badgeError(a.api.SetTag(ctx, group, idOf(user), tag))
}

// Take implements chat.Badges. It leaves another tag than the badge as it is.
func (a *Adapter) Take(ctx context.Context, community, user, _ string) error {
	group, tag := a.tagOf(community)
	member, err := a.api.GetMemberTag(ctx, group, idOf(user))
	switch {
	case err == nil && member.Absent():
		return &chat.BadgeError{Problem: chat.NotAMember, Err: errAbsent}
	case err == nil && member.Tag == tag:
		err = a.api.SetTag(ctx, group, idOf(user), "")
	}
	return badgeError(err)
}

// idOf returns a user's ID as a number.
func idOf(user string) int64 {
	id, _ := strconv.ParseInt(user, 10, 64) // 0 is nobody.
	return id
}

// badgeError returns the *chat.BadgeError of a call that set a tag, or nil.
func badgeError(err error) error {
	if err == nil {
		return nil
	}
	e := botapi.ErrorOf(err)
	failed := &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: e.RetryAfter, Err: err}
	switch {
	case e.NoMember():
		failed.Problem = chat.NotAMember
	case e.CannotBeTagged():
		failed.Problem = chat.CannotWear
	case e.NotAllowed() || e.NoChat():
		failed.Problem = chat.MissingRight
	}
	return failed
}

var errAbsent = errors.New("the user is not a member")

var errNoCount = errors.New("telegram does not tell how many members have a tag")

// Wearers implements chat.Badges. It always fails.
func (a *Adapter) Wearers(context.Context, string) (int, error) { return 0, errNoCount }

// Notify implements chat.Badges. It sends nothing while Run does not run.
func (a *Adapter) Notify(ctx context.Context, user string, reply chat.Reply) {
	s := a.current.Load()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, messageTime)
	defer cancel()
	id := idOf(user)
	s.out.Send(ctx, outbox.Message{
		To: botapi.Destination{Chat: id}, Content: render(&reply, s.me.Username), Sender: id, Deadline: time.Now().Add(messageTime),
	})
}

// Errors of a chat of STAKER_TAGS.
var (
	errNoTagRight = errors.New("the bot may not set tags: make it an administrator there, with the right to manage member tags")
	errOwnTags    = errors.New("members may edit their own tags, so that anybody could write this one: switch off Edit Own Tags in the group's permissions")
)

// checkTagChat asks Telegram about a chat of StakerTags. It returns a sentence for an operator.
// It fails if the bot may not set tags there, or members may set their own.
func (a *Adapter) checkTagChat(ctx context.Context, self, group int64) (detail string, err error) {
	about := fmt.Sprintf("STAKER_TAGS, group %d: ", group)
	info, err := a.api.GetChat(ctx, group)
	if err != nil {
		return "", fmt.Errorf("%s%w: is the ID right, and the bot in the group?", about, err)
	}
	own, err := a.api.GetMemberTag(ctx, group, self)
	switch {
	case err != nil:
	case !own.MayTag():
		err = errNoTagRight
	case info.EditsOwnTag():
		err = errOwnTags
	}
	if err != nil {
		return "", fmt.Errorf("%s%w", about, err)
	}
	return fmt.Sprintf("%sthe bot may set tags (%s)", about, chat.NewUntrusted(info.Title, maxReason)), nil
}

// checkTagChats logs what keeps tags from being true. It repeats calls that fail until ctx is
// done.
func (s *session) checkTagChats(ctx context.Context) {
	for group := range s.a.Settings.StakerTags {
		_ = s.repeat(ctx, func() error {
			_, err := s.a.checkTagChat(ctx, s.me.ID, group)
			e := botapi.ErrorOf(err)
			if err != nil && (errors.Is(err, errNoTagRight) || errors.Is(err, errOwnTags) || !e.Passing() && e.Kind != botapi.Unauthorized) {
				s.a.Log.LogAttrs(ctx, slog.LevelWarn, "telegram: a tag of STAKER_TAGS is not what it should be", slog.Any("err", err))
				return nil
			}
			return err
		})
	}
}
