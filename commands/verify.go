package commands

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// The keys of what /verify says begin with one of these.
const (
	yourWallet  = "verify.you"
	theirWallet = "verify.they"
)

// verifyCommand answers /verify.
type verifyCommand struct {
	Sources
	Options
}

func verify(from Sources, options Options) chat.Command {
	c := verifyCommand{from, options}
	return chat.Command{
		Name:             "verify",
		Summary:          chat.Say("command.verify"),
		ModeratorSummary: chat.Say("command.verify.moderators"),
		Visibility:       chat.Private,
		Forms: []chat.Form{
			// First, so that a reply to somebody's message with a wallet is about them.
			{Params: []chat.Param{personParam, walletParam}, Moderators: true, Run: c.theirs},
			{Params: []chat.Param{walletParam}, Run: c.own},
		},
	}
}

func (c verifyCommand) own(ctx context.Context, req chat.Request) (chat.Reply, error) {
	return c.answer(ctx, req, sender, yourWallet)
}

func (c verifyCommand) theirs(ctx context.Context, req chat.Request) (chat.Reply, error) {
	return c.answer(ctx, req, target, theirWallet)
}

// answer says whether the wallet belongs to the person that whom returns, and what the
// wallet stakes. key is yourWallet or theirWallet. With a PartialError one of the two is
// missing.
func (c verifyCommand) answer(ctx context.Context, req chat.Request, whom subject, key string) (chat.Reply, error) {
	id, err := whom(req)
	if err != nil {
		return chat.Reply{}, err
	}
	wallet, err := parseWallet(req)
	if err != nil {
		return chat.Reply{}, err
	}
	var account, owner core.Answer[core.Account]
	var asking sync.WaitGroup
	asking.Go(func() { account, owner = core.Both(ctx, c.Accounts, id, c.Accounts, core.IdentityOf(wallet)) })
	stake, quote := c.stakeAndPrice(ctx, wallet)
	asking.Wait()

	reply, ownershipErr := c.ownership(account, owner, key)
	if ownershipErr != nil && stake.Err != nil {
		return chat.Reply{}, errors.Join(ownershipErr, stake.Err)
	}
	if key == theirWallet {
		reply.Sections = []chat.Section{{Fields: []chat.Field{personField(id, req)}}}
	} else if ownershipErr != nil || stake.Err != nil || stake.Value.Outcome() == core.Undetermined {
		reply.Actions = append(reply.Actions, chat.TryAgain("verify", wallet.Hex()))
	}
	return reply, partly(errors.Join(ownershipErr, c.addStake(&reply, wallet, stake, quote)))
}

// ownership says whether owner, who registered the wallet, is the account. It returns an
// error if that is not known, and then says so.
func (c verifyCommand) ownership(account, owner core.Answer[core.Account], key string) (chat.Reply, error) {
	tone, title, why, at := chat.Negative, ".no", ".another", core.Earlier(account.At, owner.At)
	switch failed := cmp.Or(account.Err, owner.Err); {
	case account.Err == nil && !account.Value.Registered():
		title, why, at = ".new", ".unregistered", account.At
	case failed != nil:
		return chat.Reply{
			Tone: chat.Warning, Title: chat.NoAnswer("verify"), Text: chat.Say("verify.unknown"), Notes: []chat.Text{Explain(failed)},
		}, failed
	case !owner.Value.Registered() && key == theirWallet:
		// Only a moderator learns whether somebody else registered the wallet.
		why = ".nobody"
	case account.Value.DID == owner.Value.DID:
		tone, title, why = chat.Positive, ".yes", ".same"
	}
	text := chat.SayWith(key+why, chat.Values{"service": c.service()})
	reply := chat.Reply{Tone: tone, Title: chat.Say(key + title), Text: text, Checked: at}
	if tone == chat.Negative && key == yourWallet {
		reply.Actions = link("button.register", c.RegisterURL)
	}
	return reply, nil
}

// addStake adds what the wallet stakes to a reply about its owner. It returns an error if
// the stake is not known, or not in full.
func (c verifyCommand) addStake(reply *chat.Reply, wallet common.Address, stake core.Answer[core.Stake], price core.Snapshot[core.Quote]) error {
	if stake.Err != nil {
		reply.Sections = append(reply.Sections, chat.Section{Heading: chat.NoAnswer("staked")})
		reply.FullValues, reply.Notes = fullFields(wallet, core.Stake{}, c.Options), append(reply.Notes, Explain(stake.Err))
		return stake.Err
	}
	s := stake.Value
	tone, verdict := stakeVerdict(s, c.Options)
	if worth := worthText(s, price.Value); worth != nil {
		verdict = chat.SayWith("verify.stake", chat.Values{"stake": verdict, "worth": worth})
	}
	reply.Sections = append(reply.Sections, chat.Section{Heading: verdict, Fields: withdrawalFields(s, c.Options)})
	reply.FullValues = fullFields(wallet, s, c.Options)
	reply.Notes, reply.Footer = append(reply.Notes, stakeNotes(s)...), stakeFooter(s)
	if at := cmp.Or(s.BlockTime, stake.At); reply.Checked.IsZero() || at.Before(reply.Checked) {
		reply.Checked = at
	}
	if reply.Tone == chat.Positive && tone == chat.Negative {
		reply.Actions = link("button.stake", c.StakeURL)
	}
	return s.Err()
}
