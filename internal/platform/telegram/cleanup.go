package telegram

import (
	"context"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

const (
	// pointerLasts is how long answeredPrivately stands in a group, and errorLasts what
	// concerns nobody but its reader.
	pointerLasts = 15 * time.Second
	errorLasts   = 30 * time.Second
	// removeTimeout bounds the deletion of a message, as a 429 can hold it back.
	removeTimeout = 5 * time.Minute
	// maxPosted bounds how many messages are remembered, to be deleted some day.
	maxPosted = 1000
)

// posted are messages in groups that are deleted once they have served, by what they
// are. The oldest are forgotten first. They are of this process alone, and of this
// run.
type posted []post

type post struct {
	what    any
	message botapi.MessageRef
}

func (p *posted) add(what any, m botapi.MessageRef) {
	*p = append(*p, post{what: what, message: m})
	*p = (*p)[max(0, len(*p)-maxPosted):]
}

// pop forgets the messages that are one of these, and returns them.
func (p *posted) pop(what ...any) (popped []botapi.MessageRef) {
	kept := (*p)[:0]
	for _, entry := range *p {
		if slices.Contains(what, entry.what) {
			popped = append(popped, entry.message)
		} else {
			kept = append(kept, entry)
		}
	}
	*p = kept
	return popped
}

// What a message is: the invitation of a user to start the bot, or the newest card of a
// command in a chat and topic. A card that says that there is no answer stands apart:
// it never takes an answer away.
type (
	invitation int64
	cardPlace  struct {
		chat, thread int64
		command      string
		unanswered   bool
	}
)

// deleteInvitations deletes what invited a user to start the bot: an answer has
// reached them.
func (t task) deleteInvitations() {
	t.mu.Lock()
	theirs := t.invitations.pop(invitation(t.user))
	t.mu.Unlock()
	t.remove(0, theirs...)
}

// tidy is called once a reply is out in a group. It deletes an error after a while and,
// with CleanChat, the cards of the same command above a new one.
func (t task) tidy(sent botapi.MessageRef, r chat.Reply) {
	switch {
	case !t.to.Silent || r.Ask != nil: // A question stands until it is answered.
		return
	case r.Ephemeral:
		t.remove(errorLasts, sent)
		return
	case !t.CleanChat:
		return
	}
	command, _ := t.tasks.Handler.Commands().Find(t.request.Command)
	this := cardPlace{chat: sent.Chat, thread: t.to.Thread, command: command.Name, unanswered: r.Unanswered()}
	t.mu.Lock()
	// Answers may have gone out in another order, and one message may be several.
	cards := append(t.cards.pop(this), sent)
	newest := slices.MaxFunc(cards, func(a, b botapi.MessageRef) int { return int(a.MessageID - b.MessageID) })
	t.cards.add(this, newest)
	if !this.unanswered {
		this.unanswered = true
		cards = append(cards, t.cards.pop(this)...)
	}
	t.mu.Unlock()
	t.remove(0, slices.DeleteFunc(cards, func(m botapi.MessageRef) bool { return m == newest })...)
}

// remove deletes messages after a while. At a stop it does not wait: nobody would
// delete them later.
func (s *session) remove(after time.Duration, messages ...botapi.MessageRef) {
	for _, m := range messages {
		work := func(string) {
			transport.Sleep(s.running, after)
			ctx, cancel := context.WithTimeout(s.tasks.Sends, removeTimeout)
			defer cancel()
			if !s.api.Remove(ctx, m) {
				s.Count("remove_abandoned")
			}
		}
		if !s.tasks.Go(work) { // It is draining, so later is now.
			work("")
		}
	}
}
