package commands

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// verdictKeys are the messages of a title and a text.
type verdictKeys struct{ title, text string }

// ownerVerdicts are what can be said about who registered a wallet. Without nobody it is not
// said whether somebody else did: only a moderator learns that.
type ownerVerdicts struct{ owned, another, nobody, unregistered verdictKeys }

var (
	yourWallet = ownerVerdicts{
		owned:        verdictKeys{title: "verify.you.yes", text: "verify.you.same"},
		another:      verdictKeys{title: "verify.you.no", text: "verify.you.another"},
		unregistered: verdictKeys{title: "verify.you.new", text: "verify.you.unregistered"},
	}
	theirWallet = ownerVerdicts{
		owned:        verdictKeys{title: "verify.they.yes", text: "verify.they.same"},
		another:      verdictKeys{title: "verify.they.no", text: "verify.they.another"},
		nobody:       verdictKeys{title: "verify.they.no", text: "verify.they.nobody"},
		unregistered: verdictKeys{title: "verify.they.new", text: "verify.they.unregistered"},
	}
)

// verifyCommand answers /verify.
type verifyCommand inputs

func verify(from Sources, options Options) chat.Command {
	c := verifyCommand{from, options}
	return chat.Command{
		Name:             "verify",
		Summary:          chat.Say("command.verify"),
		ModeratorSummary: chat.Say("command.verify.moderators"),
		Visibility:       chat.Private,
		Asks:             []string{"partner", "chain"},
		Forms: []chat.Form{
			// First, so that a reply to somebody's message with a wallet is about them.
			{Params: []chat.Param{personParam, walletParam}, Moderators: true, Run: c.theirs},
			{Params: []chat.Param{walletParam}, Run: c.own},
			{Run: c.ownSaved},
		},
	}
}

func (c verifyCommand) own(ctx context.Context, req chat.Request) (chat.Reply, error) {
	wallet, err := parseWallet(req)
	if err != nil {
		return chat.Reply{}, err
	}
	return c.ownWallet(ctx, req, wallet)
}

// ownWallet returns the card about the sender and a wallet.
func (c verifyCommand) ownWallet(ctx context.Context, req chat.Request, wallet common.Address) (chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return chat.Reply{}, err
	}
	p := c.prove(ctx, id, wallet)
	return c.card(p, yourWallet, c.offer(ctx, req, p))
}

// theirs returns the card about another person and the wallet in the arguments.
func (c verifyCommand) theirs(ctx context.Context, req chat.Request) (chat.Reply, error) {
	id, err := target(req)
	if err != nil {
		return chat.Reply{}, err
	}
	wallet, err := parseWallet(req)
	if err != nil {
		return chat.Reply{}, err
	}
	person := chat.Section{Fields: []chat.Field{personField(id, req)}}
	return c.card(c.prove(ctx, id, wallet), theirWallet, chat.Reply{Sections: []chat.Section{person}})
}

// proof is what is known of a person and a wallet.
type proof struct {
	wallet common.Address
	// account is the person's, and owner the account that registered the wallet.
	account, owner core.Answer[core.Account]
	stake          core.Answer[core.Stake]
}

// prove asks for everything in a proof at once. It blocks until all have answered or failed.
func (c verifyCommand) prove(ctx context.Context, person core.Identity, wallet common.Address) proof {
	p := proof{wallet: wallet}
	var asking sync.WaitGroup
	asking.Go(func() {
		p.account, p.owner = core.Both(ctx, c.Accounts, person, c.Accounts, core.IdentityOf(wallet))
	})
	p.stake = core.Ask(ctx, c.Stakes, wallet)
	asking.Wait()
	return p
}

// owned reports whether the person registered both their account and the wallet. It returns
// false if that is not known.
func (p proof) owned() bool {
	return p.account.Err == nil && p.owner.Err == nil && p.account.Value.Registered() && p.account.Value.DID == p.owner.Value.DID
}

// stakeKnown reports whether it is known that the wallet stakes, or that it does not.
func (p proof) stakeKnown() bool {
	return p.stake.Err == nil && p.stake.Value.Outcome() != core.Undetermined
}

// card says whether the wallet belongs to the person, and what the wallet stakes. Sections of
// more come first, its notes and actions last. With a PartialError one of the two is not known.
// If neither is, card returns another error and no reply.
func (c verifyCommand) card(p proof, say ownerVerdicts, more chat.Reply) (chat.Reply, error) {
	owner, ownerErr := c.ownerPart(p, say)
	stake, stakeErr := c.stakePart(p)
	if ownerErr != nil && p.stake.Err != nil {
		return chat.Reply{}, errors.Join(ownerErr, stakeErr)
	}
	checked := cmp.Or(owner.Checked, stake.Checked)
	if !stake.Checked.IsZero() {
		checked = core.Earlier(checked, stake.Checked)
	}
	actions := owner.Actions
	switch {
	case owner.Tone == chat.Positive && stake.Tone == chat.Negative:
		actions = nextStep("button.stake", c.StakeURL)
	case say == yourWallet && (ownerErr != nil || !p.stakeKnown()):
		actions = append(actions, chat.TryAgain("verify", p.wallet.Hex()))
	}
	return chat.Reply{
		Tone: owner.Tone, Title: owner.Title, Subtitle: stake.Subtitle, Text: owner.Text,
		Sections: slices.Concat(more.Sections, stake.Sections), FullValues: stake.FullValues,
		Notes:  slices.Concat(owner.Notes, stake.Notes, more.Notes),
		Footer: stake.Footer, Checked: checked, Actions: append(actions, more.Actions...),
	}, partly(errors.Join(ownerErr, stakeErr))
}

// ownerPart returns the part of a card that says whether the person registered the wallet. It
// returns an error if that is not known, and a part that says so.
func (c verifyCommand) ownerPart(p proof, say ownerVerdicts) (chat.Reply, error) {
	tone, keys, at := chat.Negative, say.another, core.Earlier(p.account.At, p.owner.At)
	switch failed := cmp.Or(p.account.Err, p.owner.Err); {
	case p.account.Err == nil && !p.account.Value.Registered():
		keys, at = say.unregistered, p.account.At
	case failed != nil:
		return chat.Reply{
			Tone: chat.Warning, Title: chat.NoAnswer("verify"), Text: chat.Say("verify.unknown"), Notes: []chat.Text{Explain(failed)},
		}, failed
	case !p.owner.Value.Registered():
		keys = cmp.Or(say.nobody, say.another)
	case p.owned():
		tone, keys = chat.Positive, say.owned
	}
	part := chat.Reply{
		Tone: tone, Title: chat.Say(keys.title), Text: chat.SayWith(keys.text, chat.Values{"service": c.service()}), Checked: at,
	}
	if tone == chat.Negative && say == yourWallet {
		part.Actions = nextStep("button.register", c.RegisterURL)
	}
	return part, nil
}

// stakePart returns the part of a card that says what the wallet stakes. It returns an error if
// that is not known, or not in full.
func (c verifyCommand) stakePart(p proof) (chat.Reply, error) {
	if p.stake.Err != nil {
		return chat.Reply{
			Sections:   []chat.Section{{Heading: chat.NoAnswer("staked")}},
			FullValues: stakeText{Options: c.Options}.full(p.wallet), Notes: []chat.Text{Explain(p.stake.Err)},
		}, p.stake.Err
	}
	s := stakeText{p.stake.Value, c.Options}
	tone, verdict := s.verdict()
	part := chat.Reply{
		Tone: tone, Sections: []chat.Section{s.withdrawals()}, FullValues: s.full(p.wallet),
		Notes: s.notes(), Footer: s.footer(), Checked: cmp.Or(s.BlockTime, p.stake.At),
	}
	if beside, known := besideOwner[verdict.Key]; known {
		part.Subtitle = chat.SayWith(beside, chat.Values{"total": c.amount(s.Total(), chat.Short)})
	} else {
		part.Sections = slices.Insert(part.Sections, 0, chat.Section{Fields: []chat.Field{{Value: verdict}}})
	}
	return part, s.Err()
}

// besideOwner has the messages that say the same as a verdict of a stakeText, after the title
// of a card about the owner.
var besideOwner = map[string]string{
	"stake.yes": "verify.stakes", "stake.at_least": "verify.stakes_least", "stake.no": "verify.stakes_nothing",
}
