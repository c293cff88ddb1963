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
			if key == theirWallet {
				reply.Sections = []chat.Section{{Fields: []chat.Field{personField(id, req)}}}
			} else if ownershipErr != nil || stake.ErrA != nil || stake.A.Value.Outcome() == core.Undetermined {
				reply.Actions = append(reply.Actions, chat.TryAgain("verify", wallet.Hex()))
			}
			err = errors.Join(ownershipErr, addStake(&reply, wallet, stake, options))
			return reply, partly(err)
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

// addStake adds what a wallet stakes to a reply about its owner. With an error the stake
// is not known, or not in full.
func addStake(reply *chat.Reply, wallet common.Address, stake core.Joined[core.Stake, core.Quote], options Options) error {
	if stake.ErrA != nil {
		reply.Sections = append(reply.Sections, chat.Section{Heading: chat.NoAnswer("staked")})
		reply.Exact, reply.Notes = exactFields(wallet, core.Stake{}, options), append(reply.Notes, Explain(stake.ErrA))
		return stake.ErrA
	}
	s := stake.A.Value
	tone, verdict := stakeVerdict(s, options)
	if worth := worthText(s, stake.B.Value); worth != nil {
		verdict = chat.SayWith("verify.stake", chat.Values{"stake": verdict, "worth": worth})
	}
	reply.Sections = append(reply.Sections, chat.Section{Heading: verdict, Fields: unstakingFields(s, options)})
	reply.Exact = exactFields(wallet, s, options)
	reply.Notes, reply.Footer = append(reply.Notes, stakeNotes(s)...), stakeFooter(s)
	if at := cmp.Or(s.BlockTime, stake.A.At); reply.Checked.IsZero() || at.Before(reply.Checked) {
		reply.Checked = at
	}
	if reply.Tone == chat.Positive && tone == chat.Negative {
		reply.Actions = link("button.stake", options.StakeURL)
	}
	return s.Err()
}

// ownership says whether the wallet, B, belongs to the person, A. With an error it
// says that nobody knows.
func ownership(both core.Joined[core.Account, core.Account], key string, options Options) (chat.Reply, error) {
	tone, title, why, at := chat.Negative, ".no", ".another", both.Checked()
	switch failed := cmp.Or(both.ErrA, both.ErrB); {
	case both.ErrA == nil && !both.A.Value.Registered():
		title, why, at = ".new", ".unregistered", both.A.At
	case failed != nil:
		return chat.Reply{
			Tone: chat.Warning, Title: chat.NoAnswer("verify"), Text: chat.Say("verify.unknown"), Notes: []chat.Text{Explain(failed)},
		}, failed
	case !both.B.Value.Registered() && key == theirWallet:
		// Only a moderator learns whether somebody else registered the wallet.
		why = ".nobody"
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
