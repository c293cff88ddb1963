package telegram

import (
	"context"
	"fmt"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// The bot tells a person how their join request ended. Before an approval it sends a first message, "Letting you in…",
// and edits it afterwards; letIn says why.

// These are the limits on messages about join requests. With the edits of these messages, they add up to less than half
// of what Telegram allows for all chats. A message waits for its turn: a slot of joinLimit or, in a crowd, of
// crowdLimit. A crowd is more than crowdSize requests in flight.
const (
	// joinMessages is how many new messages are sent in a second. In contactTime, that is more than 2,000 messages. So
	// if 2,000 people ask at once, each of them is told.
	joinMessages = 8
	// crowdMessages is how many further messages are sent in a second before approvals in a crowd, and crowdBurst how
	// many of these at once.
	crowdMessages = 2
	crowdBurst    = 4
)

// tellFirst tells the person that they are being let in. If there is no turn for the message in time, it sends nothing.
func (j *joining) tellFirst(reply *chat.Reply) outbox.Receipt {
	if j.s.adapter.door.isCrowded() {
		return j.tellFirstInCrowd(reply)
	}
	sentBy := earlier(time.Now().Add(firstMessageTime), j.firstMessageDeadline())
	if !j.awaitTurn(j.s.joinLimit(), sentBy.Add(-reserveForSending)) {
		return outbox.Receipt{Result: outbox.None}
	}
	return j.send(reply, time.Until(sentBy))
}

// firstMessageDeadline returns the latest time at which sending the first message ends.
func (j *joining) firstMessageDeadline() time.Time { return j.deadline.Add(-reserveForApproval) }

// tellFirstInCrowd is like tellFirst, but does not wait for a turn: it sends only if there is one now.
func (j *joining) tellFirstInCrowd(reply *chat.Reply) outbox.Receipt {
	if !j.awaitTurn(j.s.crowdLimit(), time.Now()) {
		return outbox.Receipt{Result: outbox.None}
	}
	sentBy := earlier(time.Now().Add(crowdMessageTime), j.firstMessageDeadline())
	return j.send(reply, time.Until(sentBy))
}

// tellOutcome tells the person the outcome of an approval. It edits the first message if that was delivered. Otherwise
// it sends a new message, at the latest at the given time.
func (j *joining) tellOutcome(
	outcome chat.ApprovalResult, reply *chat.Reply, first outbox.Receipt, until time.Time,
) {
	switch {
	case outcome == chat.AccountDeleted, first.Result == outbox.Unreachable: // Nobody could read it.
	case first.Result == outbox.Delivered:
		j.edit(first.Sent.MessageID, reply, outcomeTime(until))
	case outcome == chat.NotRequested && first.Result == outbox.None: // There is no message to correct.
	default:
		j.tell(reply, until)
	}
}

// tell sends the person a reply as a new message. If there is no turn for the message by the given time, tell sends
// nothing.
func (j *joining) tell(reply *chat.Reply, until time.Time) {
	if j.hadTurn || j.awaitTurn(j.s.joinLimit(), until) {
		j.send(reply, outcomeTime(until))
	}
}

// awaitTurn waits for a slot of the limit, sets hadTurn, and returns true. It returns false if there is no slot by the
// given time, or if personLimit does not allow a message.
func (j *joining) awaitTurn(limit ratelimit.Limit, until time.Time) bool {
	ctx, limiter := j.s.work.Sends, j.s.adapter.Limiter
	if limiter.Peek(ctx, j.personLimit()) > 0 { // Reserve below would use up a turn for nothing.
		return false
	}
	wait, ok := limiter.Reserve(ctx, max(time.Until(until), 0), limit)
	if !ok || !transport.Sleep(ctx, wait) {
		return false
	}
	_, j.hadTurn = limiter.Reserve(ctx, 0, j.personLimit())
	return j.hadTurn
}

// outcomeTime returns how long it may take to send a message about the outcome: until the given time, but at least
// minOutcomeTime, so that there is time to retry after a 429. Without this message, the person would read nothing, or
// only the first message, which is no longer true.
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

// joinLimit returns the limit of new messages about join requests.
func (s *session) joinLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join messages ", s.me().ID),
		Burst: 1,
		Every: time.Second / joinMessages,
	}
}

// crowdLimit returns the limit of messages before approvals in a crowd. In a raid, most people are not let in, so that
// even this limit suffices to tell those who are.
func (s *session) crowdLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join crowd ", s.me().ID),
		Burst: crowdBurst,
		Every: time.Second / crowdMessages,
	}
}

// personLimit returns the limit of new messages to one person about their requests to join one group: one a minute.
// A message is sent within minOutcomeTime after its slot, unless Telegram delays it for longer. So two messages are at
// least a minute apart.
func (j *joining) personLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join message ", j.s.me().ID, " ", j.request.UserChatID, " ", j.request.Chat.ID),
		Burst: 1,
		Every: time.Minute + minOutcomeTime,
	}
}
