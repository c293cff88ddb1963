package commands_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

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
						if w.Accounts[id] = (core.Account{DID: did}); did == failing {
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
					if got := reply.Admit != nil; got != want {
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

// TestTheDoorSaysWhatIsMissing: the first line is the answer, and no refusal names a sum.
func TestTheDoorSaysWhatIsMissing(t *testing.T) {
	const did = "did:x:1"
	sum := commandstest.Healthy().Stake.Total()
	for name, tt := range map[string]struct {
		amount  decimal.Decimal
		change  func(*commandstest.Answers)
		want    string
		checked bool
	}{
		"no stake":         {decimal.Zero, func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} }, "Not in yet: this wallet doesn't stake", true},
		"too little":       {sum.Add(decimal.New(1, -18)), func(*commandstest.Answers) {}, "Not in yet: this wallet stakes less than ", true},
		"enough":           {sum, func(*commandstest.Answers) {}, "You're approved: ", true},
		"enough in a part": {sum, func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() }, "You're approved: ", true},
		"unread":           {sum.Add(decimal.NewFromInt(1)), func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() }, "Not in yet: I can't check stakes right now", false},
		"no node":          {decimal.Zero, func(w *commandstest.Answers) { w.StakeErr = staking.Service.Fail(core.SlowAnswer, errInner) }, "Not in yet: I can't check stakes right now", false},
		"not theirs":       {decimal.Zero, func(w *commandstest.Answers) { w.Accounts[wallet] = core.Account{DID: "did:x:2"} }, "Not in yet: that wallet isn't registered to you", true},
		"not registered":   {decimal.Zero, func(w *commandstest.Answers) { w.Accounts[telegram] = core.Account{} }, "Not in yet: you're not registered yet", true},
		"no partner":       {decimal.Zero, func(w *commandstest.Answers) { w.AccountsErr = down }, "Not in yet: I can't check that right now", false},
	} {
		w := commandstest.Healthy()
		w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true, Amount: tt.amount}}
		w.Accounts[telegram], w.Accounts[wallet] = core.Account{DID: did}, core.Account{DID: did}
		tt.change(w)
		reply := commandstest.Ask(t, w.Router(t), "/join "+commandstest.Stakers+" "+commandstest.Wallet)
		said := texts(reply)
		admitted := strings.HasPrefix(tt.want, "You're")
		again := slices.ContainsFunc(reply.Actions, func(a chat.Action) bool { return a.Command == chat.JoinCommand })
		if _, title, _ := strings.Cut(said, "] "); !strings.HasPrefix(title, tt.want) || (reply.Admit != nil) != admitted || again == admitted {
			t.Errorf("%s: %s", name, said)
		}
		if checked := reply.Tone != chat.Warning; checked != tt.checked || !admitted && (strings.Contains(said, "Staking ") || strings.Contains(said, "✅")) {
			t.Errorf("%s: checked %t, %s", name, checked, said)
		}
	}
}

func TestTheDoorWordsEachOutcomeOfAnAdmission(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}}
	admit := commandstest.Ask(t, w.Router(t), "/join "+commandstest.Members).Admit
	for outcome, want := range map[chat.AdmissionOutcome]string{
		chat.LetIn: "You're in: ", chat.NotRequested: "No open request\n", chat.MayNotApprove: "I can't approve people there. Please tell a moderator.",
		chat.ApprovalTimedOut: "That took too long.", chat.ApprovalFailed: "Something went wrong on my side.",
	} {
		reply := admit.Say(outcome)
		if said := texts(reply); !strings.Contains(said, want) || (reply.Tone == chat.Positive) != (outcome == chat.LetIn) {
			t.Errorf("%d: %s", outcome, said)
		}
	}
	open := admit.Say(chat.LetIn).Actions
	if len(open) != 1 || open[0].URL == "" {
		t.Errorf("no link to the group: %v", open)
	}
}

// Three checks a minute are allowed, over all groups. A question is no check.
func TestOnlyChecksCountAgainstTheLimitOfJoining(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Members: {}, "telegram:" + commandstest.Stakers: {Staker: true}}
	c, _ := commands.All(w.Sources(), w.Options).Find(chat.JoinCommand)
	for args, want := range map[[2]string]int{
		{commandstest.Members, ""}: 3, {commandstest.Stakers, ""}: 0, {commandstest.Stakers, commandstest.Wallet}: 3,
		{commandstest.Members, commandstest.Wallet}: 3, {"-5", commandstest.Wallet}: 0,
	} {
		req := chat.Request{From: chat.User{Platform: "telegram"}, Args: chat.Named(map[string]string{"group": args[0], "wallet": args[1]})}
		for _, f := range c.Forms {
			if got := f.PerMinute(req); got != want {
				t.Errorf("%v: %d a minute, want %d", args, got, want)
			}
		}
	}
}
