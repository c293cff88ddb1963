package commands_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/partner"
	"herald/internal/staking"
)

var errInner = errors.New("inner")

func unreadPool() []core.UnreadPool {
	return []core.UnreadPool{{Pool: core.Pool{Address: common.Address{5}}, Err: staking.Service.Fail(core.Rejected, errInner)}}
}

// TestVerifyHasThreeAnswersInBothParts has every combination of what is known of
// the account, of the wallet and of its stake.
func TestVerifyHasThreeAnswersInBothParts(t *testing.T) {
	down := partner.Service.Fail(core.Unreachable, errInner)
	accounts := map[string]func(*commandstest.World){
		"hers":         func(w *commandstest.World) { w.Accounts[telegram] = core.Account{DID: "did:x:1"} },
		"unregistered": func(w *commandstest.World) { delete(w.Accounts, telegram) },
		"failing":      func(w *commandstest.World) { w.AccountErrs = map[string]error{"Telegram": down} },
	}
	wallets := map[string]func(*commandstest.World){
		"hers":              func(w *commandstest.World) { w.Accounts[wallet] = core.Account{DID: "did:x:1"} },
		"another's":         func(w *commandstest.World) { w.Accounts[wallet] = core.Account{DID: "did:x:2"} },
		"spelled otherwise": func(w *commandstest.World) { w.Accounts[wallet] = core.Account{DID: "did:x:1 "} },
		"in another case":   func(w *commandstest.World) { w.Accounts[wallet] = core.Account{DID: "DID:X:1"} },
		"unregistered":      func(w *commandstest.World) { delete(w.Accounts, wallet) },
		"failing": func(w *commandstest.World) {
			if w.AccountErrs == nil {
				w.AccountErrs = map[string]error{}
			}
			w.AccountErrs["EVM"] = down
		},
	}
	stakes := map[string]func(*commandstest.World){
		"staked":       func(*commandstest.World) {},
		"not staked":   func(w *commandstest.World) { w.Stake = core.Stake{Checked: 21} },
		"undetermined": func(w *commandstest.World) { w.Stake = core.Stake{Checked: 20, Failed: unreadPool()} },
		"failing":      func(w *commandstest.World) { w.StakeErr = staking.Service.Fail(core.SlowAnswer, errInner) },
	}
	owns := func(account, wallet string) (verdict string, tone chat.Tone) {
		switch {
		case account == "unregistered":
			return "verify.you.no", chat.Negative
		case account == "failing" || wallet == "failing":
			return "verify.unknown", chat.Warning
		case wallet == "hers":
			return "verify.you.yes", chat.Positive
		}
		return "verify.you.no", chat.Negative
	}
	stakeKeys := map[string]string{
		"staked": "stake.yes", "not staked": "stake.no", "undetermined": "stake.undetermined", "failing": "verify.stake_unchecked",
	}
	for account, changeAccount := range accounts {
		for owner, changeWallet := range wallets {
			for stake, changeStake := range stakes {
				name := "account " + account + ", wallet " + owner + ", " + stake
				w := commandstest.Healthy()
				changeAccount(w)
				changeWallet(w)
				changeStake(w)
				command, _ := w.Router(t).Commands().Find("verify")
				reply, err := command.Forms[1].Run(t.Context(), chat.Request{
					From: chat.User{Platform: "telegram", ID: commandstest.Ann},
					Args: chat.Named(map[string]string{"wallet": commandstest.Wallet}),
				})
				verdict, tone := owns(account, owner)
				if verdict == "verify.unknown" && stake == "failing" {
					if err == nil || reply.Title.Key != "" {
						t.Errorf("%s: nothing is known, and yet %s, %v", name, texts(reply), err)
					}
					continue
				}
				if reply.Title.Key != verdict || reply.Tone != tone {
					t.Errorf("%s: %s in tone %d, want %s in %d", name, reply.Title.Key, reply.Tone, verdict, tone)
				}
				if got := stakeOf(reply); got != stakeKeys[stake] {
					t.Errorf("%s: the stake is %q, want %s", name, got, stakeKeys[stake])
				}
				var partial *chat.PartialError
				whole := verdict != "verify.unknown" && stake != "failing" && stake != "undetermined"
				if whole != (err == nil) || err != nil && !errors.As(err, &partial) {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil && strings.Contains(err.Error(), "did:") {
					t.Errorf("%s: a DID in %v", name, err)
				}
				if w.StakesAsked != 1 || w.AccountsAsked[telegram] != 1 || w.AccountsAsked[wallet] != 1 || len(w.AccountsAsked) != 2 {
					t.Errorf("%s: asked about %d stakes and %v", name, w.StakesAsked, w.AccountsAsked)
				}
				if strings.Contains(texts(reply), "did:") || len(reply.Actions) > 0 {
					t.Errorf("%s: a DID or a button in %s", name, texts(reply))
				}
			}
		}
	}
}

// Whether somebody else registered a wallet is for moderators to know.
func TestAMemberDoesNotLearnWhetherAnothersWalletIsRegistered(t *testing.T) {
	down := map[string]error{"Telegram": partner.Service.Fail(core.Unreachable, errInner)}
	for name, accountErrs := range map[string]map[string]error{"all is well": nil, "the account cannot be checked": down} {
		var said []string
		for _, owner := range []string{"", "did:x:2"} {
			w := commandstest.Healthy()
			w.Accounts[wallet], w.AccountErrs = core.Account{DID: owner}, accountErrs
			command, _ := w.Router(t).Commands().Find("verify")
			reply, _ := command.Forms[1].Run(t.Context(), chat.Request{
				From: chat.User{Platform: "telegram", ID: commandstest.Ann},
				Args: chat.Named(map[string]string{"wallet": commandstest.Wallet}),
			})
			said = append(said, texts(reply))
		}
		if said[0] != said[1] {
			t.Errorf("%s: of a wallet that nobody registered %s, of another's %s", name, said[0], said[1])
		}
	}
}

var (
	telegram = core.Identity{Platform: "Telegram", UID: commandstest.Ann}
	wallet   = core.IdentityOf(common.HexToAddress(commandstest.Wallet))
)

// stakeOf is the key of what a reply to /verify says of the stake.
func stakeOf(r chat.Reply) string {
	for _, s := range r.Sections {
		for _, f := range s.Fields {
			if f.Name != nil && keyOf(f.Name) == "verify.stake" {
				return keyOf(f.Value)
			}
		}
	}
	return ""
}

func keyOf(v chat.Value) string {
	text, _ := v.(chat.Text)
	return text.Key
}

func TestAReplyToAMessageWithAWalletIsAboutItsSender(t *testing.T) {
	w := commandstest.Healthy()
	ask := func(target *chat.User, args ...string) chat.Reply {
		return w.Router(t).Handle(t.Context(), chat.Request{
			Command: "verify", Args: chat.Typed(args...), Target: target,
			From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Role: chat.Moderator, Community: commandstest.Community,
		})
	}
	bob, ann := &chat.User{Platform: "telegram", ID: commandstest.Bob}, &chat.User{Platform: "telegram", ID: commandstest.Ann}
	for name, test := range map[string]struct {
		reply chat.Reply
		title string
	}{
		"Bob's wallet, to Bob":    {ask(bob, commandstest.BobsWallet), "verify.they.yes"},
		"Ann's wallet, to Bob":    {ask(bob, commandstest.AnnsWallet), "verify.they.no"},
		"Ann's wallet, to nobody": {ask(nil, commandstest.AnnsWallet), "verify.you.yes"},
		"Ann's wallet, to Ann":    {ask(ann, commandstest.AnnsWallet), "verify.you.yes"},
	} {
		if test.reply.Title.Key != test.title {
			t.Errorf("%s: %s", name, texts(test.reply))
		}
	}
	// The answer to a question would be about Ann.
	if reply := ask(bob); reply.Ask != nil || !reply.ToAsker {
		t.Errorf("without a wallet: %s", texts(reply))
	}
	if reply := ask(nil); reply.Ask == nil || reply.Ask.Param != "wallet" {
		t.Errorf("without a wallet: %s", texts(reply))
	}
}

// slow is a core.Source that takes a second.
type slow[K, V any] struct{ core.Source[K, V] }

func (s slow[K, V]) Get(ctx context.Context, key K) (core.Snapshot[V], error) {
	time.Sleep(time.Second)
	return s.Source.Get(ctx, key)
}

func TestVerifyAsksForBothPartsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := commandstest.Healthy().Sources()
		from.Accounts, from.Stakes = slow[core.Identity, core.Account]{from.Accounts}, slow[common.Address, core.Stake]{from.Stakes}
		command, _ := commands.All(from, commands.Look{Symbol: "TKN"}).Find("verify")
		start := time.Now()
		_, err := command.Forms[1].Run(t.Context(), chat.Request{
			From: chat.User{Platform: "telegram", ID: commandstest.Ann},
			Args: chat.Named(map[string]string{"wallet": commandstest.AnnsWallet}),
		})
		if took := time.Since(start); err != nil || took != time.Second {
			t.Errorf("took %v, %v", took, err)
		}
	})
}

func TestAModeratorIsToldWhomAndWhereTheyAskedAbout(t *testing.T) {
	r := commandstest.Healthy().Router(t)
	values := func(line string) (all []chat.Value) {
		for _, s := range commandstest.Ask(t, r, line).Sections {
			for _, f := range s.Fields {
				all = append(all, f.Value)
			}
		}
		return all
	}
	bob := chat.Mention{User: chat.User{Platform: "telegram", ID: commandstest.Bob}}
	asked := chat.Channel{ID: commandstest.Community, Title: "Token *talk*"}
	for _, line := range []string{"/exists 12345", "/exists Telegram 12345", "/verify 12345 " + commandstest.BobsWallet} {
		if got := values(line); !slices.Contains(got, chat.Value(bob)) || !slices.Contains(got, chat.Value(chat.Code(commandstest.Bob))) || !slices.Contains(got, chat.Value(asked)) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	// Nobody knows the name of an ID that was typed.
	req := chat.Request{
		Args: chat.Typed(), From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Role: chat.Moderator,
		Chat: commandstest.Community, Community: commandstest.Community,
		Target: &bob.User, TargetName: "Bob\n@all " + strings.Repeat("b", 100),
	}
	named := chat.Mention{User: bob.User, Name: chat.NewForeign(req.TargetName, 64)}
	for command, args := range map[string]chat.Args{"exists": chat.Typed(), "verify": chat.Typed(commandstest.BobsWallet)} {
		req.Command, req.Args = command, args
		person := r.Handle(t.Context(), req).Sections[0].Fields[0].Value
		if person != chat.Value(named) || len([]rune(strings.ReplaceAll(string(named.Name), "\u2060", ""))) != 64 {
			t.Errorf("%s: the person is %+v, want %+v", command, person, named)
		}
	}
	// A Discord user cannot be mentioned in Telegram.
	for _, v := range values("/exists discord 5") {
		if _, mentioned := v.(chat.Mention); mentioned {
			t.Errorf("mentioned: %+v", v)
		}
	}
	for _, line := range []string{"/exists", "/verify " + commandstest.AnnsWallet} {
		for _, v := range values(line) {
			if _, mentioned := v.(chat.Mention); mentioned || v == chat.Value(asked) {
				t.Errorf("%s: an own answer names %+v", line, v)
			}
		}
	}
}
