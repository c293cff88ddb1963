package telegram

import (
	"cmp"
	"context"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

const (
	// noticeLasts is how long a message for one person stays in a group, and
	// questionLasts a question, which needs a reply.
	noticeLasts   = 30 * time.Second
	questionLasts = 2 * time.Minute
	// removeTimeout bounds the deletion of a message, as a 429 can hold it back.
	removeTimeout = 5 * time.Minute
	// maxPosted bounds the keys of posted, and maxEach the messages under each.
	maxPosted = 10_000
	maxEach   = 20
)

// posted maps a key to messages in groups to delete later. The key is the ID of a user
// who was asked to start the bot, or a cardKey. It is not persisted.
type posted map[any][]botapi.MessageRef

// put replaces the messages under a key. When there is no room, it first deletes all keys.
func (p posted) put(key any, messages []botapi.MessageRef) {
	if len(p) >= maxPosted {
		clear(p)
	}
	p[key] = messages[max(0, len(messages)-maxEach):]
}

// cardKey identifies the newest card in a topic that answers a question. With failed set,
// it identifies the errors that were sent since instead of an answer.
type cardKey struct {
	chat, thread   int64
	command, about string
	failed         bool
}

// deleteInvitations deletes the messages that asked the user to start the bot.
func (t task) deleteInvitations() {
	t.mu.Lock()
	theirs := t.posted[t.user]
	delete(t.posted, t.user)
	t.mu.Unlock()
	t.remove(0, theirs...)
}

// tidy is called when a reply was sent to a group. It deletes an error or a question after
// a while. With CleanChat it deletes the older cards that answer the same question.
func (t task) tidy(sent botapi.MessageRef, r chat.Reply) {
	lasts := noticeLasts
	if r.Ask != nil {
		lasts = questionLasts
	}
	if t.to.Silent && r.Ephemeral {
		t.remove(lasts, sent)
	}
	if !t.to.Silent || r.Ephemeral || !t.CleanChat {
		return
	}
	command, _ := t.tasks.Handler.Commands().Find(t.request.Command)
	answers := cardKey{chat: sent.Chat, thread: t.to.Thread, command: command.Name, about: r.About}
	failures := answers
	failures.failed = true
	t.mu.Lock()
	if r.Unanswered() {
		t.posted.put(failures, slices.Compact(append(t.posted[failures], sent)))
		t.mu.Unlock()
		return
	}
	// Answers may come here in another order than they went out, and several as one message.
	byID := func(a, b botapi.MessageRef) int { return cmp.Compare(a.MessageID, b.MessageID) }
	newest := slices.MaxFunc(append(t.posted[answers], sent), byID)
	above := slices.Concat(t.posted[answers], t.posted[failures], []botapi.MessageRef{sent})
	above = slices.DeleteFunc(above, func(m botapi.MessageRef) bool { return byID(m, newest) >= 0 })
	t.posted.put(answers, []botapi.MessageRef{newest})
	delete(t.posted, failures)
	t.mu.Unlock()
	t.remove(0, above...)
}

// remove deletes messages after a while, each of them once. At a stop it deletes them at
// once, because nobody would do so later.
func (s *session) remove(after time.Duration, messages ...botapi.MessageRef) {
	for _, m := range messages {
		if _, underWay := s.removing.LoadOrStore(m, true); underWay {
			continue
		}
		work := func(string) {
			defer s.removing.Delete(m)
			transport.Sleep(s.running, after)
			ctx, cancel := context.WithTimeout(s.tasks.Sends, removeTimeout)
			defer cancel()
			s.api.Remove(ctx, m)
		}
		if !s.tasks.Go(work) { // It is draining, so later is now.
			work("")
		}
	}
}
