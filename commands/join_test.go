package commands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

// Lines of join requests.
const (
	joinMembers       = "/join " + commandstest.Members
	joinMembersWallet = "/join " + commandstest.Members + " " + commandstest.Wallet
	joinStakers       = "/join " + commandstest.Stakers
	joinStakersWallet = "/join " + commandstest.Stakers + " " + commandstest.Wallet
)

// TestOnlyACompleteProofIsAdmitted asks with every combination of an account, a wallet and its stake.
func TestOnlyACompleteProofIsAdmitted(t *testing.T) {
	const did = "did:x:1"
	stakes := []struct {
		name   string
		change func(*commandstest.Answers)
		proves bool
	}{
		{
			name:   "staking",
			change: unchanged,
			proves: true,
		},
		{
			name:   "staking, a pool unread",
			change: func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() },
			proves: true,
		},
		{
			name:   "not staking",
			change: stakesNothing,
			proves: false,
		},
		{
			name:   "undetermined",
			change: stakeUndetermined,
			proves: false,
		},
		{
			name:   "unread",
			change: func(w *commandstest.Answers) { w.StakeErr = chainSlow },
			proves: false,
		},
	}
	for _, account := range []string{did, "", failingDID} {
		for _, owner := range []string{did, "did:x:2", "", failingDID} {
			for _, stake := range stakes {
				isStaker := owner == did && stake.proves
				for line, want := range map[string]bool{
					joinMembers:          account == did,
					joinMembersWallet:    account == did,
					joinStakers:          false,
					joinStakersWallet:    account == did && isStaker,
					"/join " + notListed: false,
				} {
					w := withJoin()
					registered(w, account, owner)
					stake.change(w)
					reply := commandstest.Ask(t, w.Router(t), line)
					if got := reply.Join.Admit != nil; got != want {
						t.Errorf("%s, account %q, owner %q, %s: admitted %t, want %t",
							line, account, owner, stake.name, got, want)
					}
				}
			}
		}
	}
}

// notListed is a group that is not in JoinChats.
const notListed = "-5"

// As long as the sender has not named a valid wallet, the bot asks the partner only about the sender, and does not ask
// the chain. For the last two lines, it asks nothing.
func TestJoiningAsksAboutTheSenderOnly(t *testing.T) {
	w := withJoin()
	r := w.Router(t)
	for _, line := range []string{joinMembers, joinStakers, joinStakers + " 0x1", "/join " + notListed} {
		commandstest.Ask(t, r, line)
	}
	if len(w.AccountsAsked) != 1 || w.AccountsAsked[annsAccount] != 2 || w.StakesAsked != 0 {
		t.Errorf("asked about the accounts %v and %d stakes", w.AccountsAsked, w.StakesAsked)
	}
}

// Three checks a minute are allowed in each group. A request that the bot may have to answer with "send a wallet" is
// not counted.
func TestOnlyChecksCountAgainstTheLimitOfJoining(t *testing.T) {
	command, _ := allCommands(withJoin()).Find(chat.JoinCommand)
	for _, test := range []struct {
		group  string
		wallet string
		want   bool
	}{
		{group: commandstest.Members, wallet: "", want: true},
		{group: commandstest.Members, wallet: commandstest.Wallet, want: true},
		{group: commandstest.Stakers, wallet: "", want: false},
		{group: commandstest.Stakers, wallet: commandstest.Wallet, want: true},
		{group: notListed, wallet: commandstest.Wallet, want: false},
	} {
		req := &chat.Request{
			From: chat.User{Platform: "telegram"},
			Args: chat.Named(map[string]string{"group": test.group, "wallet": test.wallet}),
		}
		for _, f := range command.Forms {
			if f.Limit.Uses != 3 || f.Limit.Per != time.Minute || f.Limit.Of != "group" {
				t.Fatalf("the limit is %+v", f.Limit)
			}
			if got := f.Limit.Counts(req); got != test.want {
				t.Errorf("%s %s counts: %t, want %t", test.group, test.wallet, got, test.want)
			}
		}
	}
}

// annsRequest returns services by which Ann is registered, and Wallet is hers and stakes, after a change, which may be
// nil.
func annsRequest(change func(*commandstest.Answers)) *commandstest.Answers {
	w := withJoin()
	w.Accounts = map[core.Identity]core.Account{annsAccount: {DID: "did:x:1"}, theWallet: {DID: "did:x:1"}}
	if change != nil {
		change(w)
	}
	return w
}

func TestModeratorsReadWhyARequestStaysOpen(t *testing.T) {
	unregistered := func(w *commandstest.Answers) { w.Accounts = nil }
	for _, test := range []struct {
		name   string
		line   string
		change func(*commandstest.Answers)
		want   string // empty: nothing
	}{
		{
			name:   "unregistered",
			line:   joinMembers,
			change: unregistered,
			want:   "details.unregistered",
		},
		{
			name:   "unregistered, for stakers",
			line:   joinStakers,
			change: unregistered,
			want:   "details.unregistered",
		},
		{
			name:   "unregistered, with a wallet",
			line:   joinStakersWallet,
			change: unregistered,
			want:   "details.unregistered",
		},
		{
			name: "registered, for stakers",
			line: joinStakers,
			want: "details.asked",
		},
		{
			name:   "not their wallet",
			line:   joinStakersWallet,
			change: func(w *commandstest.Answers) { delete(w.Accounts, theWallet) },
			want:   "details.not_theirs",
		},
		{
			name:   "stakes nothing",
			line:   joinStakersWallet,
			change: stakesNothing,
			want:   "details.too_little",
		},
		{
			name:   "a stake that cannot be read",
			line:   joinStakersWallet,
			change: func(w *commandstest.Answers) { w.StakeErr = chainSlow },
		},
		{
			name:   "an account that cannot be read",
			line:   joinMembers,
			change: func(w *commandstest.Answers) { w.AccountsErr = partnerDown },
		},
	} {
		reply := commandstest.Ask(t, annsRequest(test.change).Router(t), test.line)
		if got := reply.Join.WhyLeftOut.Key; got != test.want {
			t.Errorf("%s: moderators read %q, want %q", test.name, got, test.want)
		}
	}
}

func TestModeratorsReadWhyAnApprovalFailed(t *testing.T) {
	for outcome, want := range map[chat.ApprovalResult]string{
		chat.LetIn:           "",
		chat.NotRequested:    "details.not_approved",
		chat.MayNotApprove:   "details.not_approved",
		chat.InTooManyGroups: "details.too_many",
		chat.BannedThere:     "details.banned",
		chat.AccountDeleted:  "details.deleted",
	} {
		reply := commandstest.Ask(t, annsRequest(nil).Router(t), joinStakersWallet)
		if got := reply.Join.Admit.Say(outcome).Join.WhyLeftOut.Key; got != want {
			t.Errorf("outcome %d: moderators read %q, want %q", outcome, got, want)
		}
	}
}

// A proof is an argument that may prove to a group that the sender can come in: the only argument of a command about a
// wallet, or the wallet of /join. It need not be valid. A moderator's command is about somebody else.
func TestWhichRequestsHoldAProof(t *testing.T) {
	const address = commandstest.Wallet
	for line, want := range map[string]string{
		"/staked " + address:                                  address,
		"/staked is this one in? " + address:                  address,
		"/staked https://explorer.example/address/" + address: address,
		"/staked 0x12":                                        "0x12",
		"/staked name.eth":                                    "name.eth",
		"/verify " + address:                                  address,
		"/verify 123456789 " + address:                        "",
		"/exists EVM " + address:                              "",
		"/join -1002 " + address:                              address,
		"/join -1002 0x12":                                    "0x12",
		"/join -1002":                                         "",
		"/join -1002 hello":                                   "",
		"/staked hello":                                       "",
		"/staked":                                             "",
		"/verify":                                             "",
		"/price":                                              "",
		"/nothing " + address:                                 "",
	} {
		typed := strings.Fields(line)
		req := &chat.Request{Command: typed[0][1:], Args: chat.Typed(typed[1:]...), Direct: true}
		if got := commandstest.Healthy().Router(t).Proof(req); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Each outcome has words of its own. If the sender can change it, the words say how.
func TestARefusedApprovalSaysWhatToDo(t *testing.T) {
	admit := commandstest.Ask(t, annsRequest(nil).Router(t), joinMembers).Join.Admit
	for outcome, want := range map[chat.ApprovalResult]string{
		chat.LetIn:            "join.in  []",
		chat.NotRequested:     "join.gone.title join.gone.text []",
		chat.MayNotApprove:    "join.failed join.denied [button.again]",
		chat.ApprovalTimedOut: "join.failed reason.timeout [button.again]",
		chat.ApprovalFailed:   "join.failed reason.internal [button.again]",
		chat.InTooManyGroups:  "join.too_many join.too_many_text [button.again]",
		chat.BannedThere:      "join.banned join.banned_text [button.again]",
	} {
		reply := admit.Say(outcome)
		var labels []string
		for _, a := range reply.Actions {
			if a.URL == "" {
				labels = append(labels, a.Label.Key)
			}
		}
		if got := fmt.Sprint(reply.Title.Key, " ", reply.Text.Key, " ", labels); got != want {
			t.Errorf("outcome %d: %s, want %s", outcome, got, want)
		}
	}
}
