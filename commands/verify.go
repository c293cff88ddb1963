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

// The keys of what /verify says begin with one of these.
const (
	yourWallet  = "verify.you"
	theirWallet = "verify.they"
)

func verify(accounts core.Source[core.Identity, core.Account], stakes core.Source[common.Address, core.Stake], options Options) chat.Command {
	about := func(whom func(chat.Request) (core.Identity, error), key string) chat.Run {
		return func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			id, err := whom(req)
			if err != nil {
				return chat.Reply{}, err
			}
			wallet, err := core.ParseWallet(req.Args.Value(walletParam.Name))
			if err != nil {
				return chat.Reply{}, invalid(walletParam, err)
			}
			var o ownership
			var stake core.Snapshot[core.Stake]
			var stakeErr error
			var asking sync.WaitGroup
			asking.Go(func() { o.account, o.accountErr = accounts.Get(ctx, id) })
			asking.Go(func() { o.owner, o.ownerErr = accounts.Get(ctx, core.IdentityOf(wallet)) })
			asking.Go(func() { stake, stakeErr = stakes.Get(ctx, wallet) })
			asking.Wait()

			reply, ownershipErr := o.reply(key, options)
			if ownershipErr != nil && stakeErr != nil {
				return chat.Reply{}, errors.Join(ownershipErr, stakeErr)
			}
			var fields []chat.Field
			if key == theirWallet {
				fields = personFields(id, req)
			}
			fields = append(fields, chat.Field{Name: chat.Say("stake.wallet"), Value: options.address(wallet)})
			_, verdict := stakeVerdict(stake.Value)
			if stakeErr != nil {
				verdict = chat.SayWith("verify.stake_unchecked", chat.Values{"why": Explain(stakeErr)})
			}
			reply.Sections = []chat.Section{{Fields: fields}, {Fields: []chat.Field{{Name: chat.Say("verify.stake"), Value: verdict}}}}
			if stakeErr != nil {
				return reply, &chat.PartialError{Err: stakeErr}
			}
			reply.Sections = append(reply.Sections, stakeSections(stake.Value, options)...)
			reply.Notes = append(reply.Notes, stakeNotes(stake.Value)...)
			if ownershipErr != nil {
				return reply, &chat.PartialError{Err: errors.Join(ownershipErr, partly(stake.Value))}
			}
			return reply, partly(stake.Value)
		}
	}
	return chat.Command{
		Name:             "verify",
		Summary:          chat.Say("command.verify"),
		ModeratorSummary: chat.Say("command.verify.moderators"),
		Visibility:       chat.Private,
		Forms: []chat.Form{
			// First, so that a reply to somebody's message with a wallet is about them.
			{Params: []chat.Param{personParam, walletParam}, Moderators: true, Run: about(target, theirWallet)},
			{Params: []chat.Param{walletParam}, Run: about(sender, yourWallet)},
		},
	}
}

// ownership is what is known of a person's account and of a wallet's owner.
type ownership struct {
	account, owner       core.Snapshot[core.Account]
	accountErr, ownerErr error
}

// reply says whether the wallet belongs to the person. With an error it says that
// nobody knows.
func (o ownership) reply(key string, options Options) (chat.Reply, error) {
	verdict := func(tone chat.Tone, title, why string, at time.Time) (chat.Reply, error) {
		text := chat.SayWith(key+why, chat.Values{"service": options.service()})
		return chat.Reply{Tone: tone, Title: chat.Say(key + title), Text: text, Notes: []chat.Text{checked(at)}}, nil
	}
	older := o.account.At
	if o.owner.At.Before(older) {
		older = o.owner.At
	}
	switch failed := cmp.Or(o.accountErr, o.ownerErr); {
	case o.accountErr == nil && !o.account.Value.Registered():
		return verdict(chat.Negative, ".no", ".unregistered", o.account.At)
	case o.ownerErr == nil && !o.owner.Value.Registered() && key == theirWallet:
		// Only a moderator learns whether somebody else registered the wallet.
		return verdict(chat.Negative, ".no", ".nobody", o.owner.At)
	case failed != nil:
		return chat.Reply{Tone: chat.Warning, Title: chat.Say("verify.unknown"), Text: Explain(failed)}, failed
	case o.account.Value.DID != o.owner.Value.DID:
		return verdict(chat.Negative, ".no", ".another", older)
	}
	return verdict(chat.Positive, ".yes", ".same", older)
}
