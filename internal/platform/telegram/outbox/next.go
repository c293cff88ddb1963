package outbox

import (
	"time"

	"herald/internal/platform/telegram/botapi"
)

// action is what to do after a failed attempt.
type action string

const (
	// done: the call had its effect nevertheless.
	done action = "done"
	// retry makes the same call again: the message was not sent.
	retry action = "retry"
	// resend makes the same call again, although the message may be delivered already.
	resend action = "resend"
	// retryPlainer makes the call again without a part.
	retryPlainer action = "retry plainer"
	// followGroup makes the call again in the supergroup that the group has become.
	followGroup action = "follow the group"
	giveUp      action = "give up"
)

// step is what follows a failed attempt.
type step struct {
	action action
	// after is the wait before the next attempt.
	after time.Duration
	// part is what retryPlainer leaves out.
	part part
	// result is what giveUp ends with.
	result Result
}

// lifetime is how long a message is worth sending.
type lifetime int

const (
	// normal: 429s may delay the message for state.left. Other failures may delay it for ever.
	normal lifetime = iota
	// short: nothing may delay the message for longer than state.left. This is an ephemeral message, or the
	// answer to a press or an inline query.
	short
	// unlimited: the message is a Notice, which waits for the end of every 429.
	unlimited
)

// state is what was tried for a message, and what can still be tried.
type state struct {
	lifetime lifetime
	// left is how much longer the message is worth sending, by its lifetime.
	left time.Duration
	// unknown counts the attempts with an unknown outcome, including the last one.
	unknown int
	// backoff is the minimum wait before the same call is made again.
	backoff time.Duration
	// parts are the parts that the message still has and can do without.
	parts part
	// canFollow is set if the message can be sent to the supergroup that its group has become.
	canFollow bool
}

// unknownWaits are the waits before a message with an unknown outcome is resent: the first and the second time. They
// are long enough for a proxy to recover, and short enough that users recognize the message.
var unknownWaits = [...]time.Duration{2 * time.Second, 5 * time.Second}

// shortResends is how often a message with a short lifetime is resent.
const shortResends = 1

// next decides what follows an attempt that failed with e:
//
//	not connected        retry, or give up if a short lifetime ends first
//	429                  retry after the wait that Telegram asks for, or give up if that is too long
//	unknown outcome      resend after seconds, at most twice; the second time without the picture
//	token refused        give up
//	the group has moved  follow it once, then give up
//	query expired        done if an earlier attempt may have answered it, otherwise give up
//	any other refusal    retry without a part that may be the cause; give up if no such part is left
func next(e *botapi.Error, s state) step {
	switch {
	case e.Kind == botapi.NotSent:
		return s.retryNotSent()
	case e.Kind == botapi.TooManyRequests:
		return s.retryAfter429(e.RetryAfter)
	case e.Kind == botapi.OutcomeUnknown:
		return s.resendAfterUnknown()
	case e.Kind == botapi.Unauthorized:
		return step{action: giveUp, result: Retryable}
	case e.Kind == botapi.Migrated && s.canFollow:
		return step{action: followGroup}
	case e.Expired() && s.unknown > 0:
		return step{action: done}
	}
	for _, p := range suspects(e) {
		if s.parts&p != 0 {
			return step{action: retryPlainer, part: p}
		}
	}
	if e.Unreachable() {
		return step{action: giveUp, result: Unreachable}
	}
	return step{action: giveUp, result: Refused}
}

// retryNotSent retries a message that was not sent, after the backoff.
func (s state) retryNotSent() step {
	if s.lifetime == short && s.backoff > s.left {
		return step{action: giveUp, result: Retryable}
	}
	return step{action: retry, after: s.backoff}
}

// retryAfter429 retries after the wait that Telegram asks for.
func (s state) retryAfter429(asked time.Duration) step {
	if s.lifetime != unlimited && asked >= s.left {
		return step{action: giveUp, result: Lost}
	}
	return step{action: retry, after: max(asked, s.backoff)}
}

// resendAfterUnknown resends a message that may be delivered already. The second time it leaves out the picture,
// because that may be what the server fails on.
func (s state) resendAfterUnknown() step {
	maxResends := len(unknownWaits)
	if s.lifetime == short {
		maxResends = shortResends
	}
	if s.unknown > maxResends {
		return step{action: giveUp, result: OutcomeUnknown}
	}
	wait := max(unknownWaits[s.unknown-1], s.backoff)
	if s.lifetime == short && wait > s.left {
		return step{action: giveUp, result: OutcomeUnknown}
	}
	isLast := s.unknown == len(unknownWaits)
	if isLast && s.parts&picturePart != 0 {
		return step{action: retryPlainer, part: picturePart, after: wait}
	}
	return step{action: resend, after: wait}
}

// suspects returns the parts that may have caused a refusal, in the order in which to leave them out.
func suspects(e *botapi.Error) []part {
	switch {
	case e.RefusesTopic():
		return []part{threadPart, replyPart} // The message to reply to may be in the lost topic, too.
	case e.RefusesReply():
		return []part{replyPart}
	case e.RefusesLink():
		return []part{linkPart}
	case e.RefusesPicture():
		return []part{picturePart}
	case e.Kind == botapi.Forbidden:
		return []part{picturePart} // The chat may forbid pictures only.
	case e.Unexplained():
		return []part{linkPart, picturePart, formatPart, threadPart, replyPart}
	}
	return nil
}
