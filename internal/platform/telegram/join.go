package telegram

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
)

// Bounds on the calls about a join request.
const (
	// joiningTime bounds the message before an approval and, in a crowd, also the wait for its slot.
	joiningTime = 1500 * time.Millisecond
	// letInTime bounds a message to somebody who is in already.
	letInTime = 30 * time.Second
	// attemptTimeout bounds one call, so that one that hangs can be repeated in time.
	attemptTimeout = 2 * time.Second
	// messageTime is the least time for any other message to the person.
	messageTime = 3 * time.Second
)

// joinTask is a join request in flight.
type joinTask struct {
	s       *session
	join    *joinRequest
	arrived time.Time
	times   joinTimes
	// mayTell is set once personLimit allows a message about the request.
	mayTell bool
	// timer ends the wait to be checked. It is nil for a request that did not wait.
	timer *time.Timer
}

// timesAt returns the times of the request if its turn comes now.
func (j *joinTask) timesAt(now time.Time) joinTimes {
	return timesOf(j.arrived, now, time.Unix(int64(j.join.Date), 0), j.join.QueryID != "")
}

// answer checks the person and answers the request.
func (j *joinTask) answer(id string) (more bool) {
	began := time.Now()
	j.times = j.timesAt(began)
	reply := j.check(id, began)
	if reply.Join.Admit != nil {
		return j.approveRequest(reply)
	}
	return j.leaveOpen(reply)
}

// giveUp leaves a request open that is not checked.
func (j *joinTask) giveUp(string) (more bool) { return j.leaveOpen(nil) }

// check returns the Handler's reply, and ends the check.
func (j *joinTask) check(id string, began time.Time) (reply *chat.Reply) {
	req := &chat.Request{
		ID: id, Command: chat.JoinCommand, Args: chat.Typed(strconv.FormatInt(j.join.Chat.ID, 10)),
		From: userOf(j.join.From.ID), Locale: j.join.From.LanguageCode, BotName: j.s.me().FirstName,
		Chat: strconv.FormatInt(j.join.UserChatID, 10), Direct: true, Deadline: j.times.check,
	}
	j.s.a.nameGroup(req)
	defer func() {
		if time.Now().Before(req.Deadline) {
			j.s.a.joins.next()
			return
		}
		// The call to the service may still be under way, for as long as a check may take.
		time.AfterFunc(time.Until(began.Add(answerWithin-approveTime)), j.s.a.joins.next)
	}()
	j.s.work.Answer(req, func(r *chat.Reply) { reply = r })
	return reply
}

// leaveOpen leaves the request to moderators, and has the person told why; nil tells nothing.
func (j *joinTask) leaveOpen(reply *chat.Reply) (more bool) {
	if j.join.QueryID != "" {
		j.queue()
	}
	if reply == nil {
		j.leftOut(chat.Text{}, false)
		return false
	}
	j.leftOut(reply.Join.LeftOut, reply.Tone != chat.Warning)
	return j.tellLater(reply)
}

// queue answers the query with JoinQueued.
func (j *joinTask) queue() {
	err := j.s.untilKnown(j.times.approve, func(ctx context.Context) error {
		return j.s.a.api.AnswerChatJoinRequestQuery(ctx, j.join.QueryID, botapi.JoinQueued)
	})
	// A refusal that is not about rights means that the query is answered or has expired: nothing to log.
	if e := botapi.ErrorOf(err); err != nil && (e.Kind != botapi.Refused || e.NotAllowed()) {
		j.s.logJoin(slog.LevelWarn, err)
	}
}

// tellOutcome tells the person how their request ended, unless they got a message about the group
// less than a minute ago.
func (j *joinTask) tellOutcome(reply *chat.Reply) {
	if !j.mayTell {
		_, j.mayTell = j.s.a.Limiter.Reserve(j.s.work.Sends, 0, j.personLimit())
	}
	if j.mayTell {
		j.send(j.tellTime(), reply, 0)
	}
}

// approveRequest approves the request. Once a request is processed, Telegram takes no message to
// a person who never started the bot. So a message goes out first, and is edited afterwards. If
// that message is not out, the outcome is sent as a new one, which Telegram may refuse.
func (j *joinTask) approveRequest(reply *chat.Reply) (more bool) {
	receipt := j.tellJoining(reply)
	outcome := j.s.approve(reply.Join.Admit, j.join.From.ID, j.times.approve, j.callApprove)
	reply = replyTo(reply, outcome)
	switch outcome {
	case chat.LetIn:
		j.s.countLetIn(j.join.Chat.ID, j.join.From.ID)
	case chat.NotRequested:
		j.leftOut(reply.Join.LeftOut, false)
		j.s.closeJoin(j.join.Chat.ID, j.join.From.ID)
	default:
		j.leftOut(reply.Join.LeftOut, false)
	}
	switch {
	case outcome == chat.AccountDeleted:
		return false
	case receipt.Result == outbox.Delivered:
		j.send(j.tellTime(), reply, receipt.Sent.MessageID)
		return false
	case outcome == chat.NotRequested, receipt.Result == outbox.Unreachable:
		return false
	case outcome == chat.LetIn:
		j.times.tell = time.Now().Add(letInTime)
	}
	return j.tellLater(reply)
}

// callApprove makes the call that approves the request. If Telegram refuses to approve it by its
// query, callApprove answers the query with JoinQueued.
func (j *joinTask) callApprove(ctx context.Context) error {
	if j.join.QueryID == "" {
		return j.s.a.approveJoin(ctx, j.join.Chat.ID, j.join.From.ID)
	}
	err := j.s.a.api.AnswerChatJoinRequestQuery(ctx, j.join.QueryID, botapi.JoinApproved)
	e := botapi.ErrorOf(err)
	isSettled := err == nil || e.AlreadyMember() || e.NoJoinRequest()
	if !isSettled && !e.Passing() && !e.Expired() {
		j.queue()
	}
	return err
}

// tellJoining tells the person that they are being let in, unless they got a message about the
// group less than a minute ago, or admissions leaves no slot in time.
func (j *joinTask) tellJoining(reply *chat.Reply) outbox.Receipt {
	ctx, within := j.s.work.Sends, joiningTime
	if j.s.a.joins.count() <= maxChecks { // It is no crowd.
		within = max(within, time.Until(j.times.approve)-approveTime)
	}
	wait, ok := j.s.a.Limiter.Reserve(ctx, within, j.personLimit(), j.s.joinMessages("admissions", admissions))
	if !ok {
		return outbox.Receipt{}
	}
	j.mayTell = true
	if !transport.Sleep(ctx, wait) {
		return outbox.Receipt{}
	}
	return j.send(min(joiningTime, max(within-wait, time.Second/2)), reply, 0)
}

// tellTime returns how long a message or an edit that says how the request ended may take. A
// 429 must not leave the person with nothing, or with what is not true.
func (j *joinTask) tellTime() time.Duration { return max(messageTime, time.Until(j.times.tell)) }

// send sends the person a message within the given time, or edits the message with editID.
func (j *joinTask) send(within time.Duration, reply *chat.Reply, editID int) outbox.Receipt {
	return j.s.sendTo(j.s.work.Sends, j.join.UserChatID, within, reply, editID)
}

// sendTo sends a reply to a private chat within the given time, or edits the message with
// editID. It blocks until then at most.
func (s *session) sendTo(
	ctx context.Context, user int64, within time.Duration, reply *chat.Reply, editID int,
) outbox.Receipt {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.out.Send(ctx, outbox.Message{
		To:       outbox.Destination{Chat: user},
		Content:  render(reply, s.me().Username),
		EditID:   editID,
		Deadline: time.Now().Add(within),
	})
}

// leftOut counts and remembers that the request stays open. checked says that the person lacks
// what is required.
func (j *joinTask) leftOut(why chat.Text, checked bool) {
	out := chat.LeftOut{User: userOf(j.join.From.ID), At: time.Now(), Why: why}
	j.s.a.Joins.LeaveOut(strconv.FormatInt(j.join.Chat.ID, 10), out, checked)
	event := "join_unknown"
	if checked {
		event = "join_left_open"
	}
	j.s.a.Count(event)
}

// countLetIn counts and remembers that a user is let into a group.
func (s *session) countLetIn(group, user int64) {
	s.a.Joins.LetIn(strconv.FormatInt(group, 10), userOf(user))
	s.a.Count("join_approved")
}

// closeJoin forgets that a user has an open request to join a group.
func (s *session) closeJoin(group, user int64) {
	s.a.Joins.Close(strconv.FormatInt(group, 10), userOf(user))
}

// approve makes a call that lets a user into a group until it succeeds, is refused, or the time
// is over.
func (s *session) approve(
	a *chat.Admission, user int64, until time.Time, call func(context.Context) error,
) chat.AdmissionOutcome {
	err := s.untilKnown(until, call)
	outcome := outcomeOf(err)
	switch {
	case outcome == chat.LetIn:
		return outcome
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
func outcomeOf(err error) chat.AdmissionOutcome {
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
	case e.Passing(), e.Expired():
		return chat.ApprovalTimedOut
	}
	return chat.ApprovalFailed
}

// approveJoin lets a user into a chat. The bot needs the right to invite users. Telegram
// refuses if the user has no open request, or is a member.
func (a *Adapter) approveJoin(ctx context.Context, chat, user int64) error {
	params := &bot.ApproveChatJoinRequestParams{ChatID: chat, UserID: user}
	_, err := botapi.Change(ctx, a.api, (*bot.Bot).ApproveChatJoinRequest, params)
	a.seeMove(chat, err)
	return err
}

// replyTo returns the reply to the outcome of an Admission, in the language of the Reply with
// the Admission.
func replyTo(reply *chat.Reply, outcome chat.AdmissionOutcome) *chat.Reply {
	said := reply.Join.Admit.Say(outcome).In(reply.Language)
	said.Footer = reply.Footer
	return said
}

// logJoin logs why a join request was not approved, or its query not answered. It lowers the level
// if it logged at a higher one than slog.LevelInfo less than a minute ago.
func (s *session) logJoin(level slog.Level, err error) {
	if level > slog.LevelInfo {
		level = s.work.Rarely(level, "join")
	}
	const what = "telegram: a join request could not be answered"
	s.a.Log.LogAttrs(s.work.Sends, level, what, slog.Any("err", err))
}

// untilKnown repeats a call that was not sent, was rate-limited, or has an unknown outcome,
// until the given time. An approval may be repeated; a repeated answer to a query is refused.
func (s *session) untilKnown(until time.Time, call func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(s.work.Sends, until)
	defer cancel()
	policy := transport.Policy{Backoff: backoff, Until: until, Again: botapi.Retryable}
	return policy.Do(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return call(ctx)
	})
}

// isMember asks Telegram whether a user is in a group. It returns false if that is not known
// within answerWithin.
func (s *session) isMember(group string, user int64) bool {
	var m *models.ChatMember
	err := s.untilKnown(time.Now().Add(answerWithin), func(ctx context.Context) (err error) {
		m, err = s.a.chatMember(ctx, idOf(group), user)
		return err
	})
	return err == nil && !isAbsent(m)
}

// approveOwn approves the open request of the person who sent t's command, for a reply with
// Admit. It returns the reply to show.
func (t *task) approveOwn(reply *chat.Reply) *chat.Reply {
	group := idOf(reply.Join.Admit.Group)
	approved := false // by a call that succeeded, or whose outcome is unknown
	outcome := t.s.approve(reply.Join.Admit, t.cmd.user, time.Now().Add(answerWithin), func(ctx context.Context) error {
		err := t.s.a.approveJoin(ctx, group, t.cmd.user)
		approved = approved || err == nil || botapi.ErrorOf(err).Kind == botapi.OutcomeUnknown
		return err
	})
	switch {
	case outcome == chat.LetIn && approved: // Otherwise they were in already.
		t.s.countLetIn(group, t.cmd.user)
	case outcome == chat.LetIn, outcome == chat.NotRequested:
		t.s.closeJoin(group, t.cmd.user)
	default:
		t.noteOpen()
	}
	t.notRequested = outcome == chat.NotRequested
	return replyTo(reply, outcome)
}

// seeGroup stores the name of a group.
func (a *Adapter) seeGroup(c models.Chat) { a.groups.Store(strconv.FormatInt(c.ID, 10), c) }

// nameGroup sets the name and the link of the group that a JoinCommand is about, as far as
// they are known.
func (a *Adapter) nameGroup(req *chat.Request) {
	if stored, known := a.groups.Load(req.Args.First()); known {
		group := stored.(models.Chat)
		req.GroupName, req.GroupURL = group.Title, linkTo(&group)
	}
}
