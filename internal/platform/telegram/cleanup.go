package telegram

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
)

// The bot deletes some of its own messages in groups:
//
//	a message for one person                      after noticeLasts; a question after questionLasts
//	an invitation to start the bot                once an answer has reached the user
//	an answer for everybody, if CleanChat is set  once a newer answer replaces it
//
// Answers for everybody are called cards here.

const (
	// noticeLasts is how long a message for one person stays in a group.
	noticeLasts = 30 * time.Second
	// questionLasts is how long a question for one person stays in a group: the person needs time to reply.
	questionLasts = 2 * time.Minute
	// removeTimeout is how long a deletion is retried, mostly after a 429.
	removeTimeout = 5 * time.Minute
	// maxKeys limits the keys of toDelete.
	maxKeys = 10_000
	// maxEach limits the messages under each key of toDelete.
	maxEach = 20
)

// cleanUp is called after a reply was sent. In a group, it deletes a reply for the sender alone after a time. If the
// reply is for everybody, and CleanChat is set, it deletes the cards that the reply replaces.
func (a *answering) cleanUp(sent outbox.MessageRef, r *chat.Reply) {
	switch {
	case a.cmd.request.Direct: // Nothing is deleted in a private chat.
	case r.ForSender() && r.Ask != nil:
		a.s.remove(questionLasts, sent)
	case r.ForSender():
		a.s.remove(noticeLasts, sent)
	case a.s.adapter.Settings.CleanChat:
		asked, _ := a.s.work.Handler.Commands().Find(a.cmd.request.Command)
		key := cardKey{chat: sent.Chat, topic: a.cmd.to.Topic(), command: asked.Name, about: r.About}
		if r.Unanswered() {
			a.s.storeFailure(key, sent)
		} else {
			a.s.remove(0, a.s.replaceCards(key, sent)...)
		}
	}
}

// deleteInvitations deletes the messages in groups that asked the user to start the bot.
func (a *answering) deleteInvitations() {
	a.s.mu.Lock()
	invitations := a.s.toDelete[a.cmd.user]
	delete(a.s.toDelete, a.cmd.user)
	a.s.mu.Unlock()
	a.s.remove(0, invitations...)
}

// toDelete holds messages in groups to delete later. It is not persisted. A key is one of:
//
//	an int64   the ID of a user; the messages are the invitations to start the bot
//	a cardKey  the messages are cards
type toDelete map[any][]outbox.MessageRef

// put replaces the messages under a key with the last maxEach of the given ones. If there are already maxKeys keys, put
// first drops all of them.
func (d toDelete) put(key any, messages []outbox.MessageRef) {
	if len(d) >= maxKeys {
		clear(d)
	}
	d[key] = messages[max(0, len(messages)-maxEach):]
}

// cardKey identifies cards that replace each other: answers to the same command, about the same thing, in the same
// topic. toDelete has the newest answer under a cardKey. Under the same cardKey with failed set, it has the error
// messages that were sent since then.
type cardKey struct {
	chat           int64
	topic          int
	command, about string
	failed         bool
}

// storeFailure stores an error message that was sent in place of an answer. The next answer replaces it.
func (s *session) storeFailure(key cardKey, sent outbox.MessageRef) {
	key.failed = true
	s.mu.Lock()
	defer s.mu.Unlock()
	// Senders may share a message, which is then stored once.
	s.toDelete.put(key, slices.Compact(append(s.toDelete[key], sent)))
}

// replaceCards stores an answer that was sent, and returns the cards to delete: those above the newest answer.
func (s *session) replaceCards(answers cardKey, sent outbox.MessageRef) (above []outbox.MessageRef) {
	failures := answers
	failures.failed = true
	s.mu.Lock()
	defer s.mu.Unlock()
	// replaceCards may be called in another order than the answers were sent, and some answers share a message.
	byID := func(a, b outbox.MessageRef) int { return cmp.Compare(a.MessageID, b.MessageID) }
	newest := slices.MaxFunc(append(s.toDelete[answers], sent), byID)
	above = slices.Concat(s.toDelete[answers], s.toDelete[failures], []outbox.MessageRef{sent})
	s.toDelete.put(answers, []outbox.MessageRef{newest})
	delete(s.toDelete, failures)
	return slices.DeleteFunc(above, func(m outbox.MessageRef) bool { return byID(m, newest) >= 0 })
}

// remove deletes messages after the given time, or when the drain begins, because no later run would delete them. It
// skips messages that an earlier call is about to delete. It does not block, except during the drain.
func (s *session) remove(after time.Duration, messages ...outbox.MessageRef) {
	for _, m := range messages {
		if _, isRemoving := s.removing.LoadOrStore(m, true); isRemoving {
			continue
		}
		deletion := func(string) {
			defer s.removing.Delete(m)
			transport.Sleep(s.running, after)
			ctx, cancel := context.WithTimeout(s.work.Sends, removeTimeout)
			defer cancel()
			s.adapter.deleteMessage(ctx, m)
		}
		if !s.work.Go(deletion) { // The drain has begun.
			deletion("")
		}
	}
}

// deleteMessage deletes a message of the bot. It retries until the call succeeds or is refused, or ctx ends. Telegram
// refuses if the message is gone or older than 48 hours, or if the bot lacks the right. deleteMessage does not report a
// refusal.
func (a *Adapter) deleteMessage(ctx context.Context, m outbox.MessageRef) {
	params := &bot.DeleteMessageParams{ChatID: m.Chat, MessageID: m.MessageID}
	_ = transport.Policy{
		Backoff:     transport.Backoff{First: 200 * time.Millisecond, Max: 2 * time.Second},
		ShouldRetry: botapi.Retryable,
	}.Do(ctx, func(ctx context.Context) error {
		_, err := botapi.Change(ctx, a.api, (*bot.Bot).DeleteMessage, params)
		return err
	})
}
