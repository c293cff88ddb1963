package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
)

// ownSaved answers /verify without a wallet: it returns the card about the sender and their saved wallet. If none is
// saved, it asks for a wallet.
func (c verifyCommand) ownSaved(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	s, err := c.Members.Saved(ctx, req.From)
	if s != nil {
		return c.ownWallet(ctx, req, s.Wallet)
	}
	reply := chat.Question("verify", walletParam)
	switch {
	case errors.Is(err, members.ErrUnreadable):
		reply.Notes = []chat.Text{chat.Say("save.unreadable")}
	case err != nil:
		reply.Notes = []chat.Text{chat.Say("save.unread")}
	}
	return reply, asPartialError(err)
}

// offerOrRefresh returns the end of a card about the sender and their wallet:
//
//	the wallet is theirs, and saved             what refreshBadges returns
//	it is theirs and not saved, but can be      what offerSave returns
//	it is theirs, and their row is unreadable   a note that says so, and the error
//	otherwise                                   nothing
//
// It ignores other errors of the store, because the card answers the question without the store.
func (c verifyCommand) offerOrRefresh(ctx context.Context, req *chat.Request, p proof) (cardParts, error) {
	if !p.owned() || !c.canSave() {
		return cardParts{}, nil
	}
	s, err := c.Members.Saved(ctx, req.From)
	switch {
	case errors.Is(err, members.ErrUnreadable):
		return cardParts{notes: []chat.Text{chat.Say("save.unreadable")}}, err
	case err != nil:
		return cardParts{}, nil
	case s != nil && s.Wallet == p.wallet:
		return c.refreshBadges(ctx, req, p, s), nil
	case !p.stakeKnown(): // A press of the button would save nothing.
		return cardParts{}, nil
	}
	note, button := c.offerSave(ctx, req.From, req.Community, p)
	return cardParts{notes: []chat.Text{note}, actions: []chat.Action{button}}, nil
}

// offerSave returns the button that saves the wallet of p, and the note that the user reads before they press it: what
// is saved, who sees what, which badges they get, and where. The user is in the community here.
func (c verifyCommand) offerSave(
	ctx context.Context, user chat.User, here string, p proof,
) (note chat.Text, button chat.Action) {
	offered := c.Members.Offer(ctx, user, here, p.stake.Value)
	consent, label := "save.offer", "button.save"
	if len(offered) > 0 {
		consent, label = "save.offer_badge", "button.save_badge"
	}
	values := chat.Values{
		"badge":  badgeText(offered),
		"badges": badgeTextByCommunity(offered),
		"every":  everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"),
		"forget": chat.CommandLink("/" + forgetName),
	}
	button = chat.Action{
		Label:    chat.SayWith(label, values),
		Command:  saveName,
		Args:     []string{p.wallet.Hex()},
		Edit:     true,
		NextStep: true,
	}
	return chat.SayWith(consent, values), button
}

// refreshBadges gives the sender the badges that they lack, if the stake of their saved wallet is enough. It returns
// notes about these changes or, if there are none, about the badges that s has, and the button that deletes what is
// saved.
func (c verifyCommand) refreshBadges(ctx context.Context, req *chat.Request, p proof, s *members.Saved) cardParts {
	var changes []members.Change
	if p.stake.Err == nil {
		// If this fails, nothing has changed.
		changes, _ = c.Members.Refresh(ctx, req.From, req.Community, p.wallet, p.stake.Value)
	}
	var waiting []members.Change
	if req.RulesPending { // The sender has no badge here, even if they had one before they left and came back.
		s = s.Elsewhere(req.Community)
		waiting = c.waitingForRules(req, p)
	}
	notes := c.badgeNotes(s)
	isBad := len(s.AtRisk) > 0 || len(s.Missing) > 0
	if len(changes) > 0 {
		results := badgeResults(req.Community, changes)
		notes = resultLines(results)
		isBad = slices.ContainsFunc(results, badgeResult.isBad)
		if after, err := c.Members.Saved(ctx, req.From); err == nil && after != nil {
			s = after
		}
	}
	if len(waiting) > 0 {
		notes = append(notes, resultLines(badgeResults(req.Community, waiting))...)
		notes = append(notes, problemText(req.From.Platform, chat.RulesPending))
	}
	return cardParts{notes: notes, actions: []chat.Action{forgetButton(givenBadges(s.Given))}, isBad: isBad}
}

// waitingForRules returns the badges that the sender would have in the community of req if they had accepted its rules.
func (c verifyCommand) waitingForRules(req *chat.Request, p proof) (changes []members.Change) {
	if p.stake.Err != nil {
		return nil
	}
	for _, b := range c.Members.ConfiguredBadges(req.From.Platform, req.Community) {
		if p.stake.Value.Reaches(b.Amount) == core.Staker {
			changes = append(changes, members.Change{Badge: b, Problem: chat.RulesPending})
		}
	}
	return changes
}

// badgeNotes tells the user of s since when they have each badge, which badges they lose if the next check finds as
// little as the latest one, and why they lost others.
func (c verifyCommand) badgeNotes(s *members.Saved) (notes []chat.Text) {
	for _, given := range s.Given {
		notes = append(notes, chat.SayWith("badge.since", chat.Values{
			"badge": badgeText([]members.Badge{given.Badge}),
			"group": given.Badge.Group(),
			"day":   chat.Day{Time: given.Since},
		}))
	}
	if len(s.AtRisk) > 0 {
		notes = append(notes, chat.SayWith("badge.going", chat.Values{
			"badge": badgeText(givenBadges(s.AtRisk)),
			"time":  clock(s.LastBlock),
		}))
	}
	for _, lost := range byChecks(s.Missing) {
		first := lost[0]
		why := members.WhyLost(first.Why, c.address(s.Wallet), first.Amount, c.Symbol)
		notes = append(notes, chat.SayWith("badge.lost", chat.Values{"badge": badgeText(lostBadges(lost)), "why": why}))
	}
	return notes
}

// byChecks groups lost badges. It takes two checks to lose a badge; the badges of a group were lost by the same two.
// The groups are in the order of their first badges.
func byChecks(missing []members.LostBadge) (groups [][]members.LostBadge) {
	for _, l := range missing {
		i := slices.IndexFunc(groups, func(group []members.LostBadge) bool {
			return group[0].Why.IsBySameChecks(l.Why)
		})
		if i < 0 {
			groups = append(groups, []members.LostBadge{l})
		} else {
			groups[i] = append(groups[i], l)
		}
	}
	return groups
}

// clock returns a time of day, such as "14:05 UTC".
func clock(t time.Time) chat.Plain { return chat.Plain(t.UTC().Format("15:04 UTC")) }

// noteForModerators returns a note for moderators of a community: whether the saved wallet of a user stakes, and which
// badges the user has. It does not show the address. If no wallet is saved, or the store does not answer, it returns no
// note. If the user's row cannot be read, the note says so, and noteForModerators also returns the error.
func (from Sources) noteForModerators(ctx context.Context, id core.Identity, community string) ([]chat.Text, error) {
	if !from.canSave() {
		return nil, nil
	}
	s, err := from.Members.Saved(ctx, chat.User{Platform: chat.Platform(strings.ToLower(id.Platform)), ID: id.UID})
	switch {
	case errors.Is(err, members.ErrUnreadable):
		return []chat.Text{chat.Say("exists.unreadable")}, err
	case err != nil || s == nil:
		return nil, nil
	}
	values := chat.Values{"day": chat.Day{Time: s.SavedAt}, "state": savedState(s, community)}
	return []chat.Text{chat.SayWith("exists.saved", values)}, nil
}

// savedState says what moderators of a community learn about a saved wallet. It is the first of these that applies:
// which badges the owner is about to lose there, has there, or has lost there, or whether the wallet stakes. If
// community is "", the badges are those of all communities.
func savedState(s *members.Saved, community string) chat.Value {
	if community != "" {
		s = onlyIn(s, community)
	}
	checked := chat.Moment{Time: s.CheckedAt}
	switch {
	case len(s.AtRisk) > 0:
		atRisk := badgeText(givenBadges(s.AtRisk))
		return chat.SayWith("exists.going", chat.Values{"badge": atRisk, "time": clock(s.LastBlock)})
	case len(s.Given) > 0:
		return chat.SayWith("exists.has", chat.Values{"badge": badgeText(givenBadges(s.Given)), "checked": checked})
	case len(s.Missing) > 0:
		return lossTexts(s.Missing)
	case s.Stakes:
		return chat.SayWith("exists.stakes", chat.Values{"checked": checked})
	}
	return chat.SayWith("exists.idle", chat.Values{"checked": checked})
}

// lossTexts says which badges were lost, when and why. Badges that were lost by the same two checks share a sentence.
func lossTexts(missing []members.LostBadge) (sentences chat.Parts) {
	for _, lost := range byChecks(missing) {
		key := "exists.lost"
		why := lost[0].Why
		if why.Disowned {
			key = "exists.disowned"
		}
		values := chat.Values{"badge": badgeText(lostBadges(lost)), "when": members.WhenLost(why)}
		sentences = append(sentences, chat.SayWith(key, values))
	}
	return sentences
}

// onlyIn returns a copy of s that has only the badges of one community.
func onlyIn(s *members.Saved, community string) *members.Saved {
	copied := *s
	isElsewhere := func(b members.GivenBadge) bool { return b.Community != community }
	copied.Given = slices.DeleteFunc(slices.Clone(s.Given), isElsewhere)
	copied.AtRisk = slices.DeleteFunc(slices.Clone(s.AtRisk), isElsewhere)
	copied.Missing = slices.DeleteFunc(slices.Clone(s.Missing), func(l members.LostBadge) bool {
		return l.Community != community
	})
	return &copied
}
