package platform

import (
	"sync"

	"herald/internal/chat"
)

// Shown decides whether the answer to a press replaces the message with the button. A button carries the version of the
// answer that its message shows. If two presses follow each other fast, both buttons carry the version before either
// answer. Shown therefore remembers the answer that last replaced each message. It is safe for concurrent use, and its
// zero value is ready to use.
type Shown struct {
	mu   sync.Mutex
	last map[string]shownAnswer // the last answer, by the message's ID
}

// shownAnswer is the last answer that replaced a message.
type shownAnswer struct {
	// subject is the command that was answered, with its arguments.
	subject string
	version chat.Version
	// before is the answer that this one replaced; nil if that is not remembered. It has no before itself.
	before *shownAnswer
}

// maxShown is how many messages Shown remembers. When it has that many, it forgets all.
const maxShown = 10_000

// Verdict is whether an answer replaces the message with the button.
type Verdict int

// The verdicts.
const (
	// Keep: the message stays, because it shows this answer already, or a newer one.
	Keep Verdict = iota
	// Replace: the answer replaces the message, because it is newer.
	Replace
	// ReplaceIfDifferent: neither is known to be newer. The answer replaces the message if it looks different.
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
	isFull := len(s.last) >= maxShown
	if s.last == nil || (isFull && !known) {
		s.last = map[string]shownAnswer{}
	}
	shown := shownAnswer{subject: subject, version: answer}
	if known {
		last.before = nil
		shown.before = &last
	}
	s.last[message] = shown
	if order == chat.Newer {
		return Replace
	}
	return ReplaceIfDifferent
}

// IsLast reports whether an answer is the last one that Judge let replace a message. It returns true if the message is
// not remembered. The caller asks it before it retries a call, because a newer answer may be shown by then.
func (s *Shown) IsLast(message, subject string, answer chat.Version) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[message]
	return !known || last.is(subject, answer)
}

// is reports whether a is the answer about this subject with this version.
func (a shownAnswer) is(subject string, version chat.Version) bool {
	return a.subject == subject && a.version == version
}

// Forget forgets an answer that could not be shown. The message then counts as showing the answer before, if that is
// remembered. If another answer has replaced the message since, Forget does nothing.
func (s *Shown) Forget(message, subject string, answer chat.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[message]
	switch {
	case !known || !last.is(subject, answer):
	case last.before != nil:
		s.last[message] = *last.before
	default:
		delete(s.last, message)
	}
}
