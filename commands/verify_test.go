package commands_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

// proof is what services know about Ann and Wallet. A DID is empty if nothing is registered, and failingDID if the
// partner fails.
type proof struct {
	account string // the DID of Ann's account
	owner   string // the DID under which Wallet is registered
	stake   string // the key of the message about the stake, in stakesByMessage
}

// unknown is the key of the title of a part of a card that could not be read: of the owner or of the stake.
const unknown = "unchecked.title"

// stakesByMessage has each kind of answer of the chain, by the key of the message about it.
var stakesByMessage = map[string]func(*commandstest.Answers){
	"stake.yes":          unchanged,
	"stake.no":           stakesNothing,
	"stake.undetermined": stakeUndetermined,
	unknown:              func(w *commandstest.Answers) { w.StakeErr = chainSlow },
}

// verdict returns the key of the message about whether the wallet is Ann's. A DID that is spelled differently is
// another DID.
func (p proof) verdict() string {
	switch {
	case p.account == "":
		return "verify.you.new"
	case p.account == failingDID || p.owner == failingDID:
		return unknown
	case p.account == p.owner:
		return "verify.you.yes"
	default:
		return "verify.you.no"
	}
}

// nothingIsKnown reports whether both the owner and the stake are unknown.
func (p proof) nothingIsKnown() bool {
	return p.verdict() == unknown && p.stake == unknown
}

// allIsKnown reports whether both the owner and the stake are known. An undetermined stake is not known, although
// some pools were read: it is shown, and /verify can be tried again.
func (p proof) allIsKnown() bool {
	return p.verdict() != unknown && (p.stake == "stake.yes" || p.stake == "stake.no")
}

// verified is what /verify returned, and the services that it asked.
type verified struct {
	w     *commandstest.Answers
	reply *chat.Reply
	err   error
}

// everyProof runs /verify for each combination of an account, an owner and a stake, and calls see with the outcome in a
// subtest.
func everyProof(t *testing.T, see func(*testing.T, proof, verified)) {
	t.Helper()
	for _, account := range []string{"did:x:1", "", failingDID} {
		for _, owner := range []string{"did:x:1", "did:x:2", "did:x:1 ", "DID:X:1", "", failingDID} {
			for stake, change := range stakesByMessage {
				name := fmt.Sprintf("account %q, wallet %q, %s", account, owner, stake)
				t.Run(name, func(t *testing.T) {
					w := commandstest.Healthy()
					w.Options = commands.Options{}
					registered(w, account, owner)
					change(w)
					reply, err := run(t, allCommands(w), "verify", aboutWallet)
					see(t, proof{account, owner, stake}, verified{w, reply, err})
				})
			}
		}
	}
}

func TestVerifySaysWhatIsKnownOfTheWalletAndOfItsStake(t *testing.T) {
	everyProof(t, func(t *testing.T, p proof, got verified) {
		if p.nothingIsKnown() {
			return
		}
		if got.reply.Title.Key != p.verdict() || stakeOf(got.reply) != p.stake {
			t.Errorf("want %s and %s in\n%s", p.verdict(), p.stake, texts(got.reply))
		}
	})
}

// A tick would hide the bad news that the wallet stakes nothing. An unknown stake is not bad news.
func TestVerifyTicksTheSendersWalletUnlessItStakesNothing(t *testing.T) {
	everyProof(t, func(t *testing.T, p proof, got verified) {
		if p.nothingIsKnown() {
			return
		}
		want := chat.Negative
		switch {
		case p.verdict() == unknown:
			want = chat.Warning
		case p.verdict() == "verify.you.yes" && p.stake != "stake.no":
			want = chat.Positive
		}
		if got.reply.Tone != want {
			t.Errorf("tone %d, want %d:\n%s", got.reply.Tone, want, texts(got.reply))
		}
	})
}

func TestVerifyFailsOnlyIfNothingIsKnown(t *testing.T) {
	everyProof(t, func(t *testing.T, p proof, got verified) {
		_, isPartial := errors.AsType[*chat.PartialError](got.err)
		switch {
		case p.nothingIsKnown():
			hasAnswer := got.reply != nil && got.reply.Title.Key != ""
			if got.err == nil || isPartial || hasAnswer {
				t.Errorf("nothing is known, and yet %+v, %v", got.reply, got.err)
			}
		case p.allIsKnown():
			if got.err != nil {
				t.Errorf("all is known, and yet %v", got.err)
			}
		case !isPartial:
			t.Errorf("want a PartialError, got %v", got.err)
		}
	})
}

func TestVerifyNamesNoDID(t *testing.T) {
	everyProof(t, func(t *testing.T, p proof, got verified) {
		if got.err != nil && strings.Contains(strings.ToLower(got.err.Error()), "did:") {
			t.Errorf("a DID in the error %v", got.err)
		}
		if p.nothingIsKnown() {
			return
		}
		if said := texts(got.reply); strings.Contains(strings.ToLower(said), "did:") {
			t.Errorf("a DID in\n%s", said)
		}
	})
}

func TestVerifyOffersToTryAgainIfAPartIsUnknown(t *testing.T) {
	everyProof(t, func(t *testing.T, p proof, got verified) {
		if p.nothingIsKnown() {
			return
		}
		var want []chat.Action
		if !p.allIsKnown() {
			want = []chat.Action{chat.TryAgain("verify", commandstest.Wallet)}
		}
		if !reflect.DeepEqual(got.reply.Actions, want) {
			t.Errorf("the buttons are %+v, want %+v, in\n%s", got.reply.Actions, want, texts(got.reply))
		}
	})
}

func TestVerifyAsksOnceAboutTheAccountTheWalletAndItsStake(t *testing.T) {
	everyProof(t, func(t *testing.T, p proof, got verified) {
		if p.nothingIsKnown() {
			return
		}
		want := map[core.Identity]int{annsAccount: 1, theWallet: 1}
		if got.w.StakesAsked != 1 || !maps.Equal(got.w.AccountsAsked, want) {
			t.Errorf("asked about %d stakes and %v", got.w.StakesAsked, got.w.AccountsAsked)
		}
	})
}

// stakeOf finds the message about the stake in a reply to /verify, and returns its key as in stakesByMessage. The
// message is the Subtitle if the stake is known, a Heading if it could not be read, and otherwise the first sentence in
// a Section.
func stakeOf(r *chat.Reply) string {
	if text, isText := r.Subtitle.(chat.Text); isText {
		return map[string]string{
			"verify.stakes":         "stake.yes",
			"verify.stakes_nothing": "stake.no",
		}[text.Key]
	}
	for _, s := range r.Sections {
		if s.Heading.Key != "" {
			return s.Heading.Key
		}
		for _, f := range s.Fields {
			if text, isText := f.Value.(chat.Text); isText {
				return text.Key
			}
		}
	}
	return ""
}

// Only moderators may know whether somebody else has registered a wallet.
func TestAnothersRegistrationIsNotToldToMembers(t *testing.T) {
	for _, accountErr := range []error{nil, partnerDown} {
		askAbout := func(owner string) string {
			w := commandstest.Healthy()
			w.Accounts[theWallet] = core.Account{DID: owner}
			w.AccountErrs = map[string]error{"Telegram": accountErr}
			reply, _ := run(t, allCommands(w), "verify", aboutWallet)
			return texts(reply)
		}
		nobodys := askAbout("")
		anothers := askAbout("did:x:2")
		if nobodys != anothers {
			t.Errorf("%v: of a wallet that nobody registered %s, of another's %s", accountErr, nobodys, anothers)
		}
	}
}

// Ann's wallet stakes nothing. A moderator can neither register nor stake for somebody else.
func TestOnlyOnesOwnWalletHasANextStep(t *testing.T) {
	w := answersTo(stakesNothing)
	for args, want := range map[string]string{
		commandstest.AnnsWallet:                          "button.stake",
		commandstest.BobsWallet:                          "button.register",
		commandstest.Bob + " " + commandstest.BobsWallet: "",
		commandstest.Bob + " " + commandstest.AnnsWallet: "",
	} {
		reply := commandstest.Ask(t, w.Router(t), "/verify "+args)
		offered := ""
		for _, a := range reply.Actions {
			if a.URL != "" {
				offered += a.Label.Key
			}
		}
		if offered != want {
			t.Errorf("%s: %q is offered, want %q, in\n%s", args, offered, want, texts(reply))
		}
	}
}

// verifyAsModerator returns the reply to Ann, a moderator, who types /verify in a reply to a message of target, or
// without replying if target is nil.
func verifyAsModerator(t *testing.T, target *chat.User, args string) *chat.Reply {
	t.Helper()
	return commandstest.Healthy().Router(t).Handle(t.Context(), &chat.Request{
		Command:   "verify",
		Args:      chat.Typed(strings.Fields(args)...),
		Target:    target,
		From:      ann,
		Role:      chat.Moderator,
		Community: commandstest.Community,
	})
}

func TestVerifyInAReplyIsAboutTheMessagesSender(t *testing.T) {
	anonymous := chat.User{Platform: "telegram"}
	for _, test := range []struct {
		target chat.User
		wallet string
		title  string
	}{
		{bob, commandstest.BobsWallet, "verify.they.yes"},
		{bob, commandstest.AnnsWallet, "verify.they.no"},
		{ann, commandstest.AnnsWallet, "verify.you.yes"},
		{anonymous, commandstest.AnnsWallet, "check.user"},
	} {
		reply := verifyAsModerator(t, &test.target, test.wallet)
		if reply.Title.Key != test.title || reply.Ask != nil {
			t.Errorf("%s, in a reply to %q: %s", test.wallet, test.target.ID, texts(reply))
		}
	}
}

func TestVerifyTakesAPersonBehindTheWallet(t *testing.T) {
	reply := verifyAsModerator(t, nil, commandstest.BobsWallet+" "+commandstest.Bob)
	if reply.Title.Key != "verify.they.yes" || reply.Ask != nil {
		t.Errorf("got %s", texts(reply))
	}
}

// The answer to a question for the wallet would be about Ann, who is asked, and not about Bob.
func TestVerifyOfAPersonAsksForNoWallet(t *testing.T) {
	for name, reply := range map[string]*chat.Reply{
		"by ID":      verifyAsModerator(t, nil, commandstest.Bob),
		"by a reply": verifyAsModerator(t, &bob, ""),
	} {
		if reply.Title.Key != "input.title" || reply.Ask != nil {
			t.Errorf("%s: %s", name, texts(reply))
		}
	}
}

func TestATargetIsShownByTheirDisplayName(t *testing.T) {
	name := "Bob\n@all " + strings.Repeat("b", 100)
	want := chat.Parts{
		chat.Mention{User: bob, Name: chat.NewUntrusted(name, 64)},
		chat.Code(bob.ID),
	}
	for command, args := range map[string]chat.Args{
		"exists": {},
		"verify": chat.Typed(commandstest.BobsWallet),
	} {
		reply := commandstest.Healthy().Router(t).Handle(t.Context(), &chat.Request{
			Command:    command,
			Args:       args,
			From:       ann,
			Role:       chat.Moderator,
			Community:  commandstest.Community,
			Target:     &bob,
			TargetName: name,
		})
		if got := reply.Sections[0].Fields[0].Value; !reflect.DeepEqual(got, chat.Value(want)) {
			t.Errorf("%s: the person is %+v, want %+v", command, got, want)
		}
	}
}

func TestVerifyShowsTheOldestOfItsTimes(t *testing.T) {
	oldest := commandstest.Noon.Add(-time.Minute)
	oldBlock := func(w *commandstest.Answers) { w.Stake.BlockTime = oldest }
	oldAccounts := func(platform string) func(*commandstest.Answers) {
		return func(w *commandstest.Answers) {
			w.AccountsAge = map[string]time.Duration{platform: time.Minute}
		}
	}
	for name, change := range map[string]func(*commandstest.Answers){
		"the account": oldAccounts("Telegram"),
		"the wallet":  oldAccounts("EVM"),
		"the block":   oldBlock,
		"the block, and no account is known": func(w *commandstest.Answers) {
			oldBlock(w)
			w.AccountsErr = partnerDown
		},
	} {
		for _, address := range []string{commandstest.AnnsWallet, commandstest.BobsWallet} {
			reply, _ := run(t, allCommands(answersTo(change)), "verify", map[string]string{"wallet": address})
			if !reply.Checked.Equal(oldest) {
				t.Errorf("the oldest is %s, and the answer about %s is as of %v", name, address, reply.Checked)
			}
		}
	}
}
