package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/staking"
)

// TestOnlyACompleteProofIsAdmitted has every combination of what is known of the account, of
// the wallet and of its stake.
func TestOnlyACompleteProofIsAdmitted(t *testing.T) {
	const did, failing = "did:x:1", "failing"
	stakes := map[string]func(*commandstest.Answers){
		"yes":          func(*commandstest.Answers) {},
		"partly":       func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() },
		"no":           func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} },
		"undetermined": func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 20, Failed: unreadPool()} },
		"failing":      func(w *commandstest.Answers) { w.StakeErr = staking.Service.Fail(core.SlowAnswer, errInner) },
	}
	for _, line := range []string{commandstest.Members, commandstest.Members + " " + commandstest.Wallet, commandstest.Stakers, commandstest.Stakers + " " + commandstest.Wallet, "-5"} {
		for _, account := range []string{did, "", failing} {
			for _, owner := range []string{did, "did:x:2", "", failing} {
				for stake, change := range stakes {
					w := commandstest.Healthy()
					w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}, "telegram:" + commandstest.Stakers: {Staker: true}}
					w.AccountErrs = map[string]error{}
					for id, did := range map[core.Identity]string{telegram: account, wallet: owner} {
						w.Accounts[id] = core.Account{DID: did}
						if did == failing {
							w.AccountErrs[id.Platform] = down
						}
					}
					change(w)
					reply := commandstest.Ask(t, w.Router(t), "/join "+line)
					want := account == did
					switch {
					case line == "-5", line == commandstest.Stakers:
						want = false
					case line == commandstest.Stakers+" "+commandstest.Wallet:
						want = account == did && owner == did && (stake == "yes" || stake == "partly")
					}
					if got := reply.Join.Admit != nil; got != want {
						t.Errorf("%s, account %q, owner %q, stake %s: admitted %t, want %t", line, account, owner, stake, got, want)
					}
				}
			}
		}
	}
}

// Until a wallet is named, a request to join asks the partner for the sender's account alone,
// and the chain for nothing.
func TestJoiningAsksForTheSenderAlone(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}, "telegram:" + commandstest.Stakers: {Staker: true}}
	r := w.Router(t)
	for _, line := range []string{"/join " + commandstest.Members, "/join " + commandstest.Stakers, "/join " + commandstest.Stakers + " 0x1", "/join -5"} {
		commandstest.Ask(t, r, line)
	}
	if len(w.AccountsAsked) != 1 || w.AccountsAsked[telegram] != 2 || w.StakesAsked != 0 {
		t.Errorf("asked for the accounts %v and %d stakes", w.AccountsAsked, w.StakesAsked)
	}
}

// Three checks a minute are allowed in each group. A question is no check.
func TestOnlyChecksCountAgainstTheLimitOfJoining(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}, "telegram:" + commandstest.Stakers: {Staker: true}}
	c, _ := commands.All(w.Sources(), w.Options).Find(chat.JoinCommand)
	for args, want := range map[[2]string]int{
		{commandstest.Members, ""}: 3, {commandstest.Stakers, ""}: 0, {commandstest.Stakers, commandstest.Wallet}: 3,
		{commandstest.Members, commandstest.Wallet}: 3, {"-5", commandstest.Wallet}: 0,
	} {
		req := &chat.Request{From: chat.User{Platform: "telegram"}, Args: chat.Named(map[string]string{"group": args[0], "wallet": args[1]})}
		for _, f := range c.Forms {
			if got := f.PerMinute(req); got != want || f.PerMinuteOf != "group" {
				t.Errorf("%v: %d a minute of %q, want %d", args, got, f.PerMinuteOf, want)
			}
		}
	}
}

// A request to join names no wallet, unless an address is saved.
func TestModeratorsReadWhyARequestStaysOpen(t *testing.T) {
	const stakers = "/join " + commandstest.Stakers + " " + commandstest.Wallet
	outcome := func(outcome chat.AdmissionOutcome) func(*chat.Reply) *chat.Reply {
		return func(reply *chat.Reply) *chat.Reply { return reply.Join.Admit.Say(outcome) }
	}
	unregistered := func(w *commandstest.Answers) { w.Accounts = nil }
	for name, test := range map[string]struct {
		line   string
		change func(*commandstest.Answers)
		then   func(*chat.Reply) *chat.Reply
		want   string
	}{
		"unregistered":              {line: "/join " + commandstest.Members, change: unregistered, want: "details.unregistered"},
		"unregistered, for stakers": {line: "/join " + commandstest.Stakers, change: unregistered, want: "details.unregistered"},
		"unregistered, a wallet":    {line: stakers, change: unregistered, want: "details.unregistered"},
		"registered, for stakers":   {line: "/join " + commandstest.Stakers, want: "details.asked"},
		"not their wallet":          {line: stakers, change: func(w *commandstest.Answers) { delete(w.Accounts, wallet) }, want: "details.not_theirs"},
		"stakes nothing":            {line: stakers, change: func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} }, want: "details.too_little"},
		"unread":                    {line: stakers, change: func(w *commandstest.Answers) { w.StakeErr = down }},
		"unknown":                   {line: "/join " + commandstest.Members, change: func(w *commandstest.Answers) { w.AccountsErr = down }},
		"no open request":           {line: stakers, then: outcome(chat.NotRequested), want: "details.not_approved"},
		"no right to approve":       {line: stakers, then: outcome(chat.MayNotApprove), want: "details.not_approved"},
		"too many groups":           {line: stakers, then: outcome(chat.InTooManyGroups), want: "details.too_many"},
		"banned":                    {line: stakers, then: outcome(chat.BannedThere), want: "details.banned"},
		"account deleted":           {line: stakers, then: outcome(chat.AccountDeleted), want: "details.deleted"},
		"let in":                    {line: stakers, then: outcome(chat.LetIn)},
	} {
		w := commandstest.Healthy()
		w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}, "telegram:" + commandstest.Stakers: {Staker: true}}
		w.Accounts = map[core.Identity]core.Account{telegram: {DID: "did:x:1"}, wallet: {DID: "did:x:1"}}
		if test.change != nil {
			test.change(w)
		}
		reply := commandstest.Ask(t, w.Router(t), test.line)
		if test.then != nil {
			reply = test.then(reply)
		}
		if got := reply.Join.LeftOut.Key; got != test.want {
			t.Errorf("%s: moderators read %q, want %q", name, got, test.want)
		}
	}
}

// An address is a proof if it is all that a command is about. A moderator's command is about somebody
// else.
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
		words := strings.Fields(line)
		req := &chat.Request{Command: words[0][1:], Args: chat.Typed(words[1:]...), Direct: true}
		if got := commandstest.Healthy().Router(t).Proof(req); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Each reason has words of its own. If the person is the reason, the words say what they can do.
func TestARefusedApprovalSaysWhatToDo(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}}
	w.Accounts = map[core.Identity]core.Account{telegram: {DID: "did:x:1"}}
	admit := commandstest.Ask(t, w.Router(t), "/join "+commandstest.Members).Join.Admit
	for outcome, want := range map[chat.AdmissionOutcome]string{
		chat.LetIn:            "join.in  []",
		chat.NotRequested:     "join.gone.title join.gone.text []",
		chat.MayNotApprove:    "join.failed join.denied [button.again]",
		chat.ApprovalTimedOut: "join.failed reason.timeout [button.again]",
		chat.ApprovalFailed:   "join.failed reason.internal [button.again]",
		chat.InTooManyGroups:  "join.too_many join.too_many_text [button.again]",
		chat.BannedThere:      "join.banned join.banned_text [button.again]",
	} {
		reply := admit.Say(outcome)
		var buttons []string
		for _, a := range reply.Actions {
			if a.URL == "" {
				buttons = append(buttons, a.Label.Key)
			}
		}
		if got := fmt.Sprint(reply.Title.Key, " ", reply.Text.Key, " ", buttons); got != want {
			t.Errorf("outcome %d: %s, want %s", outcome, got, want)
		}
	}
}
