package telegram

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/pace"
	"herald/internal/transport"
)

// sameAnswerGap is the least time from one message to the next of the same
// answer: the rate that Telegram publishes for a chat. The burst that a chat
// may have as well is for different answers.
const sameAnswerGap = time.Second

// answerKey is what answers have in common that may stand for each other. With
// tone and title in it, a refusal never stands for an answer.
type answerKey struct {
	chat, thread int64
	typed        string
	tone         chat.Tone
	title        string // its key
}

// sharedAnswers are the public answers that wait for their turn, for those with
// the same answer to join.
type sharedAnswers struct {
	mu      sync.Mutex
	waiting map[answerKey]*sharedAnswer
	// next is when the next message of an answer may go, if that has not come.
	next map[answerKey]time.Time
}

// sharedAnswer is one message that waits for its turn.
type sharedAnswer struct {
	askers int
	// reply is the newest of the answers, and shown what it looks like.
	reply chat.Reply
	shown richText
	// done is closed once err is what became of the message.
	done chan struct{}
	err  error
}

// sendShared is sendAnswer for a public answer: until its turn comes, whoever
// gets the same answer joins it. The message replies to the first asker, shows
// the newest answer, and says for how many it is.
func (s *session) sendShared(c commandMessage, reply chat.Reply, shown richText, deadline time.Time) error {
	key := answerKey{c.asked.chat, c.asked.thread, c.typed, reply.Tone, reply.Title.Key}
	a, first, gap := s.shared.join(key, reply, shown)
	if !first {
		<-a.done
		if a.err == nil {
			s.Count("send_shared")
		}
		return a.err
	}
	defer close(a.done)
	transport.Sleep(s.work.Sends, gap) // If that ends early, so does Wait.
	a.err = s.pace.Wait(s.work.Sends, c.asked.chat, c.asked.group, deadline)
	shared := s.shared.close(key, a.err == nil)
	switch {
	case a.err == nil:
		message := a.shown
		if shared {
			message = s.render(a.reply, c.asked)
		}
		_, a.err = s.sendWithRetry(c.asked, message)
	case errors.Is(a.err, pace.ErrNoRoom):
		s.sendBusy(c.asked)
	}
	return a.err
}

// join adds an asker to the answer that waits, or makes them the first of one,
// whose message may go after gap. The first calls close.
func (w *sharedAnswers) join(key answerKey, reply chat.Reply, shown richText) (a *sharedAnswer, first bool, gap time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a = w.waiting[key]
	if a == nil {
		a, first = &sharedAnswer{done: make(chan struct{})}, true
		w.waiting[key] = a
	}
	a.askers++
	a.reply, a.shown = reply, shown
	return a, first, time.Until(w.next[key])
}

// close lets nobody join any more, and reports whether somebody did, which the
// reply then says. Its message goes now or never.
func (w *sharedAnswers) close(key answerKey, goes bool) (shared bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.waiting[key]
	delete(w.waiting, key)
	now := time.Now()
	maps.DeleteFunc(w.next, func(_ answerKey, at time.Time) bool { return !now.Before(at) })
	if goes {
		w.next[key] = now.Add(sameAnswerGap)
	}
	if a.askers > 1 {
		note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(a.askers)})
		a.reply.Notes = append(slices.Clip(a.reply.Notes), note)
	}
	return a.askers > 1
}
