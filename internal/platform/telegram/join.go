package telegram

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// A join request is a person's request to join one of the groups in JoinChats. The bot checks the person, and the
// request then ends in one of three ways:
//
//	let in     the person is in the group
//	lacking    the person lacks what the group requires
//	undecided  the bot could not check the person, or could not let them in
//
// A request that ends as lacking or undecided is left open: moderators decide it.
//
// In some groups, Telegram sends the bot a query with each request. It waits 10 seconds for the answer: the request is
// approved, or queued for the moderators.
//
// A request waits for a place in a line to be checked (door.go). joinmessage.go has the messages to the person.

// Telegram waits 10 seconds from a request's date for the answer to its query, and lets the bot write to the person
// for 5 minutes or until the request is processed, https://core.telegram.org/bots/api#chatjoinrequest.
const (
	// answerWithin is how long after the date of a request its query is to be answered.
	answerWithin = 10 * time.Second
	// minAnswerTime is how long the answer to a query may take however old its date is: the clocks may differ.
	minAnswerTime = 5 * time.Second
	// approveWithin is how long after its arrival a request without a query may be approved: Telegram's 5 minutes, less
	// one to tell the person.
	approveWithin = 4 * time.Minute
	// contactTime is how long after a request's arrival the bot may begin to send a message about it: Telegram's 5
	// minutes, less 10 seconds for sending.
	contactTime = 5*time.Minute - 10*time.Second
	// welcomeTime is how long after an approval the bot may begin to send a message about it. Telegram then takes a
	// message only to people who started the bot, but has no time limit for it. So this is only how long the news is
	// worth a message.
	welcomeTime = 10 * time.Minute
)

// A request has one deadline: the latest time of its approval, or of the answer to its query. The steps before it:
//
//	step             takes at most               ends at the latest
//	wait for a place                             3 s before the deadline
//	check            7 s                         3 s before the deadline
//	first message    5 s, in a crowd 1.5 s       1.5 s before the deadline
//	approval                                     at the deadline
const (
	// checkTime is how long a check may take.
	checkTime = 7 * time.Second
	// reserveAfterCheck is how long before the deadline a check ends at the latest.
	reserveAfterCheck = 3 * time.Second
	// placeTime is how long after its beginning a check that ran out of time keeps its place in the line: its calls to
	// services end later.
	placeTime = 10 * time.Second
	// firstMessageTime is how long an approval waits until the message before it is sent, and crowdMessageTime how
	// long in a crowd.
	firstMessageTime = 5 * time.Second
	crowdMessageTime = 1500 * time.Millisecond
	// reserveForSending is the part of firstMessageTime that remains after the wait for a turn.
	reserveForSending = 500 * time.Millisecond
	// reserveForApproval is how long before the deadline the first message ends at the latest.
	reserveForApproval = 1500 * time.Millisecond
	// minOutcomeTime is the minimum time for sending the message about the outcome.
	minOutcomeTime = 3 * time.Second
)

// joining is a join request in flight.
type joining struct {
	s       *session
	request *joinRequest
	arrived time.Time
	// deadline is the latest time of the approval, or of the answer to the query.
	deadline time.Time
	// hadTurn is set once the limits have allowed a new message about the request. The outcome may then be a new
	// message too, in case the first one failed.
	hadTurn bool
	// recorded is set once the end of the request is counted and remembered.
	recorded bool
}

// openReason is why a request stays open. Its value is the event that is counted.
type openReason string

const (
	// lacking: the person lacks what the group requires.
	lacking openReason = "join_left_open"
	// undecided: the person could not be checked, or not be let in.
	undecided openReason = "join_unknown"
)

// acceptJoin starts a goroutine that answers a join request, and returns true. It ignores a request for a group that is
// not in JoinChats, and returns true as well. It returns false if the drain has begun: the request is then not
// answered. It does not block.
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

// joinDeadline returns the deadline of a request that arrived at the given time.
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
	if j.request.From.IsBot || !line.enter(j.s.running, j.checkDeadline()) {
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

// checkDeadline returns the latest time at which the check ends.
func (j *joining) checkDeadline() time.Time { return j.deadline.Add(-reserveAfterCheck) }

// check checks the person: it returns the Handler's reply to a JoinCommand, whose Join.Admit is set if the person may
// be let in. It then gives up the request's place in the line.
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
		Deadline: earlier(began.Add(checkTime), j.checkDeadline()),
	}
	defer func() {
		ranOutOfTime := !time.Now().Before(req.Deadline)
		if ranOutOfTime {
			time.AfterFunc(time.Until(began.Add(placeTime)), line.leave)
		} else {
			line.leave()
		}
	}()
	j.s.adapter.nameGroup(req)
	j.s.work.Answer(req, func(r *chat.Reply) { reply = r })
	return reply
}

// letIn approves the request, and tells the person the outcome.
//
// Once a request is processed, Telegram takes no message to a person who never started the bot. So letIn first sends
// admitting, which says that they are being let in, and edits that message afterwards. If it was not delivered, letIn
// sends the outcome as a new message, which Telegram may refuse.
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

// callApprove makes the call that approves the request. If Telegram refuses to approve a request by its query,
// callApprove queues the request for the moderators.
func (j *joining) callApprove(ctx context.Context) error {
	if j.request.QueryID == "" {
		return j.s.adapter.approveJoin(ctx, j.request.Chat.ID, j.request.From.ID)
	}
	err := j.s.adapter.api.AnswerChatJoinRequestQuery(ctx, j.request.QueryID, botapi.JoinApproved)
	if leavesQueryOpen(err) {
		j.queueForModerators()
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

// recordLetIn counts and remembers that the person was let in.
func (j *joining) recordLetIn() {
	j.recorded = true
	j.s.countLetIn(j.request.Chat.ID, j.request.From.ID)
}

// recordRefusal counts the request as undecided, because Telegram did not approve it. Moderators read why. If the
// request no longer exists, recordRefusal then forgets it: there is nothing to decide.
func (j *joining) recordRefusal(outcome chat.ApprovalResult, why chat.Text) {
	j.recordOpen(undecided, why)
	if outcome == chat.NotRequested {
		j.s.closeJoin(j.request.Chat.ID, j.request.From.ID)
	}
}

// reasonOf returns why a request stays open after a reply that does not admit the person.
func reasonOf(reply *chat.Reply) openReason {
	if reply.Join.Undecided() {
		return undecided
	}
	return lacking
}

// leaveOpen leaves the request to moderators, who read why. It does not tell the person.
func (j *joining) leaveOpen(reason openReason, why chat.Text) {
	j.recordOpen(reason, why)
	if j.request.QueryID != "" {
		j.queueForModerators()
	}
}

// recordOpen counts and remembers that the request stays open. Moderators read why.
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

// queueForModerators answers the query with JoinQueued.
func (j *joining) queueForModerators() {
	err := j.s.retryUntilKnown(j.s.work.Sends, j.deadline, func(ctx context.Context) error {
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

// countLetIn counts and remembers that a user was let into a group.
func (s *session) countLetIn(group, user int64) {
	s.adapter.Joins.LetIn(strconv.FormatInt(group, 10), userOf(user))
	s.adapter.Count("join_approved")
}

// closeJoin forgets that a user has an open request to join a group.
func (s *session) closeJoin(group, user int64) {
	s.adapter.Joins.Close(strconv.FormatInt(group, 10), userOf(user))
}

// seeGroup stores a group, for nameGroup.
func (a *Adapter) seeGroup(c models.Chat) { a.groups.Store(strconv.FormatInt(c.ID, 10), c) }

// nameGroup sets the name and the link of the group that a JoinCommand is about. It empties those that are not known,
// because a copied request may have the name of another group.
func (a *Adapter) nameGroup(req *chat.Request) {
	stored, _ := a.groups.Load(req.Args.First())
	group, _ := stored.(models.Chat)
	req.GroupName = group.Title
	req.GroupURL = linkTo(&group)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
