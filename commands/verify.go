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
	"herald/internal/query"
)

// ownership is the answer to "did this person register this wallet?".
type ownership int

const (
	// ownershipUnknown means that the partner did not answer.
	ownershipUnknown ownership = iota
	// ownedByPerson means that the person registered the wallet.
	ownedByPerson
	// personUnregistered means that the person has no account, and therefore has not registered the wallet.
	personUnregistered
	// ownedByOther means that another person registered the wallet.
	ownedByOther
	// ownedByNobody means that nobody registered the wallet.
	ownedByNobody
)

// ownerKeys are the messages on a card about an ownership.
type ownerKeys struct{ title, text string }

var (
	// yourWallet has the messages for the person themself. They must not learn whether another person registered the
	// wallet, so ownedByOther and ownedByNobody have the same messages.
	yourWallet = map[ownership]ownerKeys{
		ownedByPerson:      {title: "verify.you.yes", text: "verify.you.same"},
		personUnregistered: {title: "verify.you.new", text: "verify.you.unregistered"},
		ownedByOther:       {title: "verify.you.no", text: "verify.you.another"},
		ownedByNobody:      {title: "verify.you.no", text: "verify.you.another"},
	}
	// theirWallet has the messages for a moderator who asks about the person.
	theirWallet = map[ownership]ownerKeys{
		ownedByPerson:      {title: "verify.they.yes", text: "verify.they.same"},
		personUnregistered: {title: "verify.they.new", text: "verify.they.unregistered"},
		ownedByOther:       {title: "verify.they.no", text: "verify.they.another"},
		ownedByNobody:      {title: "verify.they.no", text: "verify.they.nobody"},
	}
)

// verifyCommand answers /verify.
type verifyCommand inputs

func verify(from Sources, options Options) chat.Command {
	c := verifyCommand{from, options}
	summary := "command.verify"
	if from.Stakes == nil {
		summary = "command.verify.owner"
	}
	return chat.Command{
		Name:             "verify",
		Summary:          chat.Say(summary),
		ModeratorSummary: chat.Say("command.verify.moderators"),
		Visibility:       chat.Private,
		Asks:             []string{"partner", "chain"},
		Forms: []chat.Form{
			// The moderators' form comes first: if /verify <wallet> replies to a user's message, it is about that user.
			{Params: []chat.Param{personParam, walletParam}, Moderators: true, Run: c.theirs},
			{Params: []chat.Param{walletParam}, Run: c.own},
			{Run: c.ownSaved},
		},
	}
}

// own returns the card about the sender and the wallet in the arguments.
func (c verifyCommand) own(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	wallet, err := parseWallet(req)
	if err != nil {
		return nil, err
	}
	return c.ownWallet(ctx, req, wallet)
}

// ownWallet returns the card about the sender and a wallet. If the wallet is saved, ownWallet refreshes the sender's
// badges. Otherwise the card offers to save it.
func (c verifyCommand) ownWallet(ctx context.Context, req *chat.Request, wallet common.Address) (*chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return nil, err
	}
	p := c.prove(ctx, id, wallet)
	end, endErr := c.offerOrRefresh(ctx, req, p)
	reply, err := c.ownCard(p, end)
	if err == nil {
		err = asPartialError(endErr)
	}
	return reply, err
}

// theirs returns the card about another person and the wallet in the arguments.
func (c verifyCommand) theirs(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	id, err := target(req)
	if err != nil {
		return nil, err
	}
	wallet, err := parseWallet(req)
	if err != nil {
		return nil, err
	}
	person := chat.Section{Fields: []chat.Field{personField(id, req)}}
	return c.card(c.prove(ctx, id, wallet), theirWallet, cardParts{sections: []chat.Section{person}})
}

// proof holds what the partner and the pools answered about a person and a wallet.
type proof struct {
	wallet common.Address
	// account is the person's account.
	account query.Answer[core.Account]
	// owner is the account that registered the wallet.
	owner query.Answer[core.Account]
	// stake is what the wallet stakes. It is the zero Answer if the pools are off.
	stake query.Answer[core.Stake]
}

// prove asks the partner and the pools about a person and a wallet at the same time. It blocks until every call has
// been answered or has failed.
func (c verifyCommand) prove(ctx context.Context, person core.Identity, wallet common.Address) proof {
	p := proof{wallet: wallet}
	var asking sync.WaitGroup
	asking.Go(func() {
		p.account, p.owner = query.Both(ctx, c.Accounts, person, c.Accounts, core.IdentityOf(wallet))
	})
	if c.Stakes != nil {
		p.stake = query.Ask(ctx, c.Stakes, wallet)
	}
	asking.Wait()
	return p
}

// ownership returns whether the person registered the wallet. If the person has no account, the owner of the wallet
// need not be known. Otherwise both accounts must be known.
func (p proof) ownership() ownership {
	switch {
	case p.account.Err == nil && !p.account.Value.Registered():
		return personUnregistered
	case p.account.Err != nil || p.owner.Err != nil:
		return ownershipUnknown
	case p.owner.Value.DID == p.account.Value.DID:
		return ownedByPerson
	case p.owner.Value.Registered():
		return ownedByOther
	}
	return ownedByNobody
}

// owned reports whether it is known that the person registered the wallet.
func (p proof) owned() bool { return p.ownership() == ownedByPerson }

// staking returns whether the wallet stakes anything. It is Undetermined if the pools did not answer or are off.
func (p proof) staking() core.StakerStatus {
	if p.stake.Err != nil {
		return core.Undetermined
	}
	return p.stake.Value.StakerStatus()
}

// stakeKnown reports whether it is known if the wallet stakes anything.
func (p proof) stakeKnown() bool { return p.staking() != core.Undetermined }

// cardParts are the parts of a card that are about neither the owner nor the stake.
type cardParts struct {
	sections []chat.Section // before the stake
	notes    []chat.Text    // after the notes about the owner and the stake
	actions  []chat.Action
	// isBad says that the sender lost a badge, is about to lose one, or could not be given one.
	isBad bool
}

// ownCard returns the card for the person themself. It adds the buttons that help them before the actions of more.
func (c verifyCommand) ownCard(p proof, more cardParts) (*chat.Reply, error) {
	more.actions = append(c.ownButtons(p), more.actions...)
	return c.card(p, yourWallet, more)
}

// card returns a card that says whether the wallet belongs to the person, and what the wallet stakes. keys are the
// messages for each ownership except ownershipUnknown.
//
// If the owner or the stake is unknown, or a pool was not read, card returns the rest and a PartialError. If nothing
// is left to show, it returns no reply and an error that is not a PartialError.
func (c verifyCommand) card(p proof, keys map[ownership]ownerKeys, more cardParts) (*chat.Reply, error) {
	owner, ownerErr := c.ownerPart(p, keys)
	stake, stakeErr := c.stakePart(p)
	canShowStake := c.Stakes != nil && p.stake.Err == nil
	if ownerErr != nil && !canShowStake {
		return nil, errors.Join(ownerErr, stakeErr)
	}
	// Readers take the sign in the first line for that of the whole card: it must not hide bad news.
	tone := owner.Tone
	hasBadNews := stake.Tone == chat.Negative || more.isBad
	if tone == chat.Positive && hasBadNews {
		tone = chat.Negative
	}
	return &chat.Reply{
		Tone:       tone,
		Title:      owner.Title,
		Subtitle:   stake.Subtitle,
		Text:       owner.Text,
		Sections:   slices.Concat(more.sections, stake.Sections),
		FullValues: stake.FullValues,
		Notes:      slices.Concat(owner.Notes, stake.Notes, more.notes),
		Footer:     stake.Footer,
		Actions:    more.actions,
		Checked:    earlierKnown(owner.Checked, stake.Checked),
	}, asPartialError(errors.Join(ownerErr, stakeErr))
}

// ownButtons returns the buttons that help a person with their own wallet: to register or to stake and, if a part of
// the proof is unknown, to try again.
func (c verifyCommand) ownButtons(p proof) (buttons []chat.Action) {
	owner := p.ownership()
	switch owner {
	case personUnregistered, ownedByOther, ownedByNobody:
		buttons = nextStep("button.register", c.RegisterURL)
	case ownedByPerson:
		if p.staking() == core.NotStaker {
			buttons = nextStep("button.stake", c.StakeURL)
		}
	}
	isStakeUnknown := c.Stakes != nil && !p.stakeKnown()
	if owner == ownershipUnknown || isStakeUnknown {
		buttons = append(buttons, chat.TryAgain("verify", p.wallet.Hex()))
	}
	return buttons
}

// ownerPart returns the part of a card that says whether the person registered the wallet. If that is unknown, the part
// says so, and ownerPart also returns the error.
func (c verifyCommand) ownerPart(p proof, keys map[ownership]ownerKeys) (*chat.Reply, error) {
	owner := p.ownership()
	if owner == ownershipUnknown {
		err := cmp.Or(p.account.Err, p.owner.Err)
		return &chat.Reply{
			Tone:  chat.Warning,
			Title: chat.NoAnswer("verify"),
			Text:  chat.Say("verify.unknown"),
			Notes: []chat.Text{Explain(err)},
		}, err
	}
	tone := chat.Negative
	if owner == ownedByPerson {
		tone = chat.Positive
	}
	checked := core.Earlier(p.account.At, p.owner.At)
	if owner == personUnregistered { // p.owner does not matter then, and may have failed.
		checked = p.account.At
	}
	return &chat.Reply{
		Tone:    tone,
		Title:   chat.Say(keys[owner].title),
		Text:    chat.SayWith(keys[owner].text, chat.Values{"service": c.service()}),
		Checked: checked,
	}, nil
}

// stakePart returns the part of a card that says what the wallet stakes. If that is unknown, or a pool was not read,
// the part says so, and stakePart also returns an error. If the pools are off, the part has only the wallet.
func (c verifyCommand) stakePart(p proof) (*chat.Reply, error) {
	if c.Stakes == nil {
		return &chat.Reply{FullValues: c.fullAddress(p.wallet)}, nil
	}
	if p.stake.Err != nil {
		return &chat.Reply{
			Tone:       chat.Warning,
			Sections:   []chat.Section{{Heading: chat.NoAnswer("staked")}},
			FullValues: c.fullAddress(p.wallet),
			Notes:      []chat.Text{Explain(p.stake.Err)},
		}, p.stake.Err
	}
	s := stakeText{p.stake.Value, c.Options}
	tone, verdict := s.verdict(subtitleKeys)
	part := &chat.Reply{
		Tone:       tone,
		Subtitle:   verdict,
		Sections:   []chat.Section{s.withdrawalLines()},
		FullValues: s.fullValues(p.wallet),
		Notes:      s.notes(),
		Footer:     s.footer(),
		Checked:    cmp.Or(s.BlockTime, p.stake.At),
	}
	if tone == chat.Warning { // A sentence is too long for a Subtitle.
		line := chat.Section{Fields: []chat.Field{{Value: verdict}}}
		part.Subtitle = nil
		part.Sections = slices.Insert(part.Sections, 0, line)
	}
	return part, s.Err()
}
