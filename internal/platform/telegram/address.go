package telegram

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

// A message in a private chat may contain the address of a wallet. The wallet may be meant for a command, such as
// /staked, or for the sender's open join request to a group of stakers, or for both. A JoinCommand checks it for a join
// request. Each command is an answering (respond.go).

// approveSenderTime is how long an approval may take while the sender waits for the answer to their command.
const approveSenderTime = 10 * time.Second

// walletIn returns the wallet in a private message. It returns "" if there is none, or if the bot does not answer join
// requests.
func (a *answering) walletIn(m *models.Message) (wallet string) {
	isPrivateMessage := m != nil && a.press == nil && a.cmd.request.Direct
	answersJoinRequests := len(a.s.adapter.Settings.JoinChats) > 0
	if !isPrivateMessage || !answersJoinRequests {
		return ""
	}
	return a.s.work.Handler.Proof(&a.cmd.request)
}

// answerWithWallet answers a's command, whose message has a wallet, and checks the wallet for each open join request of
// the sender to a group of stakers. It returns false if a's update must come again.
//
// A command that the sender typed, or whose question they answer, is answered first. A guessed command, such as /staked
// for an address without a command, is answered last, and only if no join request turns out to be open. Otherwise, the
// wallet was meant for the request.
func (a *answering) answerWithWallet(wallet string) (done bool) {
	done = true
	if !a.cmd.guessed {
		done = a.conclude(a.run())
	}
	foundOpenRequest := false
	for _, group := range a.s.adapter.Joins.Open(a.cmd.request.From) {
		if !a.mayNeedWallet(group) {
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

// mayNeedWallet reports whether the sender's request to join a group may need the wallet in a's message: the group is
// for stakers, and a's command is not itself about the group. If moderators have let the sender in meanwhile,
// mayNeedWallet forgets the request and returns false.
func (a *answering) mayNeedWallet(group string) bool {
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

// joinState is what is known, for the answer to a JoinCommand, about the sender's request to join the group.
type joinState int

const (
	// requestNamed: the sender named the request, by a button, a link or the answer to a question.
	requestNamed joinState = iota
	// requestRemembered: the JoinLog has an open request. The sender may mean something else.
	requestRemembered
	// requestGone: the JoinLog had an open request, but Telegram reports none.
	requestGone
)

// joinCheck returns a JoinCommand of the sender of a's command. It checks by the wallet whether they may join the
// group.
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

// approveSender approves the join request of the sender of a's command, and returns the reply that tells the outcome.
// admitting is the reply that allows the approval.
func (a *answering) approveSender(admitting *chat.Reply) *chat.Reply {
	group := idOf(admitting.Join.Admit.Group)
	mayHaveApproved := false // whether a call of this bot may have let the sender in
	call := func(ctx context.Context) error {
		err := a.s.adapter.approveJoin(ctx, group, a.cmd.user)
		if err == nil || botapi.ErrorOf(err).Kind == botapi.OutcomeUnknown {
			mayHaveApproved = true
		}
		return err
	}
	outcome := a.s.approve(admitting.Join.Admit, a.cmd.user, time.Now().Add(approveSenderTime), call)
	switch {
	case outcome == chat.LetIn && mayHaveApproved:
		a.s.countLetIn(group, a.cmd.user)
	case outcome == chat.LetIn: // The sender was in already.
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

// reopenJoin remembers that the sender has an open join request to the group of a's JoinCommand, if they named the
// request. After a restart, or if the request came to another replica, this process does not know it.
func (a *answering) reopenJoin() {
	group := a.cmd.request.Args.First()
	_, listed := a.s.adapter.Settings.JoinChats[idOf(group)]
	if listed && a.joinState == requestNamed {
		a.s.adapter.Joins.Reopen(group, a.cmd.request.From)
	}
}
