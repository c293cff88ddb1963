package telegram

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// attemptTimeout is how long one call may take, so that one that hangs is retried in time.
const attemptTimeout = 2 * time.Second

// approve makes a call that lets a user into a group until it succeeds, is refused, or the time is over.
func (s *session) approve(
	a *chat.Admission, user int64, until time.Time, call func(context.Context) error,
) chat.ApprovalResult {
	err := s.afterLimits(until, call)
	outcome := outcomeOf(err)
	switch {
	case outcome == chat.LetIn:
		return chat.LetIn
	case outcome.Personal(): // The operator can do nothing about it.
		s.logJoin(slog.LevelInfo, err)
		return outcome
	case s.isMember(a.Group, user):
		return chat.LetIn
	case outcome != chat.NotRequested:
		s.logJoin(slog.LevelWarn, err)
	}
	return outcome
}

// outcomeOf returns the outcome of an approval by the error of its last call.
func outcomeOf(err error) chat.ApprovalResult {
	e := botapi.ErrorOf(err)
	switch {
	case err == nil, e.AlreadyMember():
		return chat.LetIn
	case e.NoJoinRequest():
		return chat.NotRequested
	case e.InTooManyChats():
		return chat.InTooManyGroups
	case e.Banned():
		return chat.BannedThere
	case e.AccountDeleted():
		return chat.AccountDeleted
	case e.NotAllowed():
		return chat.MayNotApprove
	case e.Temporary(), e.Expired():
		return chat.ApprovalTimedOut
	}
	return chat.ApprovalFailed
}

// approveJoin lets a user into a chat. The bot needs the right to invite users. Telegram refuses if the user has no
// open request, or is a member.
func (a *Adapter) approveJoin(ctx context.Context, chat, user int64) error {
	params := &bot.ApproveChatJoinRequestParams{ChatID: chat, UserID: user}
	_, err := botapi.Change(ctx, a.api, (*bot.Bot).ApproveChatJoinRequest, params)
	a.seeMove(chat, err)
	return err
}

// replyTo returns the reply to the outcome of an Admission, in the language of the Reply with the Admission.
func replyTo(reply *chat.Reply, outcome chat.ApprovalResult) *chat.Reply {
	said := reply.Join.Admit.Say(outcome).In(reply.Language)
	said.Footer = reply.Footer
	return said
}

// isMember asks Telegram whether a user is in a group. It returns false if that is not known within answerWithin.
func (s *session) isMember(group string, user int64) bool {
	var m *models.ChatMember
	err := s.untilKnown(s.work.Sends, time.Now().Add(answerWithin), func(ctx context.Context) (err error) {
		m, err = s.a.chatMember(ctx, idOf(group), user)
		return err
	})
	return err == nil && !isAbsent(m)
}

// afterLimits is untilKnown for answerWithin at most, and begins again after each longer 429 that ends before the
// given time. A drain does not wait for the end of a 429, and leaves time to tell the person the outcome.
func (s *session) afterLimits(until time.Time, call func(context.Context) error) error {
	for {
		attemptsEnd := earlier(until, time.Now().Add(answerWithin))
		err := s.untilKnown(s.work.Commands, attemptsEnd, call)
		e := botapi.ErrorOf(err)
		if e.Kind != botapi.TooManyRequests || time.Until(until) < e.RetryAfter {
			return err
		}
		if !transport.Sleep(s.running, e.RetryAfter) {
			return err
		}
	}
}

// untilKnown retries a call that was not sent, was rate-limited, or has an unknown outcome, until the given time or
// until ctx is done. An approval may be repeated; a repeated answer to a query is refused.
func (s *session) untilKnown(ctx context.Context, until time.Time, call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	policy := transport.Policy{Backoff: backoff, Until: until, ShouldRetry: botapi.Retryable}
	return policy.Do(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return call(ctx)
	})
}

// logJoin logs why a join request was not approved, or its query not answered. It lowers the level if it logged at a
// higher one than slog.LevelInfo less than a minute ago.
func (s *session) logJoin(level slog.Level, err error) {
	if level > slog.LevelInfo {
		level = s.work.Rarely(level, "join")
	}
	const what = "telegram: a join request could not be answered"
	s.a.Log.LogAttrs(s.work.Sends, level, what, slog.Any("err", err))
}
