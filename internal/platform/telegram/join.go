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

// A join request is a person's request to join one of JoinChats. The bot checks the person, and the request then ends
// in one of three ways:
//
//	let in     the person is in the group
//	lacking    the person lacks what the group requires
//	undecided  the person could not be checked, or not be let in
//
// After the last two the request is left open: moderators decide it. A request may come with a query, which Telegram
// wants answered within 10 seconds: approved, or queued for the moderators.
//
// A new message about a request waits for its turn: a slot of joinLimit or, in a crowd, of crowdLimit (door.go).

// Telegram waits 10 seconds from a request's date for the answer to its query, and lets the bot write to the person
// for 5 minutes or until the request is processed, https://core.telegram.org/bots/api#chatjoinrequest.
const (
	// answerWithin is how long after the date of a request its query is to be answered.
	answerWithin = 10 * time.Second
	// minAnswerTime is how long the answer to a query may take however old its date is: the clocks may differ.
	minAnswerTime = 5 * time.Second
	// approveWithin is how long the approval of a request without a query may take. Of Telegram's 5 minutes, it
	// leaves one to tell the person.
	approveWithin = 4 * time.Minute
	// contactTime is how long after a request's arrival a message about it may begin: Telegram's 5 minutes, less 10
	// seconds for sending.
	contactTime = 5*time.Minute - 10*time.Second
	// welcomeTime is how long after an approval a message about it may begin. Telegram then takes a message only to
	// people who started the bot, but has no time limit for it. So this is only how long the news is worth a message.
	welcomeTime = 10 * time.Minute
)

// A request has one deadline: the latest time of its approval, or of the answer to its query. The steps before it:
//
//	step             takes at most               is over at the latest
//	wait for a place                             3 s before the deadline
//	check            7 s                         3 s before the deadline
//	first message    5 s, in a crowd 1.5 s       1.5 s before the deadline
//	approval                                     at the deadline
const (
	// checkTime is how long a check may take.
	checkTime = 7 * time.Second
	// reserveAfterCheck is how long before the deadline a check is over.
	reserveAfterCheck = 3 * time.Second
	// firstMessageTime is how long an approval waits until the message before it is sent, and crowdMessageTime how
	// long in a crowd.
	firstMessageTime = 5 * time.Second
	crowdMessageTime = 1500 * time.Millisecond
	// reserveForSending is the part of firstMessageTime that remains after the wait for a turn.
	reserveForSending = 500 * time.Millisecond
	// reserveForApproval is how long before the deadline the first message is over.
	reserveForApproval = 1500 * time.Millisecond
	// minOutcomeTime is the minimum time for sending the message about the outcome.
	minOutcomeTime = 3 * time.Second
	// placeTime is how long a check that ran out of time keeps its place in the line: its calls to services end later.
	placeTime = 10 * time.Second
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

// acceptJoin starts a goroutine that answers a join request, and returns true. If the request is for a group that is
// not one of JoinChats, acceptJoin returns true and does nothing else. It returns false if the drain has begun, and
// the request is not answered. It does not block.
func (s *session) acceptJoin(r *joinRequest) (accepted bool) {
	if _, listed := s.adapter.Settings.JoinChats[r.Chat.ID]; !listed {
		return true
	}
	s.adapter.seeGroup(r.Chat)
	now := time.Now()
	j := &joining{s: s, request: r, arrived: now, deadline: joinDeadline(r, now)}
	s.adapter.door.inFlight.Add(1)
	accepted = s.work.Go(func(id string) {
		defer s.adapter.door.inFlight.Add(-1)
		defer j.leaveOpenUnlessRecorded()
		j.answer(id)
	})
	if !accepted {
		s.adapter.door.inFlight.Add(-1)
	}
	return accepted
}

// joinDeadline returns the latest time of the answer to a request that arrived at the given time.
//
// For example, a query that is dated 4 seconds before its arrival has to be answered within 6 seconds of its arrival,
// and one that is dated an hour before, by another clock, within minAnswerTime.
func joinDeadline(r *joinRequest, arrived time.Time) time.Time {
	if r.QueryID == "" {
		return arrived.Add(approveWithin)
	}
	left := time.Unix(int64(r.Date), 0).Add(answerWithin).Sub(arrived)
	return arrived.Add(min(max(left, minAnswerTime), answerWithin))
}

// answer checks the person, answers the request, and tells the person how it ended.
func (j *joining) answer(id string) {
	line := j.s.adapter.door.line(j.request)
	if j.request.From.IsBot || !line.enter(j.s.running, j.checkedBy()) {
		j.leaveOpen(undecided, chat.Text{})
		return
	}
	reply := j.check(id, line)
	if reply.Join.Admit != nil {
		j.letIn(reply)
		return
	}
	j.leaveOpen(reasonOf(reply), reply.Join.WhyLeftOut)
	j.tell(reply, j.arrived.Add(contactTime))
}

// checkedBy returns the time at which the check is over at the latest.
func (j *joining) checkedBy() time.Time { return j.deadline.Add(-reserveAfterCheck) }

// firstMessageBy returns the time at which the first message is over at the latest.
func (j *joining) firstMessageBy() time.Time { return j.deadline.Add(-reserveForApproval) }

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
		Deadline: earlier(began.Add(checkTime), j.checkedBy()),
	}
	defer func() {
		ranOutOfTime := !time.Now().Before(req.Deadline)
		if ranOutOfTime {
			time.AfterFunc(time.Until(began.Add(placeTime)), line.leave)
			return
		}
		line.leave()
	}()
	j.s.adapter.nameGroup(req)
	j.s.work.Answer(req, func(r *chat.Reply) { reply = r })
	return reply
}

// letIn approves the request, and tells the person the outcome.
//
// Once a request is processed, Telegram takes no message to a person who never started the bot. So letIn sends a
// message first, and edits it afterwards. If the first message was not delivered, letIn sends the outcome as a new
// message, which Telegram may refuse.
func (j *joining) letIn(admitting *chat.Reply) {
	first := j.tellFirst(admitting)
	outcome := j.s.approve(admitting.Join.Admit, j.request.From.ID, j.deadline, j.callApprove)
	if outcome == chat.LetIn {
		j.recordLetIn() // Before replyTo, which may panic.
		j.tellOutcome(outcome, replyTo(admitting, outcome), first, time.Now().Add(welcomeTime))
		return
	}
	reply := replyTo(admitting, outcome)
	j.recordRefusal(outcome, reply.Join.WhyLeftOut)
	j.tellOutcome(outcome, reply, first, j.arrived.Add(contactTime))
}

// tellFirst tells the person that they are being let in. It sends nothing if the limits do not allow a message in time.
func (j *joining) tellFirst(reply *chat.Reply) outbox.Receipt {
	if j.s.adapter.door.isCrowded() {
		return j.tellFirstInCrowd(reply)
	}
	sentBy := earlier(time.Now().Add(firstMessageTime), j.firstMessageBy())
	if !j.awaitTurn(j.s.joinLimit(), sentBy.Add(-reserveForSending)) {
		return outbox.Receipt{Result: outbox.None}
	}
	return j.send(reply, time.Until(sentBy))
}

// tellFirstInCrowd is tellFirst in a crowd. It sends only if there is a turn now: the approval does not wait for one.
func (j *joining) tellFirstInCrowd(reply *chat.Reply) outbox.Receipt {
	if !j.awaitTurn(j.s.crowdLimit(), time.Now()) {
		return outbox.Receipt{Result: outbox.None}
	}
	sentBy := earlier(time.Now().Add(crowdMessageTime), j.firstMessageBy())
	return j.send(reply, time.Until(sentBy))
}

// tellOutcome tells the person the outcome of an approval. It edits the first message if that was delivered, and
// otherwise sends a new message, which may begin until the given time. It sends nothing if nobody could read the
// message, or if there is nothing to correct because the person was told nothing.
func (j *joining) tellOutcome(
	outcome chat.ApprovalResult, reply *chat.Reply, first outbox.Receipt, until time.Time,
) {
	switch {
	case outcome == chat.AccountDeleted, first.Result == outbox.Unreachable: // Nobody could read it.
	case first.Result == outbox.Delivered:
		j.edit(first.Sent.MessageID, reply, outcomeTime(until))
	case outcome == chat.NotRequested && first.Result == outbox.None: // There is nothing to correct.
	default:
		j.tell(reply, until)
	}
}

// callApprove makes the call that approves the request. If Telegram refuses to approve it by its query, callApprove
// answers the query with JoinQueued.
func (j *joining) callApprove(ctx context.Context) error {
	if j.request.QueryID == "" {
		return j.s.adapter.approveJoin(ctx, j.request.Chat.ID, j.request.From.ID)
	}
	err := j.s.adapter.api.AnswerChatJoinRequestQuery(ctx, j.request.QueryID, botapi.JoinApproved)
	if leavesQueryOpen(err) {
		j.queue()
	}
	return err
}

// leavesQueryOpen reports whether an attempt to approve a request by its query was refused for good, and Telegram
// still waits for an answer to the query.
func leavesQueryOpen(err error) bool {
	e := botapi.ErrorOf(err)
	switch {
	case err == nil, e.AlreadyMember(), e.NoJoinRequest(): // The request is processed.
		return false
	case e.Expired(): // The query is answered, or nobody waits for it any more.
		return false
	case e.Temporary(): // The approval is attempted again.
		return false
	}
	return true
}

// recordLetIn counts and remembers that the person is in the group.
func (j *joining) recordLetIn() {
	j.recorded = true
	j.s.countLetIn(j.request.Chat.ID, j.request.From.ID)
}

// recordRefusal counts and remembers that the request was not approved. It counts as undecided. If the request no
// longer exists, it is forgotten at once: moderators need not decide it. why is for moderators.
func (j *joining) recordRefusal(outcome chat.ApprovalResult, why chat.Text) {
	j.recordOpen(undecided, why)
	if outcome == chat.NotRequested {
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

// reasonOf returns why a request stays open after a reply that does not admit the person.
func reasonOf(reply *chat.Reply) openReason {
	if reply.Join.Undecided() {
		return undecided
	}
	return lacking
}

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
	j.s.adapter.Joins.LeaveOut(strconv.FormatInt(j.request.Chat.ID, 10), out, reason == lacking)
	j.s.adapter.Count(string(reason))
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
		return j.s.adapter.api.AnswerChatJoinRequestQuery(ctx, j.request.QueryID, botapi.JoinQueued)
	})
	if err == nil {
		return
	}
	e := botapi.ErrorOf(err)
	isProcessed := e.Kind == botapi.Refused && !e.NotAllowed() // The query is answered or has expired.
	if !isProcessed {
		j.s.logJoin(slog.LevelWarn, err)
	}
}

// tell sends the person a reply as a new message, which may begin until the given time. It sends nothing if the limits
// do not allow the message by then.
func (j *joining) tell(reply *chat.Reply, until time.Time) {
	if j.mayTell || j.awaitTurn(j.s.joinLimit(), until) {
		j.send(reply, outcomeTime(until))
	}
}

// awaitTurn waits until a limit allows a new message to the person, sets mayTell, and returns true. It returns false if
// the limit does not allow one until the given time, or if personLimit does not allow one.
func (j *joining) awaitTurn(limit ratelimit.Limit, until time.Time) bool {
	ctx, limiter := j.s.work.Sends, j.s.adapter.Limiter
	if limiter.Peek(ctx, j.personLimit()) > 0 { // Reserve below would use up a turn for nothing.
		return false
	}
	wait, ok := limiter.Reserve(ctx, max(time.Until(until), 0), limit)
	if !ok || !transport.Sleep(ctx, wait) {
		return false
	}
	_, j.mayTell = limiter.Reserve(ctx, 0, j.personLimit())
	return j.mayTell
}

// outcomeTime returns how long sending a message about the outcome may take if it may begin until the given time. It
// leaves time to retry after a 429. Otherwise the person would read nothing, or the first message, which is no longer
// true.
func outcomeTime(until time.Time) time.Duration { return max(minOutcomeTime, time.Until(until)) }

// send sends the person a new message within the given time.
func (j *joining) send(reply *chat.Reply, within time.Duration) outbox.Receipt {
	return j.s.sendTo(j.s.work.Sends, j.request.UserChatID, within, reply)
}

// edit replaces a message to the person within the given time.
func (j *joining) edit(messageID int, reply *chat.Reply, within time.Duration) {
	m := j.s.privateMessage(j.request.UserChatID, within, reply)
	m.EditID = messageID
	j.s.sendWithin(j.s.work.Sends, within, m)
}

// sendTo sends a reply to a private chat as a new message. It blocks for at most the given time.
func (s *session) sendTo(ctx context.Context, user int64, within time.Duration, reply *chat.Reply) outbox.Receipt {
	return s.sendWithin(ctx, within, s.privateMessage(user, within, reply))
}

// privateMessage returns a message to a private chat whose Deadline is the given time from now.
func (s *session) privateMessage(user int64, within time.Duration, reply *chat.Reply) outbox.Message {
	return outbox.Message{
		To:       outbox.Destination{Chat: user},
		Content:  render(reply, s.me().Username),
		Deadline: time.Now().Add(within),
	}
}

// sendWithin sends a message. It blocks for at most the given time.
func (s *session) sendWithin(ctx context.Context, within time.Duration, m outbox.Message) outbox.Receipt {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.out.Send(ctx, m)
}

// countLetIn counts and remembers that a user is let into a group.
func (s *session) countLetIn(group, user int64) {
	s.adapter.Joins.LetIn(strconv.FormatInt(group, 10), userOf(user))
	s.adapter.Count("join_approved")
}

// closeJoin forgets that a user has an open request to join a group.
func (s *session) closeJoin(group, user int64) {
	s.adapter.Joins.Close(strconv.FormatInt(group, 10), userOf(user))
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

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
