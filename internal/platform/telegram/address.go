package telegram

import (
	"strings"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
)

// answerAddress checks an address from the private chat for each open request of the sender to a group
// of stakers, and answers each. A command that the sender typed, or whose question they answer, is
// answered first; a guessed one last, and only if no request turned out to be open. answerAddress
// returns false if t's update must not be acknowledged.
func (t *task) answerAddress(address string) (done bool) {
	done = t.cmd.guessed || t.conclude(t.answer())
	meant := false
	for _, group := range t.s.a.Joins.Open(t.cmd.request.From) {
		if !t.s.a.Settings.JoinChats[idOf(group)].Staker {
			continue
		}
		if group == t.cmd.request.Args.First() { // The command itself is about it.
			continue
		}
		if t.s.isMember(group, t.cmd.user) { // Moderators let them in.
			t.s.closeJoin(idOf(group), t.cmd.user)
			continue
		}
		j := t.forJoin(group, address)
		done = j.conclude(j.answer()) && done
		if !j.notRequested { // Otherwise Telegram said that there is no request, and nothing was sent.
			meant = true
		}
	}
	if t.cmd.guessed && !meant {
		return t.conclude(t.answer()) && done
	}
	return done
}

// noteOpen remembers the request of a person who asks the bot to let them into a group, and is not let
// in: a restart or another replica does not know of it.
func (t *task) noteOpen() {
	group := t.cmd.request.Args.First()
	_, listed := t.s.a.Settings.JoinChats[idOf(group)]
	if t.cmd.request.Command == chat.JoinCommand && listed && !t.onlyIfRequested {
		t.s.a.Joins.Reopen(group, t.cmd.request.From)
	}
}

// forJoin returns a task that checks by an address whether the sender of t's command may join a group.
func (t *task) forJoin(group, address string) *task {
	cmd := *t.cmd
	cmd.request.Command, cmd.request.Args = chat.JoinCommand, chat.Typed(group, address)
	cmd.text, cmd.private = strings.Join([]string{chat.JoinCommand, group, address}, " "), true
	t.s.a.nameGroup(&cmd.request)
	return &task{s: t.s, cmd: &cmd, arrived: t.arrived, waits: t.waits, onlyIfRequested: true}
}

// addressIn returns the address in a private message. It is "" if there is none, or if the bot answers
// no requests to join.
func (t *task) addressIn(m *models.Message) (address string) {
	if m == nil || len(t.s.a.Settings.JoinChats) == 0 || t.press != nil || !t.cmd.request.Direct {
		return ""
	}
	return t.s.work.Handler.Proof(&t.cmd.request)
}
