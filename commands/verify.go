package commands

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// The keys of what /verify says begin with one of these.
const (
	yourWallet  = "verify.you"
	theirWallet = "verify.they"
)

func verify(from Sources, options Options) chat.Command {
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
			asking.Go(func() { both = core.Join(ctx, from.Accounts, id, from.Accounts, core.IdentityOf(wallet)) })
			stake := from.stakeAndPrice(ctx, wallet)
			asking.Wait()

			reply, ownershipErr := ownership(both, key, options)
			if ownershipErr != nil && stake.ErrA != nil {
				return chat.Reply{}, errors.Join(ownershipErr, stake.ErrA)
			}
			var fields []chat.Field
			if key == theirWallet {
				fields = append(fields, personField(id, req))
			}
			if stake.ErrA != nil {
				reply.Sections = []chat.Section{{Fields: append(fields, chat.Field{Value: chat.Say("verify.stake_unchecked")})}}
				reply.Exact, reply.Notes = exactFields(wallet, decimal.Zero, options), []chat.Text{Explain(stake.ErrA)}
				return reply, &chat.PartialError{Err: stake.ErrA}
			}
			s := stake.A.Value
			tone, verdict := stakeVerdict(s, options)
			reply.Sections = []chat.Section{
				{Fields: append(fields, chat.Field{Value: chat.Parts{verdict, worthText(s, stake.B.Value)}})},
				{Fields: unstakingFields(s, options)},
			}
			reply.Exact, reply.Notes = exactFields(wallet, s.Total(), options), stakeNotes(s)
			reply.Footer = chat.Parts{poolsRead(s), blockText(s)}
			if at := cmp.Or(s.BlockTime, stake.A.At); reply.Checked.IsZero() || at.Before(reply.Checked) {
				reply.Checked = at
			}
			if reply.Tone == chat.Positive && tone == chat.Negative {
				reply.Actions = link("button.stake", options.StakeURL)
			}
			if ownershipErr != nil {
				return reply, &chat.PartialError{Err: errors.Join(ownershipErr, partly(s))}
			}
			return reply, partly(s)
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
	reply := chat.Reply{Tone: tone, Title: chat.Say(key + title), Text: text, Checked: at}
	if tone == chat.Negative && key == yourWallet {
		reply.Actions = link("button.register", options.RegisterURL)
	}
	return reply, nil
}
