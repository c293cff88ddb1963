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
	// repeat makes the same call again: the message may be delivered already.
	repeat action = "repeat"
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

// state is what was tried of a message, and what can still be tried.
type state struct {
	lifetime lifetime
	// left is the rest of the lifetime.
	left time.Duration
	// unknown counts the attempts with an unknown outcome, including the last one.
	unknown int
	// backoff is the minimum wait before the same call is made again.
	backoff time.Duration
	// parts are what the message still has and can do without.
	parts part
	// canFollow is set if the message can be sent to another chat.
	canFollow bool
}

// unknownWaits are the waits before each repetition of a message that may be delivered already. They are long
// enough for a proxy to recover, and short enough that users recognize the repetition. Their number is the
// maximum number of repetitions.
var unknownWaits = [...]time.Duration{2 * time.Second, 5 * time.Second}

// shortRepeats replaces the number of unknownWaits for short lifetimes. After an ephemeral message, the private
// chat remains.
const shortRepeats = 1

// next decides what follows an attempt that failed with e:
//
//	not connected          retry
//	429                    retry after the wait that Telegram asks for, or give up if that is too long
//	unknown outcome        repeat after seconds, at most twice; the second time without the picture
//	the group has moved    follow it once
//	query expired          done if an earlier attempt may have answered it
//	a part may be refused  retry without that part
//	anything else          give up
func next(e *botapi.Error, s state) step {
	switch {
	case e.Kind == botapi.NotSent:
		if s.lifetime == short && s.backoff > s.left {
			return step{action: giveUp, result: NotSent}
		}
		return step{action: retry, after: s.backoff}
	case e.Kind == botapi.TooManyRequests:
		return s.retryAfter429(e.RetryAfter)
	case e.Kind == botapi.OutcomeUnknown:
		return s.repeat()
	case e.Kind == botapi.Unauthorized:
		return step{action: giveUp, result: NotSent}
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

// retryAfter429 retries after the wait that Telegram asks for.
func (s state) retryAfter429(asked time.Duration) step {
	if s.lifetime != unlimited && asked >= s.left {
		return step{action: giveUp, result: Lost}
	}
	return step{action: retry, after: max(asked, s.backoff)}
}

// repeat repeats a message that may be delivered already. Before the last repetition it leaves out the picture, because
// that may be what the server fails on.
func (s state) repeat() step {
	repeats := len(unknownWaits)
	if s.lifetime == short {
		repeats = shortRepeats
	}
	if s.unknown > repeats {
		return step{action: giveUp, result: OutcomeUnknown}
	}
	wait := max(unknownWaits[s.unknown-1], s.backoff)
	if s.lifetime == short && wait > s.left {
		return step{action: giveUp, result: OutcomeUnknown}
	}
	if s.unknown == len(unknownWaits) && s.parts&picturePart != 0 {
		return step{action: retryPlainer, part: picturePart, after: wait}
	}
	return step{action: repeat, after: wait}
}

// suspects returns the parts that may have caused a refusal, the first one to leave out first.
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
