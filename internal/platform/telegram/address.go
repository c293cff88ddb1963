package telegram

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// An address in a private chat is a wallet. It may be meant for a command, or for the sender's join request to a group
// of stakers, or for both.

// joinState is what an answer to a JoinCommand knows of the sender's join request.
type joinState int

const (
	// requestSaid: the sender says that they have an open request, by a button, a link or an answer to a question.
	requestSaid joinState = iota
	// requestRemembered: the JoinLog says that they had one. The sender may mean something else.
	requestRemembered
	// requestGone: Telegram says that the remembered request is not open any more.
	requestGone
)

// approveSenderTime is how long the approval may take that the sender of a command waits for.
const approveSenderTime = 10 * time.Second

// walletIn returns the wallet in a private message. It returns "" if there is none, or if the bot does not answer join
// requests.
func (a *answering) walletIn(m *models.Message) (wallet string) {
	if m == nil || len(a.s.adapter.Settings.JoinChats) == 0 || a.press != nil || !a.cmd.request.Direct {
		return ""
	}
	return a.s.work.Handler.Proof(&a.cmd.request)
}

// answerWithWallet answers a's command, which has a wallet, and checks the wallet for each open join request of the
// sender to a group of stakers. It returns false if a's update must come again.
//
// A command that the sender typed, or whose question they answer, is answered first. A guessed command is answered
// last, and only if no join request turned out to be open: the wallet is then not meant for one.
func (a *answering) answerWithWallet(wallet string) (done bool) {
	done = true
	if !a.cmd.guessed {
		done = a.conclude(a.run())
	}
	foundOpenRequest := false
	for _, group := range a.s.adapter.Joins.Open(a.cmd.request.From) {
		if !a.mayBeWalletFor(group) {
			continue
		}
		check := a.joinCheck(group, wallet)
		checkDone := check.conclude(check.run())
		done = done && checkDone
		if check.joinState != requestGone {
			foundOpenRequest = true
		}
	}
	if a.cmd.guessed && !foundOpenRequest {
		commandDone := a.conclude(a.run())
		done = done && commandDone
	}
	return done
}

// mayBeWalletFor reports whether the wallet in a's message may be for the sender's request to join a group: the group
// is for stakers, the command itself is not about it, and moderators have not let the sender in.
func (a *answering) mayBeWalletFor(group string) bool {
	isForStakers := a.s.adapter.Settings.JoinChats[idOf(group)].Staker
	isAboutGroup := group == a.cmd.request.Args.First()
	if !isForStakers || isAboutGroup {
		return false
	}
	if a.s.isMember(group, a.cmd.user) {
		a.s.closeJoin(idOf(group), a.cmd.user)
		return false
	}
	return true
}

// joinCheck returns an answering that checks by a wallet whether the sender of a's command may join a group.
func (a *answering) joinCheck(group, wallet string) *answering {
	cmd := *a.cmd
	cmd.request.Command = chat.JoinCommand
	cmd.request.Args = chat.Typed(group, wallet)
	cmd.text = strings.Join([]string{chat.JoinCommand, group, wallet}, " ")
	cmd.private = true
	a.s.adapter.nameGroup(&cmd.request)
	return &answering{
		s:         a.s,
		cmd:       &cmd,
		arrived:   a.arrived,
		onWait:    a.onWait,
		joinState: requestRemembered,
	}
}

// approveSender approves the join request of the person who sent a's command. admitting is the reply with the
// Admission. It returns the reply that tells the outcome.
func (a *answering) approveSender(admitting *chat.Reply) *chat.Reply {
	group := idOf(admitting.Join.Admit.Group)
	mayBeApprovedHere := false
	call := func(ctx context.Context) error {
		err := a.s.adapter.approveJoin(ctx, group, a.cmd.user)
		if err == nil || botapi.ErrorOf(err).Kind == botapi.OutcomeUnknown {
			mayBeApprovedHere = true
		}
		return err
	}
	outcome := a.s.approve(admitting.Join.Admit, a.cmd.user, time.Now().Add(approveSenderTime), call)
	switch {
	case outcome == chat.LetIn && mayBeApprovedHere:
		a.s.countLetIn(group, a.cmd.user)
	case outcome == chat.LetIn: // The person was in already.
		a.s.closeJoin(group, a.cmd.user)
	case outcome == chat.NotRequested:
		a.s.closeJoin(group, a.cmd.user)
		if a.joinState == requestRemembered {
			a.joinState = requestGone
		}
	default:
		a.reopenJoin()
	}
	return replyTo(admitting, outcome)
}

// reopenJoin remembers that the sender has an open join request to the group of a's JoinCommand, if they say so: after
// a restart, or if the request came to another replica, this process does not know it.
func (a *answering) reopenJoin() {
	group := a.cmd.request.Args.First()
	_, listed := a.s.adapter.Settings.JoinChats[idOf(group)]
	if listed && a.joinState == requestSaid {
		a.s.adapter.Joins.Reopen(group, a.cmd.request.From)
	}
}
