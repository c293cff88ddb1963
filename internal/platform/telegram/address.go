package telegram

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// requestState is what a task that checks whether its sender may join a group knows of the sender's request.
type requestState int

const (
	// requestClaimed: the sender says that they have an open request, by a button, a link or an answer to a question.
	requestClaimed requestState = iota
	// requestRemembered: the JoinLog says that they had one. The sender may mean something else.
	requestRemembered
	// requestGone: Telegram says that the remembered request is not open any more.
	requestGone
)

// addressIn returns the address in a private message. It is "" if there is none, or if the bot answers no requests to
// join.
func (t *task) addressIn(m *models.Message) (address string) {
	if m == nil || len(t.s.a.Settings.JoinChats) == 0 || t.press != nil || !t.cmd.request.Direct {
		return ""
	}
	return t.s.work.Handler.Proof(&t.cmd.request)
}

// answerAddress answers t's command, which has an address, and checks the address for each open request of the sender
// to a group of stakers. A command that the sender typed, or whose question they answer, is answered first; a guessed
// one last, and only if no request turned out to be open. answerAddress returns false if t's update must not be
// acknowledged.
func (t *task) answerAddress(address string) (done bool) {
	done = t.cmd.guessed || t.conclude(t.answer())
	meant := false // for a request
	for _, group := range t.s.a.Joins.Open(t.cmd.request.From) {
		if !t.mayBeFor(group) {
			continue
		}
		check := t.forJoin(group, address)
		done = check.conclude(check.answer()) && done
		if check.request != requestGone {
			meant = true
		}
	}
	if t.cmd.guessed && !meant {
		return t.conclude(t.answer()) && done
	}
	return done
}

// mayBeFor reports whether an address beside t's command may be for the sender's request to join a group: the group
// is for stakers, the command itself is not about it, and moderators have not let the sender in.
func (t *task) mayBeFor(group string) bool {
	if !t.s.a.Settings.JoinChats[idOf(group)].Staker || group == t.cmd.request.Args.First() {
		return false
	}
	if t.s.isMember(group, t.cmd.user) {
		t.s.closeJoin(idOf(group), t.cmd.user)
		return false
	}
	return true
}

// forJoin returns a task that checks by an address whether the sender of t's command may join a group.
func (t *task) forJoin(group, address string) *task {
	cmd := *t.cmd
	cmd.request.Command = chat.JoinCommand
	cmd.request.Args = chat.Typed(group, address)
	cmd.text = strings.Join([]string{chat.JoinCommand, group, address}, " ")
	cmd.private = true
	t.s.a.nameGroup(&cmd.request)
	return &task{
		s:       t.s,
		cmd:     &cmd,
		arrived: t.arrived,
		waits:   t.waits,
		request: requestRemembered,
	}
}

// approveOwn approves the open request of the person who sent t's command, for a reply with Admit. It returns the
// reply to show.
func (t *task) approveOwn(reply *chat.Reply) *chat.Reply {
	group := idOf(reply.Join.Admit.Group)
	byUs := false // whether a call succeeded, or may have
	call := func(ctx context.Context) error {
		err := t.s.a.approveJoin(ctx, group, t.cmd.user)
		byUs = byUs || err == nil || botapi.ErrorOf(err).Kind == botapi.OutcomeUnknown
		return err
	}
	outcome := t.s.approve(reply.Join.Admit, t.cmd.user, time.Now().Add(answerWithin), call)
	switch {
	case outcome == chat.LetIn && byUs:
		t.s.countLetIn(group, t.cmd.user)
	case outcome == chat.LetIn: // They were in already.
		t.s.closeJoin(group, t.cmd.user)
	case outcome == chat.NotRequested:
		t.s.closeJoin(group, t.cmd.user)
		if t.request == requestRemembered {
			t.request = requestGone
		}
	default:
		t.noteOpen()
	}
	return replyTo(reply, outcome)
}

// noteOpen remembers the request of a person who says that they have one, and is not let in: a restart or another
// replica does not know of it.
func (t *task) noteOpen() {
	group := t.cmd.request.Args.First()
	_, listed := t.s.a.Settings.JoinChats[idOf(group)]
	if t.cmd.request.Command == chat.JoinCommand && listed && t.request == requestClaimed {
		t.s.a.Joins.Reopen(group, t.cmd.request.From)
	}
}
