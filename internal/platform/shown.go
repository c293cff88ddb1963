package platform

import (
	"sync"

	"herald/internal/chat"
)

// Shown decides whether the answer to a press is shown in place of the message with the button. Two presses at the
// same moment carry the same state, that of the answer before both, so Shown remembers what each message was last
// changed to. It is safe for concurrent use, and its zero value is ready to use.
type Shown struct {
	mu   sync.Mutex
	last map[string]shownAnswer // by message
}

// shownAnswer is the answer that a message was last changed to.
type shownAnswer struct {
	subject string
	version chat.Version
	// before is what the message showed before, as far as that is remembered.
	before *shownAnswer
}

// maxShown is how many messages Shown remembers; when it has that many, it forgets all.
const maxShown = 10_000

// Verdict is whether an answer is shown in place of another.
type Verdict int

// The verdicts.
const (
	// Keep: the message shows this answer already, or a newer one.
	Keep Verdict = iota
	// Replace: the answer is newer.
	Replace
	// ReplaceIfDifferent: neither is known to be newer. The answer is shown if it looks different.
	ReplaceIfDifferent
)

// Judge returns the Verdict on an answer to the press of a button. It compares the answer with what the button says
// of its message, and with the last answer about the same subject, a command with its arguments, that replaced the
// message. It remembers an answer that is to be shown; the caller calls Forget if that fails.
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
	if s.last == nil || !known && len(s.last) >= maxShown {
		s.last = map[string]shownAnswer{}
	}
	now := shownAnswer{subject: subject, version: answer}
	if known {
		last.before = nil
		now.before = &last
	}
	s.last[message] = now
	if order == chat.Newer {
		return Replace
	}
	return ReplaceIfDifferent
}

// IsLast reports whether an answer is the last one that Judge let replace a message, as far as that is remembered. A
// call that is made again later asks it first.
func (s *Shown) IsLast(message, subject string, answer chat.Version) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[message]
	return !known || last.is(subject, answer)
}

// is reports whether a is an answer of a version about a subject.
func (a shownAnswer) is(subject string, version chat.Version) bool {
	return a.subject == subject && a.version == version
}

// Forget forgets an answer that could not be shown in place of a message, unless another one has been since.
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
