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

const (
	// offerTime bounds how long a card waits for the badges that it offers.
	offerTime = 2 * time.Second
	// settleTime bounds how long a person waits for calls.
	settleTime = 10 * time.Second
	// followPause is the wait before what a person waited for in vain is tried again. A call whose outcome is not known
	// may still be carried out meanwhile.
	followPause = 5 * time.Second
)

// Offer returns the badges that Save would give a user with this stake: in the community here, where they are or are
// just let in, and in each other one that they are in. It asks each whether they are in it, once a minute, and blocks
// for offerTime at most. A community that does not answer counts as one that they are in: nobody is given a badge
// that they did not read of.
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

// isAbsent reports whether an error of wears means that the user can have no badge there. If isHere, they are known
// to be there: the platform may not say so yet of a new member.
func isAbsent(err error, isHere bool) bool {
	failed, is := errors.AsType[*chat.BadgeError](err)
	if !is {
		return false
	}
	notThere := failed.Problem == chat.NotAMember && !isHere
	return notThere || failed.Problem == chat.CannotHave || failed.Problem == chat.CommunityGone
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

// Save saves the wallet of a user, which the caller has just seen to be theirs, in place of any other. It has their
// badges follow, and returns what became of these. It blocks for settleTime at most; what takes longer follows by
// itself. It fails if the row could not be written, and then gives nothing.
func (m *Members) Save(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]Change, error) {
	return m.save(ctx, user, wallet, stake, func(*Row) bool { return true })
}

// save is Save, but does nothing if replace returns false for the row, which may be nil.
func (m *Members) save(
	ctx context.Context, user chat.User, wallet common.Address, stake core.Stake, replace func(*Row) bool,
) ([]Change, error) {
	p := m.of(user)
	if p == nil {
		return nil, ErrNotSaved
	}
	saved := false
	row, err := p.rows.update(ctx, user.ID, func(r *Row) *Row {
		saved = replace(r)
		if !saved {
			return r
		}
		pressed := pressedRow(r, user, wallet, time.Now())
		pressed = p.tiers.decide(pressed, check{stake: stake, press: true}, time.Now())
		pressed.Due = p.nextDue(time.Now())
		return &pressed
	})
	if err != nil || !saved {
		return nil, err
	}
	m.Count("address_saved")
	return m.settleFor(ctx, p, *row), nil
}

// pressedRow returns the row of a user who saves a wallet, before the check. r is the row before, or nil.
func pressedRow(r *Row, user chat.User, wallet common.Address, now time.Time) Row {
	pressed := Row{User: user}
	if r != nil {
		pressed = r.clone()
	}
	for i := range pressed.Badges {
		pressed.Badges[i].Unsure = true // The platform is asked what the user wears.
	}
	if pressed.Wallet != wallet {
		// What another wallet reached says nothing of this one. What it missed still counts: otherwise a badge could be
		// kept by saving two wallets in turn.
		pressed.SavedAt, pressed.CheckedAt, pressed.Block = timeOf(now), Time{}, Time{}
		pressed.Reached, pressed.Pools = decimal.NullDecimal{}, 0
		pressed.Lost = nil
	}
	pressed.Wallet = wallet
	pressed.ProvenAt = timeOf(now)
	pressed.Idle = nil
	return pressed
}

// settleFor settles a row in every community at once, for a person who waits. It has what is left follow.
func (m *Members) settleFor(ctx context.Context, p *platform, r Row) []Change {
	if p.adapter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return eachCommunity(m, p.communitiesOf(p.communitiesFor(r)), func(c *community) []Change {
		changes := m.settle(ctx, c, r.User, byPress)
		if isLeft(changes) {
			m.follow(c, r.User)
		}
		return changes
	})
}

// isLeft reports whether settle ended because a call has to wait, or failed and may succeed soon.
func isLeft(changes []Change) bool {
	if len(changes) == 0 {
		return false
	}
	last := changes[len(changes)-1] // settle ends with the first one that is left.
	return last.Later || last.Problem == chat.BadgeFailed
}

// follow settles a user once more after followPause, and waits there for the end of a short pause. What is left then
// waits for the next tick.
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

// Forget deletes the address and the times that are saved of a user at once, and the rest once their badges are
// removed. It blocks for settleTime at most. It fails if the row could not be written, and with ErrUnreadable if what
// is saved cannot be read.
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
		err = ErrUnreadable // A copy of format 1 may be left.
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

// Refresh gives a user the badges that are missing, and returns what became of them. The stake is that of the wallet
// just now. If it reaches a higher amount than before, Refresh is Save. Otherwise it asks each community but here
// which badges the user wears, once a minute, and writes and gives nothing where none is missing. It does nothing
// unless the wallet is the saved one. It blocks for settleTime at most.
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
		isSaved := func(r *Row) bool { return r != nil && r.Wallet == wallet } // unless /forget was quicker
		return m.save(ctx, user, wallet, stake, isSaved)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return eachCommunity(m, p.communitiesOf(p.tiers.communities()), func(c *community) []Change {
		if c.id == here || !c.isWorthAsking(*row) {
			return nil
		}
		wears, err := c.wears(ctx, user.ID)
		if err != nil || !c.lacks(*row, wears) {
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

// isWorthAsking reports whether the user of a row holds a badge in the community, or is to be given one.
func (c *community) isWorthAsking(r Row) bool {
	isReached := func(b tier) bool { return c.tiers.earns(r, b) }
	return len(r.in(c.id)) > 0 || slices.ContainsFunc(c.tiers.in(c.id), isReached)
}

// lacks reports whether a user who wears badges lacks one that they hold or reach.
func (c *community) lacks(r Row, wears []string) bool {
	after := r.afterAnswer(c.id, wears, time.Now())
	isGone := len(after.in(c.id)) < len(r.in(c.id))
	return isGone || c.tiers.next(after, place{community: c.id, oneEach: c.adapter.OneEach()}).action == give
}

// Seen tells that a user sent a command in a community, and wears these badges there: all roles, or the tag. It has
// them given what they lack, once a minute at most. It does not block.
func (m *Members) Seen(user chat.User, community string, wears []string) {
	p := m.of(user)
	if p == nil || p.adapter == nil {
		return
	}
	if !p.tiers.namesAny(community) {
		return
	}
	c := p.community(community)
	if !c.wearsOurs(wears) && !p.latest.knows(user.ID) {
		return // They have nothing to do with badges.
	}
	m.background(func(ctx context.Context) {
		once := ratelimit.Limit{Key: c.limitKey("seen " + user.ID), Burst: 1, Every: time.Minute}
		if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
			m.tellRemoved(ctx, c, user, m.see(ctx, c, user, wears))
		}
	})
}

// wearsOurs reports whether one of these badges is in the settings.
func (c *community) wearsOurs(wears []string) bool {
	return slices.ContainsFunc(c.tiers.in(c.id), func(b tier) bool { return slices.Contains(wears, b.ID) })
}

// see gives a user what they lack in a community where they are now.
func (m *Members) see(ctx context.Context, c *community, user chat.User, wears []string) []Change {
	row, err := c.rows.load(ctx, user.ID)
	isUnsure := func(h Held) bool { return h.Unsure }
	switch {
	case err != nil:
		return nil
	case row == nil && c.wearsOurs(wears):
		m.reportUnrecorded(ctx, c)
		return nil
	case row == nil, row.Forgotten():
		return nil
	case slices.Contains(row.Idle, c.id), c.lacks(*row, wears), slices.ContainsFunc(row.in(c.id), isUnsure):
		return m.giveBack(ctx, c, user, wears)
	}
	return nil
}

// giveBack gives a user what they lack in a community where they are, and where they were seen to wear badges. What
// was seen may be older than a call that is being made. So a badge that they do not seem to wear is unsure, and
// settle asks.
func (m *Members) giveBack(ctx context.Context, c *community, user chat.User, wears []string) []Change {
	_, err := c.rows.update(ctx, user.ID, func(r *Row) *Row {
		if r == nil || r.Forgotten() {
			return r
		}
		if c.isForeign(*r, wears) {
			return new(r.idleIn(c.id))
		}
		return new(r.afterCommand(c.id, wears))
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
