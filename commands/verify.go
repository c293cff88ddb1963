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
			{Run: c.saved},
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
	reply, err := c.card(p, yourWallet)
	c.offer(ctx, req, &reply, p)
	return reply, err
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
	reply, err := c.card(c.prove(ctx, id, wallet), theirWallet)
	if reply.Title.Key != "" {
		person := chat.Section{Fields: []chat.Field{personField(id, req)}}
		reply.Sections = append([]chat.Section{person}, reply.Sections...)
	}
	return reply, err
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

// card says whether the wallet belongs to the person, and what the wallet stakes. key is
// yourWallet or theirWallet. With a PartialError one of the two is missing, and with any
// other error both.
func (c verifyCommand) card(p proof, key string) (chat.Reply, error) {
	reply, ownershipErr := c.ownership(p, key)
	if ownershipErr != nil && p.stake.Err != nil {
		return chat.Reply{}, errors.Join(ownershipErr, p.stake.Err)
	}
	if key == yourWallet && (ownershipErr != nil || p.stake.Err != nil || p.stake.Value.Outcome() == core.Undetermined) {
		reply.Actions = append(reply.Actions, chat.TryAgain("verify", p.wallet.Hex()))
	}
	return reply, partly(errors.Join(ownershipErr, c.addStake(&reply, p)))
}

// ownership says whether the person registered the wallet. It returns an error if that is
// not known, and then says so.
func (c verifyCommand) ownership(p proof, key string) (chat.Reply, error) {
	tone, title, why, at := chat.Negative, ".no", ".another", core.Earlier(p.account.At, p.owner.At)
	switch failed := cmp.Or(p.account.Err, p.owner.Err); {
	case p.account.Err == nil && !p.account.Value.Registered():
		title, why, at = ".new", ".unregistered", p.account.At
	case failed != nil:
		return chat.Reply{
			Tone: chat.Warning, Title: chat.NoAnswer("verify"), Text: chat.Say("verify.unknown"), Notes: []chat.Text{Explain(failed)},
		}, failed
	case !p.owner.Value.Registered() && key == theirWallet:
		// Only a moderator learns whether somebody else registered the wallet.
		why = ".nobody"
	case p.owned():
		tone, title, why = chat.Positive, ".yes", ".same"
	}
	text := chat.SayWith(key+why, chat.Values{"service": c.service()})
	reply := chat.Reply{Tone: tone, Title: chat.Say(key + title), Text: text, Checked: at}
	if tone == chat.Negative && key == yourWallet {
		reply.Actions = nextStep("button.register", c.RegisterURL)
	}
	return reply, nil
}

// addStake adds what the wallet stakes to a reply about its owner. It returns an error if
// the stake is not known, or not in full.
func (c verifyCommand) addStake(reply *chat.Reply, p proof) error {
	if p.stake.Err != nil {
		reply.Sections = append(reply.Sections, chat.Section{Heading: chat.NoAnswer("staked")})
		reply.FullValues, reply.Notes = fullFields(p.wallet, core.Stake{}, c.Options), append(reply.Notes, Explain(p.stake.Err))
		return p.stake.Err
	}
	s := p.stake.Value
	tone, verdict := stakeVerdict(s, c.Options)
	if s.Outcome() == core.Undetermined {
		reply.Sections = append(reply.Sections, chat.Section{Fields: []chat.Field{{Value: verdict}}})
	} else {
		total := chat.Values{"total": c.amount(s.Total(), chat.Short)}
		reply.Subtitle = chat.SayWith(besideOwner[verdict.Key], total)
	}
	reply.Sections = append(reply.Sections, withdrawals(s, c.Options))
	reply.FullValues = fullFields(p.wallet, s, c.Options)
	reply.Notes, reply.Footer = append(reply.Notes, stakeNotes(s)...), stakeFooter(s)
	if at := cmp.Or(s.BlockTime, p.stake.At); reply.Checked.IsZero() || at.Before(reply.Checked) {
		reply.Checked = at
	}
	if reply.Tone == chat.Positive && tone == chat.Negative {
		reply.Actions = nextStep("button.stake", c.StakeURL)
	}
	return s.Err()
}

// besideOwner has the messages that say the same as a verdict of stakeVerdict, after the title
// of a reply about the owner.
var besideOwner = map[string]string{
	"stake.yes": "verify.stakes", "stake.at_least": "verify.stakes_least", "stake.no": "verify.stakes_nothing",
}
