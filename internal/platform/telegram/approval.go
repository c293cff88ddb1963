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

const (
	// attemptTimeout is how long one attempt of a call may take, so that a call that hangs is retried in time.
	attemptTimeout = 2 * time.Second
	// attemptsTime is how long a call is retried in one go. If it then still gets a 429, retryAfterLimits waits, and
	// begins again.
	attemptsTime = 10 * time.Second
	// isMemberTime is how long isMember may take.
	isMemberTime = 10 * time.Second
)

// approve makes a call that lets a user into the admission's group. It retries the call until it succeeds or is
// refused, or until the given time. A retry may be refused because an earlier attempt, whose answer was lost, let the
// user in. So if the call fails, and not because of the user (ApprovalResult.Personal), approve asks Telegram whether
// they are in the group. That may take isMemberTime more.
func (s *session) approve(
	admission *chat.Admission, user int64, until time.Time, call func(context.Context) error,
) chat.ApprovalResult {
	err := s.retryAfterLimits(until, call)
	outcome := outcomeOf(err)
	switch {
	case outcome == chat.LetIn:
		return chat.LetIn
	case outcome.Personal():
		s.logJoin(slog.LevelInfo, err) // The operator can do nothing about it.
		return outcome
	case s.isMember(admission.Group, user):
		return chat.LetIn
	case outcome == chat.NotRequested: // Moderators or the user have closed the request.
		return outcome
	}
	s.logJoin(slog.LevelWarn, err)
	return outcome
}

// outcomeOf returns the outcome of an approval whose last call returned err.
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
	case e.Temporary(), e.Expired(): // The query of the join request has expired.
		return chat.ApprovalTimedOut
	}
	return chat.ApprovalFailed
}

// retryAfterLimits makes a call as retryUntilKnown does, for at most attemptsTime. If a 429 then asks for a wait that
// ends before the given time, it waits and begins again. A stop ends the wait at once, so that there is time to tell
// the person the outcome.
func (s *session) retryAfterLimits(until time.Time, call func(context.Context) error) error {
	for {
		attemptsEnd := earlier(until, time.Now().Add(attemptsTime))
		err := s.retryUntilKnown(s.work.Commands, attemptsEnd, call)
		e := botapi.ErrorOf(err)
		if e.Kind != botapi.TooManyRequests || time.Until(until) < e.RetryAfter {
			return err
		}
		pause := max(e.RetryAfter, backoff.First) // Telegram may not say how long.
		if !transport.Sleep(s.running, pause) {
			return err
		}
	}
}

// retryUntilKnown makes a call. Until the given time, or until ctx is done, it retries a call that was not sent, was
// rate-limited, or has an unknown outcome. Retrying after an unknown outcome does no harm: an approval may be repeated,
// and Telegram refuses a second answer to the query of a join request (see callApprove).
func (s *session) retryUntilKnown(ctx context.Context, until time.Time, call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	policy := transport.Policy{Backoff: backoff, Until: until, ShouldRetry: botapi.Retryable}
	return policy.Do(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return call(ctx)
	})
}

// isMember asks Telegram whether a user is in a group. It returns false if that is not known within isMemberTime.
func (s *session) isMember(group string, user int64) bool {
	var m *models.ChatMember
	err := s.retryUntilKnown(s.work.Sends, time.Now().Add(isMemberTime), func(ctx context.Context) (err error) {
		m, err = s.adapter.chatMember(ctx, idOf(group), user)
		return err
	})
	return err == nil && !isAbsent(m)
}

// logJoin logs why a join request was not approved, or its query not answered. A warning is logged once a minute;
// further ones are lowered to slog.LevelInfo.
func (s *session) logJoin(level slog.Level, err error) {
	if level > slog.LevelInfo {
		level = s.work.Rarely(level, "join")
	}
	const what = "telegram: a join request could not be answered"
	s.adapter.Log.LogAttrs(s.work.Sends, level, what, slog.Any("err", err))
}

// approveJoin lets a user into a group. The bot needs the right to invite users. Telegram refuses if the user has no
// open request, or is a member.
func (a *Adapter) approveJoin(ctx context.Context, group, user int64) error {
	params := &bot.ApproveChatJoinRequestParams{ChatID: group, UserID: user}
	_, err := botapi.Change(ctx, a.api, (*bot.Bot).ApproveChatJoinRequest, params)
	a.seeMove(group, err)
	return err
}

// replyTo returns the reply that tells a person the outcome of their approval, with the language and the footer of
// admitting, the reply that allowed the approval.
func replyTo(admitting *chat.Reply, outcome chat.ApprovalResult) *chat.Reply {
	reply := admitting.Join.Admit.Say(outcome).In(admitting.Language)
	reply.Footer = admitting.Footer
	return reply
}
