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

const (
	// noticeLasts is how long a message for one person stays in a group.
	noticeLasts = 30 * time.Second
	// questionLasts is how long a question for one person stays there: the person needs time to reply.
	questionLasts = 2 * time.Minute
	// removeTimeout is how long a deletion is retried, mostly after a 429.
	removeTimeout = 5 * time.Minute
	// maxKeys limits the keys of toDelete.
	maxKeys = 10_000
	// maxEach limits the messages under each key of toDelete.
	maxEach = 20
)

// toDelete holds messages in groups to delete later, by the ID of a user who was asked to
// start the bot, or by a cardKey. It is not persisted.
type toDelete map[any][]outbox.MessageRef

// put replaces the messages under a key with the last maxEach of the given ones. If there are
// already maxKeys keys, put first drops all of them.
func (d toDelete) put(key any, messages []outbox.MessageRef) {
	if len(d) >= maxKeys {
		clear(d)
	}
	d[key] = messages[max(0, len(messages)-maxEach):]
}

// cardKey identifies the newest answer to a command about something in a topic. If failed is set, it identifies the
// errors that were sent for the same command since that answer.
type cardKey struct {
	chat           int64
	topic          int
	command, about string
	failed         bool
}

// deleteInvitations deletes the messages that asked the user to start the bot.
func (a *answering) deleteInvitations() {
	a.s.mu.Lock()
	invitations := a.s.toDelete[a.cmd.user]
	delete(a.s.toDelete, a.cmd.user)
	a.s.mu.Unlock()
	a.s.remove(0, invitations...)
}

// cleanUp is called when a reply was sent. In a group, it deletes a reply for the sender alone: a question after
// questionLasts, and any other one after noticeLasts. If CleanChat is set, it deletes the older cards that a reply for
// everybody replaces.
func (a *answering) cleanUp(sent outbox.MessageRef, r *chat.Reply) {
	switch {
	case a.cmd.request.Direct:
	case r.ForSender() && r.Ask != nil:
		a.s.remove(questionLasts, sent)
	case r.ForSender():
		a.s.remove(noticeLasts, sent)
	case a.s.adapter.Settings.CleanChat:
		asked, _ := a.s.work.Handler.Commands().Find(a.cmd.request.Command)
		key := cardKey{chat: sent.Chat, topic: a.cmd.to.Topic(), command: asked.Name, about: r.About}
		a.s.remove(0, a.s.replaceCard(key, sent, r.Unanswered())...)
	}
}

// replaceCard stores a card that was sent, and returns the cards to delete: those above the newest answer. If the card
// is not an answer, replaceCard returns none.
func (s *session) replaceCard(answers cardKey, sent outbox.MessageRef, failed bool) (above []outbox.MessageRef) {
	failures := answers
	failures.failed = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed {
		s.toDelete.put(failures, slices.Compact(append(s.toDelete[failures], sent)))
		return nil
	}
	// replaceCard may be called in another order than the answers were sent, and some answers share a message.
	byID := func(a, b outbox.MessageRef) int { return cmp.Compare(a.MessageID, b.MessageID) }
	newest := slices.MaxFunc(append(s.toDelete[answers], sent), byID)
	above = slices.Concat(s.toDelete[answers], s.toDelete[failures], []outbox.MessageRef{sent})
	s.toDelete.put(answers, []outbox.MessageRef{newest})
	delete(s.toDelete, failures)
	return slices.DeleteFunc(above, func(m outbox.MessageRef) bool { return byID(m, newest) >= 0 })
}

// remove deletes messages after the given time, or when the drain begins: no later run would delete them. It skips
// messages that are being removed already. It does not block, except during the drain.
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
		if !s.work.Go(deletion) {
			deletion("")
		}
	}
}

// deleteMessage deletes a message of the bot. It retries until the call succeeds or is refused, or
// ctx ends. Telegram refuses if the message is gone or older than 48 hours, or if the bot
// lacks the right. deleteMessage does not report a refusal.
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
