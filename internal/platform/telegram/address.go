package telegram

import (
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
)

// answerAddress answers an address that was written in the private chat as meant for the sender's
// open requests to join groups of stakers: once for each, and for the command itself if it was typed.
// It returns false if t's update must not be acknowledged.
func (t *task) answerAddress(address string, typed bool) (done bool) {
	done, meant := true, false
	for _, group := range t.s.a.Joins.Open(t.cmd.request.From) {
		if !t.s.a.Settings.JoinChats[idOf(group)].Staker || group == t.cmd.request.Args.First() {
			continue
		}
		if t.s.isMember(group, t.cmd.user) { // Moderators let them in.
			t.s.closeJoin(idOf(group), t.cmd.user)
			continue
		}
		j := t.forJoin(group, address)
		done = j.conclude(j.answer()) && done
		meant = meant || !j.notRequested
	}
	if meant && !typed {
		return done
	}
	return t.conclude(t.answer()) && done
}

// noteOpen remembers the request of a person who asks the bot to let them into a group, and is not let
// in. The process that received the request may have been another one.
func (t *task) noteOpen() {
	group := t.cmd.request.Args.First()
	_, listed := t.s.a.Settings.JoinChats[idOf(group)]
	if t.cmd.request.Command == chat.JoinCommand && listed {
		t.s.a.Joins.Reopen(group, t.cmd.request.From)
	}
}

// forJoin returns a task that checks by an address whether the sender of t's command may join a group.
func (t *task) forJoin(group, address string) *task {
	cmd := *t.cmd
	cmd.request.Command, cmd.request.Args = chat.JoinCommand, chat.Typed(group, address)
	cmd.text, cmd.private = strings.Join([]string{chat.JoinCommand, group, address}, " "), true
	t.s.a.nameGroup(&cmd.request)
	return &task{s: t.s, cmd: &cmd, arrived: t.arrived, place: t.place, waits: t.waits, onlyIfRequested: true}
}

// addressIn returns the address in a private message, and whether its command was typed, or answers
// the question of a request to join. The address is "" if there is none, or if the bot answers no
// requests to join.
func (t *task) addressIn(m *models.Message) (address string, typed bool) {
	if m == nil || len(t.s.a.Settings.JoinChats) == 0 || t.press != nil || !t.cmd.request.Direct {
		return "", false
	}
	isCommand := func(e models.MessageEntity) bool { return e.Type == models.MessageEntityTypeBotCommand }
	typed = slices.ContainsFunc(slices.Concat(m.Entities, m.CaptionEntities), isCommand)
	return t.s.tasks.Handler.Commands().Proof(t.cmd.request), typed || t.cmd.request.Command == chat.JoinCommand
}
