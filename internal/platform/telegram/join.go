package telegram

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// Telegram waits 10 seconds from a request's date for the answer to its query, and lets the bot write to the person
// for 5 minutes or until the request is processed, https://core.telegram.org/bots/api#chatjoinrequest.
const (
	answerWithin = 10 * time.Second
	// minAnswerTime is how long the answer to a query may take however old its date is: the clocks may differ.
	minAnswerTime = 5 * time.Second
	// patience is how long the approval of a request without a query may take.
	patience = 4 * time.Minute
	// contactTime is how long after a request's arrival a message about it may begin.
	contactTime = 5*time.Minute - 10*time.Second
	// welcomeTime is how long after an approval a message may begin: to those who started the bot, it always may.
	welcomeTime = 10 * time.Minute
)

// A request has one deadline. The check, the first message and the approval end before it, one after another:
//
//	arrival ── wait for a place ── check (7 s) ── first message (5 s) ── approval ── deadline
//	                                   └ ends 3 s before ─┘  └ ends 1.5 s before ─┘
const (
	// checkTime is how long a check may take. It ends answerTime before the deadline at the latest.
	checkTime  = 7 * time.Second
	answerTime = 3 * time.Second
	// firstMessageTime is how long an approval waits until the message before it is out, and crowdMessageTime how long
	// in a crowd. Both end approveTime before the deadline at the latest.
	firstMessageTime = 5 * time.Second
	crowdMessageTime = 1500 * time.Millisecond
	approveTime      = 1500 * time.Millisecond
	// sendTime is the part of firstMessageTime that is kept for sending, after the wait for a turn.
	sendTime = 500 * time.Millisecond
	// messageTime is the least time for the message about the outcome.
	messageTime = 3 * time.Second
)

// joining is a join request in flight.
type joining struct {
	s       *session
	request *joinRequest
	arrived time.Time
	// deadline is the latest time of the approval, or of the answer to the query.
	deadline time.Time
	// mayTell is set once the limits allow a new message about the request.
	mayTell bool
	// recorded is set once it is counted how the request ended.
	recorded bool
}

// acceptJoin has a join request for one of JoinChats answered in another goroutine, and returns true. A person who
// has what the group requires is let in. Any other request stays open for moderators, and the person is told why.
// acceptJoin does not block. It returns false, and takes nothing, if the drain has begun.
func (s *session) acceptJoin(r *joinRequest) bool {
	if _, listed := s.a.Settings.JoinChats[r.Chat.ID]; !listed {
		return true
	}
	s.a.seeGroup(r.Chat)
	now := time.Now()
	j := &joining{s: s, request: r, arrived: now, deadline: joinDeadline(r, now)}
	s.a.door.inFlight.Add(1)
	accepted := s.work.Go(func(id string) {
		defer s.a.door.inFlight.Add(-1)
		defer j.leaveOpenUnlessRecorded()
		j.answer(id)
	})
	if !accepted {
		s.a.door.inFlight.Add(-1)
	}
	return accepted
}

// joinDeadline returns the latest time of the answer to a request that arrived at the given time.
//
// For example, a query that is dated 4 seconds before its arrival has to be answered within 6 seconds of its arrival,
// and one that is dated an hour before, by another clock, within minAnswerTime.
func joinDeadline(r *joinRequest, arrived time.Time) time.Time {
	if r.QueryID == "" {
		return arrived.Add(patience)
	}
	left := time.Unix(int64(r.Date), 0).Add(answerWithin).Sub(arrived)
	return arrived.Add(min(max(left, minAnswerTime), answerWithin))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// answer checks the person, answers the request, and tells the person how it ended.
func (j *joining) answer(id string) {
	line := j.s.a.door.line(j.request)
	if j.request.From.IsBot || !line.enter(j.s.running, j.deadline.Add(-answerTime)) {
		j.leaveOpen(undecided, chat.Text{})
		return
	}
	reply := j.check(id, line)
	switch {
	case reply.Join.Admit != nil:
		j.letIn(reply)
		return
	case reply.Tone == chat.Warning:
		j.leaveOpen(undecided, reply.Join.LeftOut)
	default:
		j.leaveOpen(lacking, reply.Join.LeftOut)
	}
	j.tell(reply, j.arrived.Add(contactTime))
}

// check returns the Handler's reply, and leaves the line.
func (j *joining) check(id string, line *joinLine) (reply *chat.Reply) {
	began := time.Now()
	req := &chat.Request{
		ID:       id,
		Command:  chat.JoinCommand,
		Args:     chat.Typed(strconv.FormatInt(j.request.Chat.ID, 10)),
		From:     userOf(j.request.From.ID),
		Locale:   j.request.From.LanguageCode,
		BotName:  j.s.me().FirstName,
		Chat:     strconv.FormatInt(j.request.UserChatID, 10),
		Direct:   true,
		Deadline: earlier(began.Add(checkTime), j.deadline.Add(-answerTime)),
	}
	defer func() {
		if time.Now().Before(req.Deadline) {
			line.leave()
			return
		}
		// A call to a service may still be in flight. Its place is not free before the call has ended.
		time.AfterFunc(time.Until(began.Add(answerWithin)), line.leave)
	}()
	j.s.a.nameGroup(req)
	j.s.work.Answer(req, func(r *chat.Reply) { reply = r })
	return reply
}

// letIn approves the request, and tells the person the outcome.
//
// Once a request is processed, Telegram takes no message to a person who never started the bot. So a message goes out
// first, and is edited afterwards. If the first message is not out, the outcome is sent as a new one, which Telegram
// may refuse.
func (j *joining) letIn(reply *chat.Reply) {
	first := j.tellFirst(reply)
	outcome := j.s.approve(reply.Join.Admit, j.request.From.ID, j.deadline, j.callApprove)
	if outcome == chat.LetIn { // Before anything else can fail.
		j.recorded = true
		j.s.countLetIn(j.request.Chat.ID, j.request.From.ID)
	}
	reply = replyTo(reply, outcome)
	if outcome != chat.LetIn {
		j.recordRefusal(outcome, reply.Join.LeftOut)
	}
	tellBy := j.arrived.Add(contactTime)
	if outcome == chat.LetIn {
		tellBy = time.Now().Add(welcomeTime)
	}
	switch {
	case outcome == chat.AccountDeleted:
		return
	case first.Result == outbox.Delivered:
		j.send(reply, first.Sent.MessageID, tellTime(tellBy))
	case first.Result == outbox.Unreachable:
		return
	case outcome == chat.NotRequested && first.Result == outbox.None: // There is nothing to correct.
		return
	default:
		j.tell(reply, tellBy)
	}
}

// tellFirst tells the person that they are being let in. It sends nothing if the limits do not allow a message in time.
// In a crowd it sends only if there is a turn now: the approval does not wait for one.
func (j *joining) tellFirst(reply *chat.Reply) outbox.Receipt {
	if j.s.a.door.isCrowded() {
		if !j.awaitTurn(j.s.crowdLimit(), time.Now()) {
			return outbox.Receipt{}
		}
		until := earlier(time.Now().Add(crowdMessageTime), j.deadline.Add(-approveTime))
		return j.send(reply, 0, time.Until(until))
	}
	until := earlier(time.Now().Add(firstMessageTime), j.deadline.Add(-approveTime))
	if !j.awaitTurn(j.s.joinLimit(), until.Add(-sendTime)) {
		return outbox.Receipt{}
	}
	return j.send(reply, 0, time.Until(until))
}

// callApprove makes the call that approves the request. If Telegram refuses to approve it by its query, callApprove
// answers the query with JoinQueued.
func (j *joining) callApprove(ctx context.Context) error {
	if j.request.QueryID == "" {
		return j.s.a.approveJoin(ctx, j.request.Chat.ID, j.request.From.ID)
	}
	err := j.s.a.api.AnswerChatJoinRequestQuery(ctx, j.request.QueryID, botapi.JoinApproved)
	e := botapi.ErrorOf(err)
	settled := err == nil || e.AlreadyMember() || e.NoJoinRequest()
	if !settled && !e.Temporary() && !e.Expired() {
		j.queue()
	}
	return err
}

// recordRefusal counts and remembers that the request was not approved. why says to moderators why the person is not
// in.
func (j *joining) recordRefusal(outcome chat.ApprovalResult, why chat.Text) {
	j.recordOpen(undecided, why)
	if outcome == chat.NotRequested { // It was processed meanwhile, so that moderators need not.
		j.s.closeJoin(j.request.Chat.ID, j.request.From.ID)
	}
}

// openReason is why a request stays open. Its value is the event that is counted.
type openReason string

const (
	// lacking: the person lacks what the group requires.
	lacking openReason = "join_left_open"
	// undecided: the person could not be checked, or not be let in.
	undecided openReason = "join_unknown"
)

// leaveOpen leaves the request to moderators, who read why. The person is not told.
func (j *joining) leaveOpen(reason openReason, why chat.Text) {
	j.recordOpen(reason, why)
	if j.request.QueryID != "" {
		j.queue()
	}
}

// recordOpen counts and remembers that the request stays open.
func (j *joining) recordOpen(reason openReason, why chat.Text) {
	j.recorded = true
	out := chat.LeftOut{User: userOf(j.request.From.ID), At: time.Now(), Why: why}
	j.s.a.Joins.LeaveOut(strconv.FormatInt(j.request.Chat.ID, 10), out, reason == lacking)
	j.s.a.Count(string(reason))
}

// leaveOpenUnlessRecorded leaves the request open if a panic ended answer before anything was recorded.
func (j *joining) leaveOpenUnlessRecorded() {
	if !j.recorded {
		j.leaveOpen(undecided, chat.Text{})
	}
}

// queue answers the query with JoinQueued.
func (j *joining) queue() {
	err := j.s.untilKnown(j.s.work.Sends, j.deadline, func(ctx context.Context) error {
		return j.s.a.api.AnswerChatJoinRequestQuery(ctx, j.request.QueryID, botapi.JoinQueued)
	})
	// A refusal that is not about rights means that the query is answered or has expired: nothing to log.
	if e := botapi.ErrorOf(err); err != nil && (e.Kind != botapi.Refused || e.NotAllowed()) {
		j.s.logJoin(slog.LevelWarn, err)
	}
}

// tell sends the person the outcome as a new message, once the limits allow it. It sends nothing if they do not until
// the given time.
func (j *joining) tell(outcome *chat.Reply, until time.Time) {
	if j.mayTell || j.awaitTurn(j.s.joinLimit(), until) {
		j.send(outcome, 0, tellTime(until))
	}
}

// awaitTurn waits until a limit allows a new message to the person, and returns true. It returns false if the limit
// does not allow one until the given time, or if the person got a message about the group less than a minute ago.
func (j *joining) awaitTurn(limit ratelimit.Limit, until time.Time) bool {
	ctx, limiter := j.s.work.Sends, j.s.a.Limiter
	if limiter.Peek(ctx, j.personLimit()) > 0 { // Otherwise it would use up a turn.
		return false
	}
	wait, ok := limiter.Reserve(ctx, max(time.Until(until), 0), limit)
	if !ok || !transport.Sleep(ctx, wait) {
		return false
	}
	_, j.mayTell = limiter.Reserve(ctx, 0, j.personLimit())
	return j.mayTell
}

// tellTime returns how long a message about the outcome may take if it may begin until the given time: so long that a
// 429 does not leave the person with nothing, or with what is not true.
func tellTime(until time.Time) time.Duration { return max(messageTime, time.Until(until)) }

// send sends the person a message within the given time, or edits the message with editID unless that is 0.
func (j *joining) send(reply *chat.Reply, editID int, within time.Duration) outbox.Receipt {
	return j.s.sendTo(j.s.work.Sends, j.request.UserChatID, within, reply, editID)
}

// sendTo sends a reply to a private chat within the given time, or edits the message with editID. It blocks until
// then at most.
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

// countLetIn counts and remembers that a user is let into a group.
func (s *session) countLetIn(group, user int64) {
	s.a.Joins.LetIn(strconv.FormatInt(group, 10), userOf(user))
	s.a.Count("join_approved")
}

// closeJoin forgets that a user has an open request to join a group.
func (s *session) closeJoin(group, user int64) {
	s.a.Joins.Close(strconv.FormatInt(group, 10), userOf(user))
}

// seeGroup stores the name of a group.
func (a *Adapter) seeGroup(c models.Chat) { a.groups.Store(strconv.FormatInt(c.ID, 10), c) }

// nameGroup sets the name and the link of the group that a JoinCommand is about, as far as they are known.
func (a *Adapter) nameGroup(req *chat.Request) {
	if stored, known := a.groups.Load(req.Args.First()); known {
		group := stored.(models.Chat)
		req.GroupName, req.GroupURL = group.Title, linkTo(&group)
	}
}
