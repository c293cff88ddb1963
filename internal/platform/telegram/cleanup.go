package telegram

import (
	"context"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

const (
	// noticeLasts is how long stands in a group what concerns nobody but its reader.
	noticeLasts = 30 * time.Second
	// removeTimeout bounds the deletion of a message, as a 429 can hold it back.
	removeTimeout = 5 * time.Minute
	// maxPosted bounds for how many purposes messages are remembered, and maxEach how
	// many for each.
	maxPosted = 10_000
	maxEach   = 20
)

// posted are the messages in groups that are deleted some day, by what they are for: an
// invitation or a cardPlace. They are of this process alone, and of this run.
type posted map[any][]botapi.MessageRef

// put replaces the messages for something. When there is no room, all else is forgotten.
func (p posted) put(what any, messages []botapi.MessageRef) {
	if len(p) >= maxPosted {
		clear(p)
	}
	p[what] = messages[max(0, len(messages)-maxEach):]
}

type (
	// invitation asks this user to start the bot.
	invitation int64
	// cardPlace has the newest answer to a command, and what was said since instead of
	// one.
	cardPlace struct {
		chat, thread int64
		command      string
	}
)

// deleteInvitations deletes what invited a user to start the bot: an answer has
// reached them.
func (t task) deleteInvitations() {
	t.mu.Lock()
	theirs := t.posted[invitation(t.user)]
	delete(t.posted, invitation(t.user))
	t.mu.Unlock()
	t.remove(0, theirs...)
}

// tidy is called once a reply is out in a group. It deletes an error after a while and,
// with CleanChat, the cards of the same command above a new one.
func (t task) tidy(sent botapi.MessageRef, r chat.Reply) {
	if t.to.Silent && r.Ephemeral && r.Ask == nil { // A question stands until it is answered.
		t.remove(noticeLasts, sent)
	}
	if !t.to.Silent || r.Ephemeral || !t.CleanChat {
		return
	}
	command, _ := t.tasks.Handler.Commands().Find(t.request.Command)
	place := cardPlace{chat: sent.Chat, thread: t.to.Thread, command: command.Name}
	var above, kept []botapi.MessageRef
	t.mu.Lock()
	for _, m := range append(t.posted[place], sent) {
		// What is no answer takes none away. Answers may go out in another order than
		// they come here, and several as one message.
		if m.MessageID < sent.MessageID && !r.Unanswered() {
			above = append(above, m)
		} else {
			kept = append(kept, m)
		}
	}
	t.posted.put(place, kept)
	t.mu.Unlock()
	t.remove(0, above...)
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
