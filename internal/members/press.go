package members

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// This file has what users cause: a press of the button that saves an address, /forget, /verify with the saved address
// (Refresh), and any command in a community (Seen). Its words:
//
//	wear       the platform says that the user has the badge
//	hold       the row says so
//	earn       the user is to have the badge: see tiers.earns
//	unsure     the row does not know whether the badge is worn: the platform is asked first
//	idle       a community where no call is made for the user: they are no member, or wear a foreign tag
//	foreign    a tag that neither the row nor the settings name: an administrator has set it
//	here       the community where the request was sent
//	settle     make the calls that are left for a user in a community, until they wear what they earn

const (
	// offerTime bounds how long a card waits for the badges that it offers.
	offerTime = 2 * time.Second
	// settleTime bounds how long a person waits for calls.
	settleTime = 10 * time.Second
	// followPause is how long follow waits before it tries again what settleFor did not finish. A call that timed out
	// may still succeed meanwhile.
	followPause = 5 * time.Second
)

// Offer returns the badges that Save would give a user with this stake, in every community that they are a member of.
// here is the community of the request: they count as its member, even if they are only about to be let in. Offer asks
// every other community, at most once a minute, and blocks for offerTime at most. If a community does not answer, they
// count as its member too: nobody is given a badge that they did not read of.
func (m *Members) Offer(ctx context.Context, user chat.User, here string, stake core.Stake) []Badge {
	p := m.of(user)
	if p == nil || p.adapter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	return eachCommunity(m, p.communitiesOf(p.tiers.communities()), func(c *community) (offered []Badge) {
		for _, b := range p.tiers.in(c.id) {
			if stake.Reaches(b.Amount) == core.Staker {
				offered = append(offered, c.badgeOf(b.ID))
			}
		}
		if len(offered) == 0 {
			return nil
		}
		if _, err := c.wears(ctx, user.ID); isAbsent(err, c.id == here) {
			return nil
		}
		if p.adapter.OneEach() {
			offered = offered[len(offered)-1:]
		}
		return offered
	})
}

// isAbsent reports whether an error of wears means that the user can have no badge in a community. If isHere is set,
// NotAMember does not count, because the platform may not know a new member yet.
func isAbsent(err error, isHere bool) bool {
	failed, isBadgeError := errors.AsType[*chat.BadgeError](err)
	if !isBadgeError {
		return false
	}
	switch failed.Problem {
	case chat.NotAMember:
		return !isHere
	case chat.CannotHave, chat.CommunityGone:
		return true
	}
	return false
}

// eachCommunity returns what f returns for each community, in order. It calls f for all at once, and blocks until all
// calls have returned.
func eachCommunity[T any](m *Members, communities []*community, f func(*community) []T) []T {
	found := make([][]T, len(communities))
	var calling sync.WaitGroup
	for i, c := range communities {
		calling.Go(func() {
			m.guard(func() { found[i] = f(c) })
		})
	}
	calling.Wait()
	return slices.Concat(found...)
}

// Save saves the wallet of a user, in place of any other. The caller has just proved whose the wallet is. Save then
// gives and removes badges to match the stake, and returns the changes. It blocks for settleTime at most; the rest
// is done in the background. If the row cannot be written, Save fails and gives nothing.
func (m *Members) Save(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]Change, error) {
	return m.save(ctx, user, wallet, stake, func(*Row) bool { return true })
}

// save is Save, but does nothing if mayReplace returns false for the row before, which may be nil. mayReplace may be
// called more than once.
func (m *Members) save(
	ctx context.Context, user chat.User, wallet common.Address, stake core.Stake, mayReplace func(old *Row) bool,
) ([]Change, error) {
	p := m.of(user)
	if p == nil {
		return nil, ErrNotSaved
	}
	isSaved := false
	row, err := p.rows.update(ctx, user.ID, func(old *Row) *Row {
		isSaved = mayReplace(old) // again, if update calls this again
		if !isSaved {
			return old
		}
		pressed := rowWithWallet(old, user, wallet, time.Now())
		pressed = p.tiers.decide(pressed, check{stake: stake, press: true}, time.Now())
		pressed.Due = p.nextDue(time.Now())
		return &pressed
	})
	if err != nil || !isSaved {
		return nil, err
	}
	m.Count("address_saved")
	return m.settleFor(ctx, p, *row), nil
}

// rowWithWallet returns the row of a user who saves a wallet, before that wallet is checked. old is the row before, or
// nil.
func rowWithWallet(old *Row, user chat.User, wallet common.Address, now time.Time) Row {
	pressed := Row{User: user}
	if old != nil {
		pressed = old.clone()
	}
	for i := range pressed.Badges {
		pressed.Badges[i].Unsure = true // The platform is asked what the user wears.
	}
	if pressed.Wallet != wallet {
		// What another wallet reached says nothing about this one. Low and RemoveUnder of the badges stay: otherwise a
		// badge could be kept by saving two wallets in turn.
		pressed.SavedAt, pressed.CheckedAt, pressed.Block = timeOf(now), Time{}, Time{}
		pressed.Reached = decimal.NullDecimal{}
		pressed.Lost = nil
	}
	pressed.Wallet = wallet
	pressed.ProvenAt = timeOf(now)
	pressed.Idle = nil
	return pressed
}

// settleFor settles the user of a row in every community at once, for at most settleTime, and returns the changes. What
// is left, follow tries again in the background.
func (m *Members) settleFor(ctx context.Context, p *platform, r Row) []Change {
	if p.adapter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return eachCommunity(m, p.communitiesOf(p.communitiesFor(r)), func(c *community) []Change {
		changes := m.settle(ctx, c, r.User, byPress)
		if isAnyLeft(changes) {
			m.follow(c, r.User)
		}
		return changes
	})
}

// isAnyLeft reports whether settle stopped because a call has to wait, or failed and may succeed soon.
func isAnyLeft(changes []Change) bool {
	if len(changes) == 0 {
		return false
	}
	last := changes[len(changes)-1] // settle stops at the first change that is left.
	return last.Later || last.Problem == chat.BadgeFailed
}

// follow settles a user once more, in the background and after followPause. It also waits out a pause that the platform
// asks for, if that is short. What is left then waits for the next tick.
func (m *Members) follow(c *community, user chat.User) {
	m.background(func(ctx context.Context) {
		if transport.Sleep(ctx, followPause) {
			m.tellRemoved(ctx, c, user, m.settle(ctx, c, user, byPress))
		}
	})
}

// Forgotten is what Forget did.
type Forgotten struct {
	// Wallet is the address that was deleted. It is zero if none was saved.
	Wallet  common.Address
	Changes []Change
}

// Forget deletes the address and the times that are saved about a user, and then removes their badges. The row with the
// user's ID stays until these are removed. Forget blocks for settleTime at most; the rest is done in the background. It
// fails if the row could not be written, and with ErrUnreadable if what is saved cannot be read.
func (m *Members) Forget(ctx context.Context, user chat.User) (f Forgotten, err error) {
	p := m.of(user)
	if p == nil {
		return f, nil
	}
	row, err := p.rows.update(ctx, user.ID, func(r *Row) *Row {
		f.Wallet = common.Address{}
		if r == nil {
			return nil
		}
		f.Wallet = r.Wallet
		left := r.afterForget()
		if len(left.Badges) == 0 {
			return nil
		}
		return &left
	})
	if err == nil && p.rows.former.mayBeUnreadable(user.ID) {
		err = ErrUnreadable // An older version may have saved a row in a form that cannot be read now.
	}
	if errors.Is(err, ErrUnreadable) {
		m.Log.WarnContext(ctx, "somebody sent /forget, and what is saved of them cannot be read; "+
			"bot check counts such values")
	}
	if err != nil {
		return f, err
	}
	if row != nil || f.Wallet != (common.Address{}) {
		m.Count("address_deleted")
	}
	if row != nil {
		f.Changes = m.settleFor(ctx, p, *row)
	}
	return f, nil
}

// Refresh gives a user the badges that they earn and do not wear, and returns the changes. The stake was just read for
// the wallet. Refresh blocks for settleTime at most.
//
//	the wallet is not the saved one      it does nothing
//	the stake reaches a higher amount    it does what Save does
//	than the latest check found
//	otherwise                            it asks each community, at most once a minute, what the user wears. Where a
//	                                     badge is missing, it gives it; elsewhere it writes nothing.
//
// In the last case it skips here, the community of the request: its adapter has told Seen what the user wears.
func (m *Members) Refresh(
	ctx context.Context, user chat.User, here string, wallet common.Address, stake core.Stake,
) ([]Change, error) {
	p := m.of(user)
	if p == nil || p.adapter == nil {
		return nil, nil
	}
	row, err := p.rows.load(ctx, user.ID)
	if err != nil || row == nil || row.Wallet != wallet {
		return nil, err
	}
	if p.tiers.raises(*row, check{stake: stake, press: true}) {
		isStillSaved := func(old *Row) bool { return old != nil && old.Wallet == wallet } // unless /forget was quicker
		return m.save(ctx, user, wallet, stake, isStillSaved)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return eachCommunity(m, p.communitiesOf(p.tiers.communities()), func(c *community) []Change {
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

// raises reports whether a check reaches a higher amount than the latest one.
func (t tiers) raises(r Row, c check) bool {
	for _, amount := range t.amounts {
		if c.answerFor(amount) == reached && !t.reaches(r, amount) {
			return true
		}
	}
	return false
}

// isWorthAsking reports whether the user of a row holds or earns a badge in the community.
func (c *community) isWorthAsking(r Row) bool {
	isEarned := func(b tier) bool { return c.tiers.earns(r, b) }
	return len(r.in(c.id)) > 0 || slices.ContainsFunc(c.tiers.in(c.id), isEarned)
}

// isAnyMissing reports whether the user of a row holds or earns a badge that is not among those that they wear.
func (c *community) isAnyMissing(r Row, wears []string) bool {
	after := r.afterAnswer(c.id, wears, time.Now())
	isHeldMissing := len(after.in(c.id)) < len(r.in(c.id))
	next := c.tiers.next(after, place{community: c.id, oneEach: c.adapter.OneEach()})
	return isHeldMissing || next.action == give
}

// Seen tells Members that a user sent a command in a community and wears these badges there: all roles, or the tag. In
// the background, and at most once a minute, Members then gives the badges that the user earns and does not wear.
func (m *Members) Seen(user chat.User, community string, wears []string) {
	p := m.of(user)
	if p == nil || p.adapter == nil || !p.tiers.namesAny(community) {
		return
	}
	c := p.community(community)
	if !c.wearsOurs(wears) && !p.latest.knows(user.ID) {
		return // They have nothing to do with badges.
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
	if isIdle || c.isAnyMissing(*row, wears) || slices.ContainsFunc(row.in(c.id), isUnsure) {
		return m.giveBack(ctx, c, user, wears)
	}
	return nil
}

// giveBack settles a user in a community where they are a member and seemed to wear these badges. They may have changed
// since, by a call that was being made: badges that they do not seem to wear become unsure, and settle asks.
func (m *Members) giveBack(ctx context.Context, c *community, user chat.User, wears []string) []Change {
	_, err := c.rows.update(ctx, user.ID, func(r *Row) *Row {
		switch {
		case r == nil, r.Forgotten():
			return r // /forget was quicker.
		case c.isForeign(*r, wears):
			return new(r.idleIn(c.id)) // An administrator's tag stays, and ours is not given any more.
		}
		return new(r.afterCommand(c.id, wears)) // They are back: the community is not idle.
	})
	if err != nil {
		return nil
	}
	return m.settle(ctx, c, user, byCommand)
}

// reportUnrecorded counts that a user wears a badge and has no row, and logs that once an hour: rows were lost, or a
// moderator gave the badge.
func (m *Members) reportUnrecorded(ctx context.Context, c *community) {
	m.Count("badge_unrecorded")
	once := ratelimit.Limit{Key: c.key("unrecorded"), Burst: 1, Every: time.Hour}
	if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
		c.log.WarnContext(ctx, "a user wears a role or a tag of the settings, and no address of theirs is saved: "+
			"were saved addresses lost? Nobody checks such a user")
	}
}
