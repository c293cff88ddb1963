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
	// maxJoins bounds the join requests in flight. Further ones are not checked.
	maxJoins = 1000
	// maxChecks bounds those that are checked at a time, so that commands find the
	// services free: it is a quarter of core.MaxCalls.
	maxChecks = 8
	// raidJoins is the number in flight from which polling takes them for a raid.
	raidJoins = 50
	// joinMessages is how many messages about join requests go out in a second: a third of
	// what Telegram allows for all chats.
	joinMessages = 10
)

// The times of a join request. Telegram waits 10 seconds from the request's date for the
// answer to a query, https://core.telegram.org/bots/api#chatjoinrequest.
const (
	answerWithin = 10 * time.Second
	// minAnswerTime is how long the answer to a query may take however old its date is: the
	// clocks may differ.
	minAnswerTime = 5 * time.Second
	// approveTime is the end of that time, kept for the first message, which takes joiningTime
	// at most, and for the approval.
	approveTime = 3 * time.Second
	joiningTime = 1500 * time.Millisecond
	// attemptTimeout bounds one call, so that one that hangs can be repeated in time.
	attemptTimeout = 2 * time.Second
	// messageTime bounds the wait of a message to the person for its turn, and its sending.
	messageTime = 3 * time.Second
)

// joinTask is a join request that is being answered.
type joinTask struct {
	s       *session
	join    *joinRequest
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
	now := time.Now()
	j := &joinTask{s: s, join: r, until: now.Add(answerWithin)}
	select {
	case s.a.joins <- struct{}{}:
		defer func() { <-s.a.joins }()
	default: // Nothing is checked, so an answer needs no longer than one attempt.
		j.until = now.Add(attemptTimeout)
		j.leaveOpen(nil)
		return
	}
	if r.QueryID != "" {
		byDate := time.Until(time.Unix(r.Date, 0).Add(answerWithin))
		j.until = now.Add(min(max(byDate, minAnswerTime), answerWithin))
	}
	group := strconv.FormatInt(r.Chat.ID, 10)
	s.a.titles.Store(group, r.Chat.Title)
	j.request = chat.Request{
		ID: id, Command: chat.JoinCommand, Args: chat.Typed(group), GroupName: r.Chat.Title,
		From: userOf(r.From.ID), Locale: r.From.Language, BotName: s.me.FirstName,
		Chat: strconv.FormatInt(r.UserChat, 10), Direct: true, Deadline: j.until.Add(-approveTime),
	}
	if reply := j.check(); reply != nil && reply.Admit != nil {
		j.letIn(*reply)
	} else {
		j.leaveOpen(reply)
	}
}

// check returns the Handler's reply. It returns nil for a bot, and if no check was free before
// the Deadline, or the drain stopped the wait.
func (j *joinTask) check() (reply *chat.Reply) {
	if j.join.From.IsBot {
		return nil
	}
	select {
	case j.s.a.checks <- struct{}{}:
		defer j.freeCheck(time.Now())
	case <-time.After(time.Until(j.request.Deadline)):
		return nil
	case <-j.s.tasks.Commands.Done():
		return nil
	}
	j.s.tasks.Handle(j.request, func(r chat.Reply) { reply = &r })
	return reply
}

// freeCheck frees the slot of a check that began at that time. After the Deadline, the call to
// the service may still be under way. freeCheck then keeps the slot until as much time has
// passed as a check may take.
func (j *joinTask) freeCheck(began time.Time) {
	var wait time.Duration
	if !time.Now().Before(j.request.Deadline) {
		wait = time.Until(began.Add(answerWithin - approveTime))
	}
	time.AfterFunc(wait, func() { <-j.s.a.checks })
}

// leaveOpen leaves the request to moderators, and tells the person why; nil tells nothing.
func (j *joinTask) leaveOpen(reply *chat.Reply) {
	if j.join.QueryID != "" {
		err := j.s.untilKnown(j.until, func(ctx context.Context) error {
			return j.s.a.api.AnswerJoinQuery(ctx, j.join.QueryID, botapi.JoinQueued)
		})
		// A refusal means that the query is answered, or has expired.
		if err != nil && botapi.ErrorOf(err).Kind != botapi.Refused {
			j.s.warnJoin(err)
		}
	}
	if reply == nil || reply.Tone == chat.Warning {
		j.s.countJoin(&j.s.a.Joins.Unknown, "join_unknown")
	} else {
		j.s.countJoin(&j.s.a.Joins.LeftOpen, "join_left_open")
	}
	if reply != nil {
		j.tell(messageTime, *reply)
	}
}

// letIn approves the request. Once a request is processed, Telegram takes no message to a
// person who never started the bot. So a message goes out first, and is edited afterwards. If
// that message is not out, the person is told nothing.
func (j *joinTask) letIn(reply chat.Reply) {
	receipt := j.tell(joiningTime, inPlaceOf(reply, reply.Admit.Joining()))
	reply = j.s.admit(reply, j.join.From.ID, j.until, func(ctx context.Context) error {
		if j.join.QueryID != "" {
			return j.s.a.api.AnswerJoinQuery(ctx, j.join.QueryID, botapi.JoinApproved)
		}
		return j.s.a.api.Approve(ctx, j.join.Chat.ID, j.join.From.ID)
	})
	if reply.Admit != nil {
		j.s.countJoin(&j.s.a.Joins.Approved, "join_approved")
	} else {
		j.s.countJoin(&j.s.a.Joins.Unknown, "join_unknown")
	}
	if receipt.Result == outbox.Delivered {
		j.send(messageTime, reply, receipt.Sent.MessageID)
	}
}

// tell sends the person a message within the given time, unless they got one less than a
// minute ago, or joinMessages leaves no slot. A message may go out messageTime after its slot.
func (j *joinTask) tell(within time.Duration, reply chat.Reply) outbox.Receipt {
	ctx, bot := j.s.tasks.Sends, j.s.me.ID
	wait, ok := j.s.a.Limiter.Reserve(ctx, within,
		chat.Limit{Key: fmt.Sprint("join message ", bot, " ", j.join.UserChat), Count: 1, Window: time.Minute + messageTime},
		chat.Limit{Key: fmt.Sprint("join messages ", bot), Count: 1, Window: time.Second / joinMessages},
	)
	if !ok || !transport.Sleep(ctx, wait) {
		return outbox.Receipt{}
	}
	return j.send(max(within-wait, time.Second/2), reply, 0)
}

// send sends the person a message within the given time, or edits the message with editID.
func (j *joinTask) send(within time.Duration, reply chat.Reply, editID int64) outbox.Receipt {
	ctx, cancel := context.WithTimeout(j.s.tasks.Sends, within)
	defer cancel()
	return j.s.out.Send(ctx, outbox.Message{
		To: botapi.Destination{Chat: j.join.UserChat}, Content: render(&reply, j.s.me.Username), EditID: editID,
		Sender: j.join.From.ID, Deadline: time.Now().Add(within),
	})
}

// admit calls approve until it succeeds, is refused, or the time is over. It returns reply if
// the user is in the group, and otherwise a reply that says why not.
func (s *session) admit(reply chat.Reply, user int64, until time.Time, approve func(context.Context) error) chat.Reply {
	err := s.untilKnown(until, approve)
	e := botapi.ErrorOf(err)
	switch {
	case err == nil, s.isMember(reply.Admit.ID, user):
		return reply
	case e.NoJoinRequest():
		return inPlaceOf(reply, reply.Admit.NotRequested())
	}
	s.warnJoin(err)
	why := chat.Say("reason.internal")
	switch {
	case e.NotAllowed():
		why = chat.Say("join.denied")
	case e.Passing() || e.Expired():
		why = chat.Say("reason.timeout")
	}
	return inPlaceOf(reply, reply.Admit.NotApproved(why))
}

// warnJoin logs why a join request was not approved, or its query not answered; once a minute
// as a warning.
func (s *session) warnJoin(err error) {
	s.a.Log.LogAttrs(s.tasks.Sends, s.tasks.Rarely(slog.LevelWarn, "join"), "telegram: a join request could not be answered", slog.Any("err", err))
}

// inPlaceOf returns other with the language and the footer of r.
func inPlaceOf(r, other chat.Reply) chat.Reply {
	other.Language, other.Footer = r.Language, r.Footer
	return other
}

// untilKnown repeats a call that was not sent, was rate-limited, or has an unknown outcome,
// until the given time. An approval may be repeated; a repeated answer to a query is refused.
func (s *session) untilKnown(until time.Time, call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(s.tasks.Sends, until)
	defer cancel()
	again := func(err error) (bool, time.Duration) {
		e := botapi.ErrorOf(err)
		return e.Passing(), e.RetryAfter
	}
	return transport.Policy{Backoff: backoff, Until: until, Again: again}.Do(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return call(ctx)
	})
}

// isMember asks Telegram whether a user is in a group. It returns false if that is not known.
func (s *session) isMember(group string, user int64) bool {
	ctx, cancel := context.WithTimeout(s.tasks.Sends, attemptTimeout)
	defer cancel()
	m, err := s.a.api.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: group, UserID: user})
	if err != nil {
		return false
	}
	return m.Type != models.ChatMemberTypeLeft && m.Type != models.ChatMemberTypeBanned && (m.Restricted == nil || m.Restricted.IsMember)
}

// approveOwn approves the open request of the person who sent t's command, for a reply with
// Admit. It returns the reply to show.
func (t *task) approveOwn(reply chat.Reply) chat.Reply {
	group, _ := strconv.ParseInt(reply.Admit.ID, 10, 64) // It is one of JoinChats.
	return t.s.admit(reply, t.cmd.user, time.Now().Add(answerWithin), func(ctx context.Context) error {
		err := t.s.a.api.Approve(ctx, group, t.cmd.user)
		if err == nil {
			t.s.countJoin(&t.s.a.Joins.Approved, "join_approved")
		}
		return err
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
