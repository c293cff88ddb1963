package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
)

// Bounds on join requests, which may come by the thousand.
const (
	// maxJoins bounds the join requests in flight. While half of them are, further ones are
	// not checked.
	maxJoins = 2000
	// maxChecks bounds those that are checked at a time, so that commands find the
	// services free: it is a quarter of core.MaxCalls.
	maxChecks = 8
	// maxHeldJoins is how many join requests in flight make a raid: when polling, further
	// ones do not hold back the acknowledgement of later updates.
	maxHeldJoins = 50
	// joinMessages is how many messages about join requests go out in a second: a third of
	// what Telegram allows for all chats.
	joinMessages = 10
)

// The times of a join request. Telegram waits 10 seconds from the request's date for the
// answer to a query, https://core.telegram.org/bots/api#chatjoinrequest.
const (
	queryFor = 10 * time.Second
	// minQueryFor is how long the answer may take however old the date is: the clocks may
	// differ.
	minQueryFor = 5 * time.Second
	// approveFor is the part of that time in which nothing is checked any more. A message to
	// the person comes before the approval, for joiningFor at most.
	approveFor = 3 * time.Second
	joiningFor = 1500 * time.Millisecond
	// attemptFor bounds one call, so that one that hangs can be repeated in time.
	attemptFor = 2 * time.Second
	// joinMessageWait is how long a message to the person may wait for its turn.
	joinMessageWait = 3 * time.Second
)

// joinTask is a join request that is being answered.
type joinTask struct {
	s       *session
	r       *joinRequest
	request chat.Request
	// until is when the answer comes too late.
	until time.Time
}

// respondJoin answers a join request for one of JoinChats. It blocks until the outcome is
// known, or the drain ends. Whoever has what the group requires is let in. Any other request
// stays open for moderators, and the person is told why.
func (s *session) respondJoin(id string, r *joinRequest) {
	if _, listed := s.a.Settings.JoinChats[r.Chat.ID]; !listed {
		return
	}
	select {
	case s.a.joins <- struct{}{}:
		defer func() { <-s.a.joins }()
	default:
		s.countJoin(&s.a.Joins.Unknown, "join_unknown")
		return
	}
	group := strconv.FormatInt(r.Chat.ID, 10)
	s.a.titles.Store(group, r.Chat.Title)
	now := time.Now()
	j := &joinTask{s: s, r: r, until: now.Add(queryFor), request: chat.Request{
		ID: id, Command: chat.JoinCommand, Args: chat.Typed(group), GroupName: r.Chat.Title,
		From: userOf(r.From.ID), Locale: r.From.Language, BotName: s.me.FirstName,
		Chat: strconv.FormatInt(r.UserChat, 10), Direct: true,
	}}
	if r.QueryID != "" {
		byDate := time.Until(time.Unix(r.Date, 0).Add(queryFor))
		j.until = now.Add(min(max(byDate, minQueryFor), queryFor))
	}
	j.request.Deadline = j.until.Add(-approveFor)
	if reply := j.check(); reply != nil && reply.Admit != nil {
		j.letIn(*reply)
	} else {
		j.leaveOpen(reply)
	}
}

// check has the request checked. It blocks until then, at most until the request's Deadline.
// It returns nil for a bot, and if too many requests are in flight or others were checked
// until then.
func (j *joinTask) check() (reply *chat.Reply) {
	if j.r.From.IsBot || len(j.s.a.joins) > maxJoins/2 {
		return nil
	}
	select {
	case j.s.a.checks <- struct{}{}:
		defer func() { <-j.s.a.checks }()
	case <-time.After(time.Until(j.request.Deadline)):
		return nil
	case <-j.s.tasks.Commands.Done():
		return nil
	}
	j.s.tasks.Handle(j.request, func(r chat.Reply) { reply = &r })
	return reply
}

// leaveOpen leaves the request to moderators, and tells the person why; nil tells nothing.
func (j *joinTask) leaveOpen(reply *chat.Reply) {
	if j.r.QueryID != "" {
		// If Telegram refuses the answer, the request is answered or queued already.
		_ = j.s.untilKnown(j.until, func(ctx context.Context) error {
			return j.s.a.api.AnswerJoinQuery(ctx, j.r.QueryID, botapi.JoinQueued)
		})
	}
	if reply == nil || reply.Tone == chat.Warning {
		j.s.countJoin(&j.s.a.Joins.Unknown, "join_unknown")
	} else {
		j.s.countJoin(&j.s.a.Joins.LeftOpen, "join_left_open")
	}
	if reply != nil {
		j.tell(j.s.tasks.Sends, joinMessageWait, *reply)
	}
}

// letIn approves the request. Once a request is processed, Telegram takes no message to a
// person who never started the bot. So a message goes out first, and is edited afterwards.
func (j *joinTask) letIn(reply chat.Reply) {
	soon, cancel := context.WithTimeout(j.s.tasks.Sends, joiningFor)
	told := j.tell(soon, joiningFor, instead(reply, reply.Admit.Joining()))
	cancel()
	reply = j.s.admit(reply, j.r.From.ID, j.until, func(ctx context.Context) error {
		if j.r.QueryID != "" {
			return j.s.a.api.AnswerJoinQuery(ctx, j.r.QueryID, botapi.JoinApproved)
		}
		return j.s.a.api.Approve(ctx, j.r.Chat.ID, j.r.From.ID)
	})
	if reply.Admit == nil {
		j.s.countJoin(&j.s.a.Joins.Unknown, "join_unknown")
	}
	if told.Result == outbox.Delivered {
		edit := j.message(reply)
		edit.EditID = told.Sent.MessageID
		j.s.out.Send(j.s.tasks.Sends, edit)
	}
}

// tell sends the person a message, unless they got one less than a minute ago, or
// joinMessages leaves no slot within the given time. It blocks until the outcome is known, or
// ctx ends.
func (j *joinTask) tell(ctx context.Context, within time.Duration, reply chat.Reply) outbox.Receipt {
	bot := j.s.me.ID
	wait, ok := j.s.a.Limiter.Reserve(ctx, within,
		chat.Limit{Key: fmt.Sprint("join message ", bot, " ", j.r.UserChat), Count: 1, Window: time.Minute},
		chat.Limit{Key: fmt.Sprint("join messages ", bot), Count: 1, Window: time.Second / joinMessages},
	)
	if !ok || !transport.Sleep(ctx, wait) {
		return outbox.Receipt{}
	}
	return j.s.out.Send(ctx, j.message(reply))
}

func (j *joinTask) message(reply chat.Reply) outbox.Message {
	return outbox.Message{
		To: botapi.Destination{Chat: j.r.UserChat}, Content: render(&reply, j.s.me.Username),
		Sender: j.r.From.ID, Deadline: time.Now().Add(joinMessageWait),
	}
}

// admit calls approve until its outcome is known, at most until the given time. It returns
// the reply to show: r if the user is in the group, or else why not.
func (s *session) admit(r chat.Reply, user int64, until time.Time, approve func(context.Context) error) chat.Reply {
	err := s.untilKnown(until, approve)
	e := botapi.ErrorOf(err)
	switch {
	case err == nil, e.Kind == botapi.Refused && !e.NotAllowed() && s.isMember(r.Admit.ID, user):
		s.countJoin(&s.a.Joins.Approved, "join_approved")
		return r
	case e.NoJoinRequest():
		return instead(r, r.Admit.NotRequested())
	}
	s.a.Log.LogAttrs(s.tasks.Sends, s.tasks.Rarely(slog.LevelWarn, "join"), "telegram: a join request could not be approved", slog.Any("err", err))
	why := chat.Say("reason.timeout")
	switch {
	case e.NotAllowed():
		why = chat.Say("join.denied")
	case e.Unexplained():
		why = chat.Say("reason.internal")
	}
	return instead(r, r.Admit.Unchecked(why))
}

// instead returns other with the language and the footer of r.
func instead(r, other chat.Reply) chat.Reply {
	other.Language, other.Footer = r.Language, r.Footer
	return other
}

// untilKnown makes a call again while nobody can tell whether it was carried out, or while
// it was not. An approval may be repeated: it has no effect on a member.
func (s *session) untilKnown(until time.Time, call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(s.tasks.Sends, until)
	defer cancel()
	again := func(err error) (bool, time.Duration) {
		e := botapi.ErrorOf(err)
		return e.Kind == botapi.OutcomeUnknown || e.Kind == botapi.NotSent || e.Kind == botapi.TooManyRequests, e.RetryAfter
	}
	return transport.Policy{Backoff: backoff, Until: until, Again: again}.Do(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptFor)
		defer cancel()
		return call(ctx)
	})
}

// isMember asks Telegram whether a user is in a group. It returns false if that is not known.
func (s *session) isMember(group string, user int64) bool {
	m, err := s.a.api.GetChatMember(s.tasks.Sends, &bot.GetChatMemberParams{ChatID: group, UserID: user})
	if err != nil {
		return false
	}
	return m.Type != models.ChatMemberTypeLeft && m.Type != models.ChatMemberTypeBanned && (m.Restricted == nil || m.Restricted.IsMember)
}

// approveOwn approves the open request of the person who sent t's command, for a reply with
// Admit. It returns the reply to show.
func (t *task) approveOwn(r chat.Reply) chat.Reply {
	group, _ := strconv.ParseInt(r.Admit.ID, 10, 64) // It is one of JoinChats.
	return t.s.admit(r, t.cmd.user, time.Now().Add(queryFor), func(ctx context.Context) error {
		return t.s.a.api.Approve(ctx, group, t.cmd.user)
	})
}

// groupName returns the name of a group of JoinChats, or "" if that is not known.
func (a *Adapter) groupName(id string) string {
	title, _ := a.titles.Load(id)
	name, _ := title.(string)
	return name
}

// countJoin counts a join request.
func (s *session) countJoin(n *atomic.Int64, event string) {
	n.Add(1)
	s.a.Count(event)
}
