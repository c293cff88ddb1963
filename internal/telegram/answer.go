package telegram

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"herald/internal/chat"
)

// notice is a sentence fixed in this file. It is all that a group is ever told
// about a private command: nothing here turns a chat.Reply into a notice.
type notice string

func (n notice) text() text { return text{body: string(n)} }

const (
	answeredPrivately notice = "I have answered you privately."
	stayedAnonymous   notice = "I can answer that only privately, and you are anonymous here. Please ask me in our private chat."
)

// pressStart invites an asker to whom the bot may not write yet. A request
// without arguments travels along in the link.
func pressStart(me identity, q question) notice {
	payload := "start"
	if q.linkable {
		payload = q.request.Command
	}
	return notice(fmt.Sprintf("I can answer that only privately, and may not write to you yet. "+
		"Open https://t.me/%s?start=%s and press Start; if no answer comes there, ask again.", me.Username, payload))
}

func wentWrong(id string) notice { return notice("Something went wrong. Reference " + id + ".") }

// handle answers one message. It answers false where an answer is due that
// certainly did not go out, so that the update must not be acknowledged.
func (s *session) handle(j *job, m *message) (settled bool) {
	id := rand.Text()[:10]
	// An update that makes this program panic would do so again.
	return s.guard(id, func() { settled = s.answer(id, j, m) }) || settled
}

func (s *session) answer(id string, j *job, m *message) (settled bool) {
	var q question
	var ours bool
	if s.guard(id, func() { q, ours = parse(m, s.me, s.Adapter.commands) }) {
		if !strings.HasPrefix(m.Text, "/") {
			return true
		}
		return s.settle(id, s.deliver(j, placeOf(m), wentWrong(id).text()))
	}
	if !ours {
		return true
	}
	q.request.ID = id
	switch {
	case q.anonymousAdmin:
		q.request.Role = chat.Moderator
	case q.sender != 0 && q.asked.group:
		q.request.Role = chat.UnknownRole
	}
	if q.visibility == chat.Private && q.asked.group {
		return s.answerPrivately(j, q)
	}
	return s.settle(id, s.deliver(j, q.asked, s.compose(q, q.asked)))
}

// answerPrivately answers in the asker's private chat a command that was asked
// in a group, and then points there.
func (s *session) answerPrivately(j *job, q question) (settled bool) {
	if q.sender == 0 {
		return s.settle(q.request.ID, s.deliver(j, q.asked, stayedAnonymous.text()))
	}
	private := place{chat: q.sender}
	err := s.deliver(j, private, s.compose(q, private))
	switch {
	case err == nil:
		// The answer is out, whatever becomes of the pointer; where there is
		// no room for it, nobody has to ask again.
		s.settle(q.request.ID, s.say(q.asked, answeredPrivately.text(), s.inTime(j)))
		return true
	case unreachable(err):
		s.Count("private_unreachable")
		return s.settle(q.request.ID, s.deliver(j, q.asked, pressStart(s.me, q).text()))
	}
	return s.settle(q.request.ID, err)
}

// unreachable tells whether err is of an asker whom the bot may not write to:
// they never started it, or blocked it.
func unreachable(err error) bool {
	var e *apiError
	return errors.As(err, &e) && (e.kind == forbidden || e.kind == refused && e.detail == noSuchChat)
}

// compose runs the command and renders its reply, with "typing…" meanwhile
// where the answer will stand.
func (s *session) compose(q question, to place) (answer text) {
	stop := s.typing(to)
	defer stop()
	if s.guard(q.request.ID, func() { answer = render(s.Handler.Handle(s.commandsCtx, q.request)) }) {
		return wentWrong(q.request.ID).text()
	}
	return answer
}

// guard keeps a panic in what to the one update that caused it.
func (s *session) guard(id string, what func()) (panicked bool) {
	defer func() {
		if v := recover(); v != nil {
			panicked = true
			s.Count("panic")
			s.Log.Error("telegram: a panic while an update was handled", "id", id,
				"err", fmt.Sprintf("panic with a %T", v))
		}
	}()
	what()
	return false
}

// settle logs an answer that is not out and tells whether the update is done
// with all the same.
func (s *session) settle(id string, err error) bool {
	if err == nil || errors.Is(err, errShed) {
		return true
	}
	s.Log.LogAttrs(s.sendsCtx, slog.LevelWarn, "telegram: an answer was not delivered",
		slog.String("id", id), slog.Any("err", err))
	return !errors.Is(err, errNotOut)
}
