package telegram

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// requestState is what an answer to a JoinCommand knows of the sender's request.
type requestState int

const (
	// requestSaid: the sender says that they have an open request, by a button, a link or an answer to a question.
	requestSaid requestState = iota
	// requestRemembered: the JoinLog says that they had one. The sender may mean something else.
	requestRemembered
	// requestGone: Telegram says that the remembered request is not open any more.
	requestGone
)

// addressIn returns the address in a private message. It is "" if there is none, or if the bot answers no requests to
// join.
func (a *answering) addressIn(m *models.Message) (address string) {
	if m == nil || len(a.s.a.Settings.JoinChats) == 0 || a.press != nil || !a.cmd.request.Direct {
		return ""
	}
	return a.s.work.Handler.Proof(&a.cmd.request)
}

// answerAddress answers a's command, which has an address, and checks the address for each open request of the sender
// to a group of stakers. A command that the sender typed, or whose question they answer, is answered first; a guessed
// one last, and only if no request turned out to be open. answerAddress returns false if a's update must not be
// acknowledged.
func (a *answering) answerAddress(address string) (done bool) {
	done = a.cmd.guessed || a.conclude(a.answer())
	meant := false // for a request
	for _, group := range a.s.a.Joins.Open(a.cmd.request.From) {
		if !a.mayBeFor(group) {
			continue
		}
		check := a.forJoin(group, address)
		done = check.conclude(check.answer()) && done
		if check.request != requestGone {
			meant = true
		}
	}
	if a.cmd.guessed && !meant {
		return a.conclude(a.answer()) && done
	}
	return done
}

// mayBeFor reports whether an address beside a's command may be for the sender's request to join a group: the group
// is for stakers, the command itself is not about it, and moderators have not let the sender in.
func (a *answering) mayBeFor(group string) bool {
	if !a.s.a.Settings.JoinChats[idOf(group)].Staker || group == a.cmd.request.Args.First() {
		return false
	}
	if a.s.isMember(group, a.cmd.user) {
		a.s.closeJoin(idOf(group), a.cmd.user)
		return false
	}
	return true
}

// forJoin returns an answering that checks by an address whether the sender of a's command may join a group.
func (a *answering) forJoin(group, address string) *answering {
	cmd := *a.cmd
	cmd.request.Command = chat.JoinCommand
	cmd.request.Args = chat.Typed(group, address)
	cmd.text = strings.Join([]string{chat.JoinCommand, group, address}, " ")
	cmd.private = true
	a.s.a.nameGroup(&cmd.request)
	return &answering{
		s:       a.s,
		cmd:     &cmd,
		arrived: a.arrived,
		onWait:  a.onWait,
		request: requestRemembered,
	}
}

// approveOwn approves the open request of the person who sent a's command, for a reply with Admit. It returns the
// reply to show.
func (a *answering) approveOwn(reply *chat.Reply) *chat.Reply {
	group := idOf(reply.Join.Admit.Group)
	byUs := false // whether a call succeeded, or may have
	call := func(ctx context.Context) error {
		err := a.s.a.approveJoin(ctx, group, a.cmd.user)
		byUs = byUs || err == nil || botapi.ErrorOf(err).Kind == botapi.OutcomeUnknown
		return err
	}
	outcome := a.s.approve(reply.Join.Admit, a.cmd.user, time.Now().Add(answerWithin), call)
	switch {
	case outcome == chat.LetIn && byUs:
		a.s.countLetIn(group, a.cmd.user)
	case outcome == chat.LetIn: // They were in already.
		a.s.closeJoin(group, a.cmd.user)
	case outcome == chat.NotRequested:
		a.s.closeJoin(group, a.cmd.user)
		if a.request == requestRemembered {
			a.request = requestGone
		}
	default:
		a.noteOpen()
	}
	return replyTo(reply, outcome)
}

// noteOpen remembers the request of a person who says that they have one, and is not let in: a restart or another
// replica does not know of it.
func (a *answering) noteOpen() {
	group := a.cmd.request.Args.First()
	_, listed := a.s.a.Settings.JoinChats[idOf(group)]
	if listed && a.request == requestSaid {
		a.s.a.Joins.Reopen(group, a.cmd.request.From)
	}
}
