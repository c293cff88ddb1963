package commands_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
)

var (
	errInner = errors.New("inner")
	// down is the failure of the service that knows accounts.
	down = partner.Service.Fail(core.Unreachable, errInner)

	telegram = core.Identity{Platform: "Telegram", UID: commandstest.Ann}
	wallet   = core.IdentityOf(common.HexToAddress(commandstest.Wallet))
	// aboutWallet are the arguments of /verify about oneself.
	aboutWallet = map[string]string{"wallet": commandstest.Wallet}
)

func unreadPool() []core.UnreadPool {
	return []core.UnreadPool{{Pool: core.Pool{Address: common.Address{5}}, Err: staking.Service.Fail(core.SlowAnswer, errInner)}}
}

// TestVerifyHasThreeAnswersInBothParts has every combination of what is known of
// the account, of the wallet and of its stake. A DID that is spelled otherwise is
// another.
func TestVerifyHasThreeAnswersInBothParts(t *testing.T) {
	const failing = "failing"
	stakes := map[string]func(*commandstest.Answers){
		"stake.yes":          func(*commandstest.Answers) {},
		"stake.no":           func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} },
		"stake.undetermined": func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 20, Failed: unreadPool()} },
		"unchecked.title":    func(w *commandstest.Answers) { w.StakeErr = staking.Service.Fail(core.SlowAnswer, errInner) },
	}
	for _, account := range []string{"did:x:1", "", failing} {
		for _, owner := range []string{"did:x:1", "did:x:2", "did:x:1 ", "DID:X:1", "", failing} {
			for stake, change := range stakes {
				w := commandstest.Healthy()
				w.AccountErrs, w.Options = map[string]error{}, commands.Options{}
				for id, did := range map[core.Identity]string{telegram: account, wallet: owner} {
					w.Accounts[id] = core.Account{DID: did}
					if did == failing {
						w.AccountErrs[id.Platform] = down
					}
				}
				change(w)
				reply, err := run(w, t, "verify", 1, aboutWallet)
				if reply == nil {
					reply = &chat.Reply{}
				}
				verdict, tone := "verify.you.no", chat.Negative
				switch {
				case account == "":
					verdict = "verify.you.new"
				case account == failing || owner == failing:
					verdict, tone = "unchecked.title", chat.Warning
				case account == owner:
					verdict, tone = "verify.you.yes", chat.Positive
				}
				if tone == chat.Positive && stake == "stake.no" { // A tick would promise more.
					tone = chat.Negative
				}
				said := texts(reply)
				switch partial, isPartial := errors.AsType[*chat.PartialError](err); {
				case verdict == stake:
					if err == nil || isPartial || reply.Title.Key != "" {
						t.Errorf("account %q, wallet %q, %s: nothing is known, and yet %s, %v", account, owner, stake, said, err)
					}
					continue
				case isPartial == (verdict != "unchecked.title" && (stake == "stake.yes" || stake == "stake.no")),
					isPartial && strings.Contains(partial.Error(), "did:"):
					t.Errorf("account %q, wallet %q, %s: %v", account, owner, stake, err)
				}
				if reply.Title.Key != verdict || reply.Tone != tone || stakeOf(reply) != stake {
					t.Errorf("account %q, wallet %q, %s: got\n%s", account, owner, stake, said)
				}
				if w.StakesAsked != 1 || w.AccountsAsked[telegram] != 1 || w.AccountsAsked[wallet] != 1 || len(w.AccountsAsked) != 2 {
					t.Errorf("account %q, wallet %q: asked about %d stakes and %v", account, owner, w.StakesAsked, w.AccountsAsked)
				}
				again := strings.Contains(said, "[ Try again ] 1 e 0 verify "+commandstest.Wallet)
				if known := err == nil; strings.Contains(strings.ToLower(said), "did:") || again == known || (len(reply.Actions) > 0) != again {
					t.Errorf("account %q, wallet %q, %s: a DID or a wrong button in\n%s", account, owner, stake, said)
				}
			}
		}
	}
}

// stakeOf is the key of what /staked would say of the stake in a reply to /verify.
func stakeOf(r *chat.Reply) string {
	if said, is := r.Subtitle.(chat.Text); is {
		return map[string]string{"verify.stakes": "stake.yes", "verify.stakes_nothing": "stake.no"}[said.Key]
	}
	for _, s := range r.Sections {
		if s.Heading.Key != "" {
			return s.Heading.Key
		}
		for _, f := range s.Fields {
			if said, is := f.Value.(chat.Text); is {
				return said.Key
			}
		}
	}
	return ""
}

// Whether somebody else registered a wallet is for moderators to know.
func TestAnothersRegistrationIsNotToldToMembers(t *testing.T) {
	for _, accountErr := range []error{nil, down} {
		var said []string
		for _, owner := range []string{"", "did:x:2"} {
			w := commandstest.Healthy()
			w.Accounts[wallet], w.AccountErrs = core.Account{DID: owner}, map[string]error{"Telegram": accountErr}
			reply, _ := run(w, t, "verify", 1, aboutWallet)
			said = append(said, texts(reply))
		}
		if said[0] != said[1] {
			t.Errorf("%v: of a wallet that nobody registered %s, of another's %s", accountErr, said[0], said[1])
		}
	}
}

// A moderator can neither register nor stake for somebody else.
func TestOnlyOnesOwnWalletHasANextStep(t *testing.T) {
	w := commandstest.Healthy()
	w.Stake = core.Stake{Checked: 21}
	for typed, want := range map[string]string{
		commandstest.AnnsWallet: "button.stake", commandstest.BobsWallet: "button.register",
		commandstest.Bob + " " + commandstest.BobsWallet: "", commandstest.Bob + " " + commandstest.AnnsWallet: "",
	} {
		reply := w.Router(t).Handle(t.Context(), &chat.Request{
			Command: "verify", Args: chat.Typed(strings.Fields(typed)...), From: chat.User{Platform: "telegram", ID: commandstest.Ann},
			Role: chat.Moderator, Community: commandstest.Community,
		})
		got := ""
		for _, b := range reply.Actions {
			if b.URL != "" {
				got += b.Label.Key
			}
		}
		if got != want {
			t.Errorf("%s: %q is offered, want %q, in\n%s", typed, got, want, texts(reply))
		}
	}
}

func TestVerifyInAReplyIsAboutTheMessagesSender(t *testing.T) {
	bob, ann := &chat.User{Platform: "telegram", ID: commandstest.Bob}, &chat.User{Platform: "telegram", ID: commandstest.Ann}
	for name, test := range map[string]struct {
		target        *chat.User
		wallet, title string
	}{
		"Bob's wallet, to Bob":  {bob, commandstest.BobsWallet, "verify.they.yes"},
		"Ann's wallet, to Bob":  {bob, commandstest.AnnsWallet, "verify.they.no"},
		"Ann's wallet, to Ann":  {ann, commandstest.AnnsWallet, "verify.you.yes"},
		"to somebody anonymous": {&chat.User{Platform: "telegram"}, commandstest.AnnsWallet, "check.user"},
		"his wallet, then Bob":  {nil, commandstest.BobsWallet + " " + commandstest.Bob, "verify.they.yes"},
		"Bob alone":             {nil, commandstest.Bob, "input.title"},
		// The answer to a question would be about Ann.
		"no wallet, to Bob": {bob, "", "input.title"},
	} {
		reply := commandstest.Healthy().Router(t).Handle(t.Context(), &chat.Request{
			Command: "verify", Args: chat.Typed(strings.Fields(test.wallet)...), Target: test.target,
			From: *ann, Role: chat.Moderator, Community: commandstest.Community,
		})
		if reply.Title.Key != test.title || reply.Ask != nil {
			t.Errorf("%s: %s", name, texts(reply))
		}
	}
}

func TestATargetIsShownByTheirDisplayName(t *testing.T) {
	bob := chat.User{Platform: "telegram", ID: commandstest.Bob}
	req := &chat.Request{
		From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Role: chat.Moderator, Community: commandstest.Community,
		Target: &bob, TargetName: "Bob\n@all " + strings.Repeat("b", 100),
	}
	want := chat.Parts{chat.Mention{User: bob, Name: chat.NewUntrusted(req.TargetName, 64)}, chat.Code(bob.ID)}
	for _, line := range []string{"exists", "verify " + commandstest.BobsWallet} {
		words := strings.Fields(line)
		req.Command, req.Args = words[0], chat.Typed(words[1:]...)
		reply := commandstest.Healthy().Router(t).Handle(t.Context(), req)
		if got := reply.Sections[0].Fields[0].Value; !reflect.DeepEqual(got, chat.Value(want)) {
			t.Errorf("%s: the person is %+v, want %+v", line, got, want)
		}
	}
}

func TestVerifySaysTheOldestOfItsTimes(t *testing.T) {
	want := commandstest.Noon.Add(-time.Minute)
	for _, oldest := range []string{"Telegram", "EVM", "block", "block alone"} {
		for _, address := range []string{commandstest.AnnsWallet, commandstest.BobsWallet} {
			w := commandstest.Healthy()
			w.AccountsAge = map[string]time.Duration{oldest: time.Minute}
			if strings.HasPrefix(oldest, "block") {
				w.Stake.BlockTime = want
			}
			if oldest == "block alone" {
				w.AccountsErr = down
			}
			reply, _ := run(w, t, "verify", 1, map[string]string{"wallet": address})
			if !reply.Checked.Equal(want) {
				t.Errorf("the oldest time is %s's, and the answer about %s says %v", oldest, address, reply.Checked)
			}
		}
	}
}

// A price of another time tells nothing of today's worth, a service that hangs costs a
// second at most, and nobody pays for a price that is not shown.
func TestAStakesWorthIsToldAtTodaysPriceAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*commandstest.Answers)
		after  time.Duration
		took   time.Duration
		asked  int
		worth  bool
	}{
		"today's":             {change: func(*commandstest.Answers) {}, asked: 1, worth: true},
		"slow":                {change: func(*commandstest.Answers) {}, after: 900 * time.Millisecond, took: 900 * time.Millisecond, asked: 1, worth: true},
		"hangs":               {change: func(*commandstest.Answers) {}, after: time.Hour, took: time.Second, asked: 1},
		"a silent provider's": {change: func(w *commandstest.Answers) { w.Price.Stale = true }, asked: 1, worth: true},
		"ten minutes old": {change: func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.Value.LastUpdated = true, time.Now().Add(-10*time.Minute)
		}, asked: 1},
		"old at the provider":  {change: func(w *commandstest.Answers) { w.Price.Value.CurrentUntil = time.Now() }, asked: 1},
		"fails":                {change: func(w *commandstest.Answers) { w.PriceErr = market.Service.Fail(core.Limited, errInner) }, asked: 1},
		"of part of the pools": {change: func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() }, asked: 1, worth: true},
		"of no stake":          {change: func(w *commandstest.Answers) { w.Stake.Staked = nil }, after: time.Hour},
		"of an unknown stake":  {change: func(w *commandstest.Answers) { w.StakeErr = staking.Service.Fail(core.Limited, errInner) }, after: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := commandstest.Healthy()
			test.change(w)
			from := w.Sources()
			price := &commandstest.Late[*core.Quote]{Source: from.Price, After: test.after}
			from.Price = price
			c, _ := commands.All(from, w.Options).Find("staked")
			began := time.Now()
			reply, _ := c.Forms[0].Run(t.Context(), &chat.Request{Args: chat.Named(aboutWallet), From: chat.User{Platform: "telegram", ID: commandstest.Ann}})
			if took := time.Since(began); took != test.took || price.Asked != test.asked || strings.Contains(texts(reply), "≈\u00a0$15,242") != test.worth {
				t.Errorf("%s: asked for the price %d times, after %v:\n%s", name, price.Asked, took, texts(reply))
			}
		})
	}
}
