package commands

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

func verify(accounts core.Source[core.Identity, core.Account], stakes core.Source[common.Address, core.Stake], look Options) chat.Command {
	// of answers about whoever whom finds.
	of := func(whom func(chat.Request) (core.Identity, error), say ownershipTexts) chat.Run {
		return func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			id, err := whom(req)
			if err != nil {
				return chat.Reply{}, err
			}
			wallet, err := core.ParseWallet(req.Args.Value(walletParam.Name))
			if err != nil {
				return chat.Reply{}, invalid(walletParam, err)
			}
			c := walletCheck{wallet: wallet, look: look}
			var asked sync.WaitGroup
			asked.Go(func() { c.account, c.accountErr = accounts.Get(ctx, id) })
			asked.Go(func() { c.owner, c.ownerErr = accounts.Get(ctx, core.IdentityOf(wallet)) })
			asked.Go(func() { c.stake, c.stakeErr = stakes.Get(ctx, wallet) })
			asked.Wait()
			var person []chat.Field
			if say == theirs {
				person = personFields(id, req)
			}
			return c.reply(say, person)
		}
	}
	return chat.Command{
		Name:             "verify",
		Summary:          chat.Say("command.verify"),
		ModeratorSummary: chat.Say("command.verify.moderators"),
		Visibility:       chat.Private,
		Forms: []chat.Form{
			// First, so that a reply to somebody's message with a wallet is about them.
			{Params: []chat.Param{personParam, walletParam}, Moderators: true, Run: of(target, theirs)},
			{Params: []chat.Param{walletParam}, Run: of(sender, yours)},
		},
	}
}

// ownershipTexts is the key before those of what is said of whose a wallet is.
type ownershipTexts string

const (
	yours  ownershipTexts = "verify.you"
	theirs ownershipTexts = "verify.they"
)

// walletCheck is what is known of an account and a wallet.
type walletCheck struct {
	wallet common.Address
	look   Options

	account, owner       core.Snapshot[core.Account]
	accountErr, ownerErr error
	stake                core.Snapshot[core.Stake]
	stakeErr             error
}

// reply is what is known, with a PartialError if that is not all. It fails if
// nothing is.
func (c *walletCheck) reply(say ownershipTexts, person []chat.Field) (chat.Reply, error) {
	reply, unknown := c.ownership(say)
	if unknown != nil && c.stakeErr != nil {
		return chat.Reply{}, errors.Join(unknown, c.stakeErr)
	}
	wallet := chat.Field{Name: chat.Say("stake.wallet"), Value: c.look.address(c.wallet)}
	reply.Sections = []chat.Section{{Fields: append(person, wallet)}}

	stake := chat.Field{Name: chat.Say("verify.stake")}
	if c.stakeErr != nil {
		stake.Value = chat.SayWith("verify.stake_unchecked", chat.Values{"why": Explain(c.stakeErr)})
		reply.Sections = append(reply.Sections, chat.Section{Fields: []chat.Field{stake}})
		return reply, &chat.PartialError{Err: c.stakeErr}
	}
	s := c.stake.Value
	switch s.Outcome() {
	case core.Staker:
		stake.Value = chat.Say("stake.yes")
	case core.NotStaker:
		stake.Value = chat.Say("stake.no")
	case core.Undetermined:
		stake.Value = undetermined(s)
	}
	reply.Sections = append(reply.Sections, chat.Section{Fields: []chat.Field{stake}})
	reply.Sections = append(reply.Sections, stakeSections(s, c.look)...)
	reply.Notes = append(reply.Notes, stakeNotes(s)...)
	if unknown != nil {
		return reply, &chat.PartialError{Err: errors.Join(unknown, partly(s))}
	}
	return reply, partly(s)
}

// ownership says whether the wallet is registered for the account's person. An
// error beside the reply means that nobody can say.
func (c *walletCheck) ownership(say ownershipTexts) (chat.Reply, error) {
	verdict := func(tone chat.Tone, title, why string, at time.Time) (chat.Reply, error) {
		return chat.Reply{
			Tone: tone, Title: chat.Say(string(say) + title), Text: chat.SayWith(string(say)+why, chat.Values{"service": c.look.service()}),
			Notes: []chat.Text{checked(at)},
		}, nil
	}
	older := c.account.At
	if c.owner.At.Before(older) {
		older = c.owner.At
	}
	switch failed := cmp.Or(c.accountErr, c.ownerErr); {
	case c.accountErr == nil && !c.account.Value.Registered():
		return verdict(chat.Negative, ".no", ".unregistered", c.account.At)
	case c.ownerErr == nil && !c.owner.Value.Registered() && say == theirs:
		// An asker about themself does not learn whether somebody else registered it.
		return verdict(chat.Negative, ".no", ".nobody", c.owner.At)
	case failed != nil:
		return chat.Reply{Tone: chat.Warning, Title: chat.Say("verify.unknown"), Text: Explain(failed)}, failed
	case c.account.Value.DID != c.owner.Value.DID:
		return verdict(chat.Negative, ".no", ".another", older)
	}
	return verdict(chat.Positive, ".yes", ".same", older)
}
