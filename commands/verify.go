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
			var both core.Joined[core.Account, core.Account]
			var asking sync.WaitGroup
			asking.Go(func() { both = core.Join(ctx, accounts, id, accounts, core.IdentityOf(wallet)) })
			stake, stakeErr := stakes.Get(ctx, wallet)
			asking.Wait()

			reply, ownershipErr := ownership(both, key, options)
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

// ownership says whether the wallet, B, belongs to the person, A. With an error it
// says that nobody knows.
func ownership(both core.Joined[core.Account, core.Account], key string, options Options) (chat.Reply, error) {
	tone, title, why, at := chat.Negative, ".no", ".another", both.Checked()
	switch failed := cmp.Or(both.ErrA, both.ErrB); {
	case both.ErrA == nil && !both.A.Value.Registered():
		why, at = ".unregistered", both.A.At
	case both.ErrB == nil && !both.B.Value.Registered() && key == theirWallet:
		// Only a moderator learns whether somebody else registered the wallet.
		why, at = ".nobody", both.B.At
	case failed != nil:
		return chat.Reply{Tone: chat.Warning, Title: chat.Say("verify.unknown"), Text: Explain(failed)}, failed
	case both.A.Value.DID == both.B.Value.DID:
		tone, title, why = chat.Positive, ".yes", ".same"
	}
	text := chat.SayWith(key+why, chat.Values{"service": options.service()})
	return chat.Reply{Tone: tone, Title: chat.Say(key + title), Text: text, Notes: []chat.Text{checked(at)}}, nil
}
