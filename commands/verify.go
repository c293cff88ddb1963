package commands

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// verdictKeys are the messages of a title and a text.
type verdictKeys struct{ title, text string }

// ownerVerdicts are the messages about a person, and who registered a wallet.
type ownerVerdicts struct {
	// own is true if the person reads the messages themself, instead of a moderator.
	own bool
	// match is said if the person registered the wallet, otherOwner if somebody else did, noOwner
	// if nobody did, and noAccount if the person is not registered.
	match, otherOwner, noOwner, noAccount verdictKeys
}

var (
	yourWallet = ownerVerdicts{
		own:        true,
		match:      verdictKeys{title: "verify.you.yes", text: "verify.you.same"},
		otherOwner: verdictKeys{title: "verify.you.no", text: "verify.you.another"},
		// The same: only a moderator learns whether somebody else registered the wallet.
		noOwner:   verdictKeys{title: "verify.you.no", text: "verify.you.another"},
		noAccount: verdictKeys{title: "verify.you.new", text: "verify.you.unregistered"},
	}
	theirWallet = ownerVerdicts{
		match:      verdictKeys{title: "verify.they.yes", text: "verify.they.same"},
		otherOwner: verdictKeys{title: "verify.they.no", text: "verify.they.another"},
		noOwner:    verdictKeys{title: "verify.they.no", text: "verify.they.nobody"},
		noAccount:  verdictKeys{title: "verify.they.new", text: "verify.they.unregistered"},
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
			// First, so that a reply to somebody's message with a wallet is about them.
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

// ownWallet returns the card about the sender and a wallet, with an offer to save the address.
func (c verifyCommand) ownWallet(ctx context.Context, req *chat.Request, wallet common.Address) (*chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return nil, err
	}
	p := c.prove(ctx, id, wallet)
	more, unreadable := c.saveOrRefresh(ctx, req, p)
	reply, err := c.card(p, yourWallet, more)
	if err == nil {
		err = partly(unreadable)
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
	return c.card(c.prove(ctx, id, wallet), theirWallet, &chat.Reply{Sections: []chat.Section{person}})
}

// proof is what is known of a person and a wallet.
type proof struct {
	wallet common.Address
	// account is the person's, and owner the account that registered the wallet.
	account, owner query.Answer[core.Account]
	// stake is the zero Answer if the pools are off.
	stake query.Answer[core.Stake]
}

// prove makes the calls for a proof at once. It blocks until all have answered or failed.
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

// owned reports whether the person registered both their account and the wallet. It returns
// false if that is not known.
func (p proof) owned() bool {
	return p.account.Err == nil && p.owner.Err == nil && p.account.Value.Registered() &&
		p.account.Value.DID == p.owner.Value.DID
}

// stakeKnown reports whether it is known that the wallet stakes, or that it does not.
func (p proof) stakeKnown() bool {
	return p.stake.Err == nil && p.stake.Value.StakerStatus() != core.Undetermined
}

// card says whether the wallet belongs to the person, and what the wallet stakes. Sections of
// more come first, its notes and actions last. The tone is Positive only if the stake and more are
// not Negative: the sign of the first line would be taken for all of the card. The error is a
// PartialError if a part is not known, or not in full. If the owner is not known and the stake has no answer or is
// off, card returns no reply and an error of another type. A stake with unread pools is an answer, as in /staked.
func (c verifyCommand) card(p proof, say ownerVerdicts, more *chat.Reply) (*chat.Reply, error) {
	owner, ownerErr := c.ownerPart(p, say)
	stake, stakeErr := c.stakePart(p)
	if ownerErr != nil && (c.Stakes == nil || p.stake.Err != nil) {
		return nil, errors.Join(ownerErr, stakeErr)
	}
	var buttons []chat.Action
	if say.own {
		buttons = c.ownButtons(p.wallet, owner.Tone, stake.Tone)
	}
	tone := owner.Tone
	if tone == chat.Positive && (stake.Tone == chat.Negative || more.Tone == chat.Negative) {
		tone = chat.Negative
	}
	return &chat.Reply{
		Tone:       tone,
		Title:      owner.Title,
		Subtitle:   stake.Subtitle,
		Text:       owner.Text,
		Sections:   slices.Concat(more.Sections, stake.Sections),
		FullValues: stake.FullValues,
		Notes:      slices.Concat(owner.Notes, stake.Notes, more.Notes),
		Footer:     stake.Footer,
		Actions:    append(buttons, more.Actions...),
		// A part that is not known has no time.
		Checked: core.Earlier(cmp.Or(owner.Checked, stake.Checked), cmp.Or(stake.Checked, owner.Checked)),
	}, partly(errors.Join(ownerErr, stakeErr))
}

// ownButtons returns the buttons that help a person with their own wallet: to register, to
// stake, and to try again what could not be checked.
func (c verifyCommand) ownButtons(wallet common.Address, owner, stake chat.Tone) (buttons []chat.Action) {
	switch {
	case owner == chat.Negative:
		buttons = nextStep("button.register", c.RegisterURL)
	case owner == chat.Positive && stake == chat.Negative:
		buttons = nextStep("button.stake", c.StakeURL)
	}
	if owner == chat.Warning || stake == chat.Warning {
		buttons = append(buttons, chat.TryAgain("verify", wallet.Hex()))
	}
	return buttons
}

// ownerPart returns the part of a card that says whether the person registered the wallet. If
// that is not known, the part says so, and ownerPart also returns the error.
func (c verifyCommand) ownerPart(p proof, say ownerVerdicts) (*chat.Reply, error) {
	if p.account.Err == nil && !p.account.Value.Registered() { // Then the wallet's owner does not matter.
		return c.ownerVerdict(chat.Negative, say.noAccount, p.account.At), nil
	}
	if err := cmp.Or(p.account.Err, p.owner.Err); err != nil {
		return &chat.Reply{
			Tone:  chat.Warning,
			Title: chat.NoAnswer("verify"),
			Text:  chat.Say("verify.unknown"),
			Notes: []chat.Text{Explain(err)},
		}, err
	}
	tone, keys := chat.Negative, say.noOwner
	if p.owned() {
		tone, keys = chat.Positive, say.match
	} else if p.owner.Value.Registered() {
		keys = say.otherOwner
	}
	return c.ownerVerdict(tone, keys, core.Earlier(p.account.At, p.owner.At)), nil
}

// ownerVerdict returns the part of a card with these messages.
func (c verifyCommand) ownerVerdict(tone chat.Tone, keys verdictKeys, checked time.Time) *chat.Reply {
	return &chat.Reply{
		Tone:    tone,
		Title:   chat.Say(keys.title),
		Text:    chat.SayWith(keys.text, chat.Values{"service": c.service()}),
		Checked: checked,
	}
}

// stakePart returns the part of a card that says what the wallet stakes. If that is not known, or not in full,
// stakePart also returns an error. If the pools are off, the part is only the whole wallet.
func (c verifyCommand) stakePart(p proof) (*chat.Reply, error) {
	if c.Stakes == nil {
		return &chat.Reply{FullValues: stakeText{Options: c.Options}.full(p.wallet)}, nil
	}
	if p.stake.Err != nil {
		return &chat.Reply{
			Tone:       chat.Warning,
			Sections:   []chat.Section{{Heading: chat.NoAnswer("staked")}},
			FullValues: stakeText{Options: c.Options}.full(p.wallet),
			Notes:      []chat.Text{Explain(p.stake.Err)},
		}, p.stake.Err
	}
	s := stakeText{p.stake.Value, c.Options}
	tone, verdict := s.verdict(subtitleKeys)
	part := &chat.Reply{
		Tone:       tone,
		Subtitle:   verdict,
		Sections:   []chat.Section{s.withdrawals()},
		FullValues: s.full(p.wallet),
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
