package platform

import (
	"sync"

	"herald/internal/chat"
)

// Shown decides whether the answer to a press replaces the message with the button.
//
// A button carries the version of the answer that its message shows: a time, or a block of a chain. Two answers of one
// block, or one with a block and one without, cannot be ordered. The answer to a press must be newer. But if two
// users press the same button at the same moment, both presses carry the same version, and both answers are newer than
// that. Shown therefore also remembers the answer that last replaced each message, so that the older of the two answers
// does not replace the newer one.
//
// Shown is safe for concurrent use, and its zero value is ready to use.
type Shown struct {
	mu   sync.Mutex
	last map[string]shownAnswer // by the message's ID
}

// shownAnswer is the answer that last replaced a message.
type shownAnswer struct {
	// subject is the command that was answered, with its arguments.
	subject string
	version chat.Version
	// replaced is the answer that the message showed before, or nil if that is not remembered. Its own replaced is nil.
	replaced *shownAnswer
}

// maxShown is how many messages Shown remembers. When it has that many, it forgets all.
const maxShown = 10_000

// Verdict says whether an answer replaces the message with the button.
type Verdict int

// The verdicts.
const (
	// Keep: the message stays as it is, because the button's version is the same or newer, or because a newer answer has
	// replaced the message.
	Keep Verdict = iota
	// Replace: the answer replaces the message, because it is newer.
	Replace
	// ReplaceIfDifferent: nobody knows whether the answer or the message is newer. The answer replaces the message if
	// it looks different.
	ReplaceIfDifferent
)

// Judge returns the Verdict on an answer to the press of a button. subject is the button's command with its arguments.
// Judge compares the answer with the version that the button carries, and with the last answer about the same subject
// that replaced the message. Unless the verdict is Keep, Judge remembers the answer as shown. If the caller cannot show
// it, the caller must call Forget.
func (s *Shown) Judge(message, subject string, button, answer chat.Version) Verdict {
	order := answer.Compare(button)
	if order == chat.Older || order == chat.Same {
		return Keep
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[message]
	if known && last.subject == subject && answer.Compare(last.version) == chat.Older {
		return Keep
	}
	needsRoom := !known && len(s.last) >= maxShown
	if s.last == nil || needsRoom {
		s.last = map[string]shownAnswer{}
	}
	shown := shownAnswer{subject: subject, version: answer}
	if known {
		shown.replaced = &shownAnswer{subject: last.subject, version: last.version}
	}
	s.last[message] = shown
	if order == chat.Newer {
		return Replace
	}
	return ReplaceIfDifferent
}

// IsLast reports whether an answer is the last one that Judge let replace a message. It also returns true if the
// message is not remembered. The caller asks it before it retries a call, because a newer answer may have replaced the
// message in the meantime.
func (s *Shown) IsLast(message, subject string, answer chat.Version) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[message]
	return !known || last.is(subject, answer)
}

// Forget forgets an answer that could not be shown. The message then counts as showing the answer before it, if that is
// remembered. If a later answer has replaced the message, Forget does nothing.
func (s *Shown) Forget(message, subject string, answer chat.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[message]
	if !known || !last.is(subject, answer) {
		return
	}
	if last.replaced == nil {
		delete(s.last, message)
		return
	}
	s.last[message] = *last.replaced
}

// is reports whether a is the answer about this subject with this version.
func (a shownAnswer) is(subject string, version chat.Version) bool {
	return a.subject == subject && a.version == version
}
