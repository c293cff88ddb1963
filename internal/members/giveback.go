package members

import (
	"context"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/ratelimit"
)

// This file gives users the badges that they should have and do not have, for example because they left a community and
// came back. It does so when a user sends /verify (Refresh), or any command in a community (Seen). Its words:
//
//	wear       the platform says that the user has the badge
//	hold       the row says that they have it
//	earn       they are to have it, because their stake reaches its amount: see tiers.earns
//	unsure     the row does not know whether they have it; settle asks the platform first
//	foreign    a tag that neither the row nor the settings name: an administrator has set it
//	idle       a community where settle makes no call for the user: they are not a member, or wear a foreign tag

// Refresh gives a user the badges that they earn and do not wear, and returns the changes. stake was just read for
// wallet, and here is the community of the request, or "" in a private chat. Refresh blocks for settleTime at most.
//
//	if                                       Refresh
//
//	wallet is not the saved one              does nothing
//
//	stake reaches a higher amount than       does what Save does
//	the latest check
//
//	otherwise                                asks each community except here, at most once a minute, what the user
//	                                         wears, and gives a badge that is missing there
//
// It need not ask in the community of the request, because the adapter has told Seen what the user wears there.
func (m *Members) Refresh(
	ctx context.Context, user chat.User, here string, wallet common.Address, stake core.Stake,
) ([]Change, error) {
	p := m.platformOf(user)
	if p == nil || p.adapter == nil {
		return nil, nil
	}
	row, err := p.rows.load(ctx, user.ID)
	if err != nil || row == nil || row.Wallet != wallet {
		return nil, err
	}
	if p.tiers.raises(*row, check{stake: stake, press: true}) {
		isStillSaved := func(old *Row) bool { return old != nil && old.Wallet == wallet } // /forget may be quicker.
		return m.save(ctx, user, wallet, stake, isStillSaved)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return eachCommunity(m, p, p.tiers.communities(), func(c *community) []Change {
		if c.id == here || !c.isWorthAsking(*row) {
			return nil
		}
		wears, err := c.wears(ctx, user.ID)
		if err != nil || !c.isAnyMissing(*row, wears) {
			return nil
		}
		return m.giveBack(ctx, c, user, wears)
	}), nil
}

// raises reports whether a check reaches a higher amount than the row's latest check did.
func (t tiers) raises(r Row, c check) bool {
	for _, amount := range t.amounts {
		if c.answerFor(amount) == reached && !t.reaches(r, amount) {
			return true
		}
	}
	return false
}

// isWorthAsking reports whether a badge may be missing in the community: the user of the row holds or earns one there.
func (c *community) isWorthAsking(r Row) bool {
	isEarned := func(b tier) bool { return c.tiers.earns(r, b) }
	return len(r.in(c.id)) > 0 || slices.ContainsFunc(c.tiers.in(c.id), isEarned)
}

// isAnyMissing reports whether a badge that the user of a row holds or earns is not among those that they wear.
func (c *community) isAnyMissing(r Row, wears []string) bool {
	after := r.afterAnswer(c.id, wears, time.Now())
	isHeldMissing := len(after.in(c.id)) < len(r.in(c.id)) // afterAnswer drops the badges that are not worn.
	next := c.tiers.next(after, place{community: c.id, oneEach: c.adapter.OneEach()})
	return isHeldMissing || next.action == give
}

// Seen tells Members that a user sent a command in a community and wears these badges there: all roles, or the tag.
// Members then gives the badges that the user earns and does not wear, in the background and at most once a minute.
func (m *Members) Seen(user chat.User, community string, wears []string) {
	p := m.platformOf(user)
	if p == nil || p.adapter == nil || !p.tiers.namesAny(community) {
		return
	}
	c := p.community(community)
	if !c.wearsOurs(wears) && !p.latest.knows(user.ID) {
		return // Most senders: they wear no badge of the settings, and have no row.
	}
	m.background(func(ctx context.Context) {
		once := ratelimit.Limit{Key: c.limitKey("seen " + user.ID), Burst: 1, Every: time.Minute}
		if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
			m.tellRemoved(ctx, c, user, m.giveMissing(ctx, c, user, wears))
		}
	})
}

// wearsOurs reports whether one of these badges is in the settings.
func (c *community) wearsOurs(wears []string) bool {
	return slices.ContainsFunc(c.tiers.in(c.id), func(b tier) bool { return slices.Contains(wears, b.ID) })
}

// giveMissing gives a user the badges that they earn in a community and do not wear there.
func (m *Members) giveMissing(ctx context.Context, c *community, user chat.User, wears []string) []Change {
	row, err := c.rows.load(ctx, user.ID)
	switch {
	case err != nil:
		return nil
	case row == nil && c.wearsOurs(wears):
		m.reportUnrecorded(ctx, c)
		return nil
	case row == nil, row.Forgotten():
		return nil
	}
	isIdle := slices.Contains(row.Idle, c.id)
	isAnyUnsure := slices.ContainsFunc(row.in(c.id), isUnsure)
	if !isIdle && !isAnyUnsure && !c.isAnyMissing(*row, wears) {
		return nil
	}
	return m.giveBack(ctx, c, user, wears)
}

// giveBack settles a member of a community who wore these badges a moment ago. A call that was being made then may have
// given another badge since. So a badge that they hold and did not wear only becomes unsure, and settle asks first.
func (m *Members) giveBack(ctx context.Context, c *community, user chat.User, wears []string) []Change {
	_, err := c.rows.update(ctx, user.ID, func(r *Row) *Row {
		switch {
		case r == nil, r.Forgotten():
			return r // /forget was quicker.
		case c.wearsForeign(*r, wears):
			return new(r.idleIn(c.id)) // The administrator's tag stays, so settle gives none of ours.
		}
		return new(r.afterCommand(c.id, wears))
	})
	if err != nil {
		return nil
	}
	return m.settle(ctx, c, user, byCommand)
}

// reportUnrecorded counts a user who wears a badge of the settings and has no row: rows were lost, or a moderator gave
// the badge. It logs that at most once an hour.
func (m *Members) reportUnrecorded(ctx context.Context, c *community) {
	m.Count("badge_unrecorded")
	once := ratelimit.Limit{Key: c.botLimitKey("unrecorded"), Burst: 1, Every: time.Hour}
	if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
		c.log.WarnContext(ctx, "a user wears a role or a tag of the settings, and no address of theirs is saved: "+
			"were saved addresses lost? Nobody checks such a user")
	}
}
