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
	"herald/internal/transport"
)

// This file has what users ask for: to save an address (Save), to be forgotten (Forget), and a card that shows which
// badges they would get for an address (Offer). After Save and Forget, the user is settled: calls to the platform give
// and remove badges, until the user has those that the row says.

const (
	// offerTime limits how long Offer asks the platform.
	offerTime = 2 * time.Second
	// settleTime limits how long a person waits for the calls that settle them.
	settleTime = 10 * time.Second
	// settleLaterPause is how long settleLater waits. A call that timed out may still succeed meanwhile.
	settleLaterPause = 5 * time.Second
)

// Save saves the wallet of a user, in place of any other. The caller has just proved that the wallet is the user's.
// Save then gives and removes badges to match the stake, and returns the changes. It blocks for settleTime at most, and
// makes the calls that are left in the background. If the row cannot be written, Save fails and gives nothing.
func (m *Members) Save(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]Change, error) {
	return m.save(ctx, user, wallet, stake, func(*Row) bool { return true })
}

// save is Save, unless mayReplace returns false for the user's row so far: then save does nothing. The row is nil if
// there is none. mayReplace may be called more than once.
func (m *Members) save(
	ctx context.Context, user chat.User, wallet common.Address, stake core.Stake, mayReplace func(old *Row) bool,
) ([]Change, error) {
	p := m.platformOf(user)
	if p == nil {
		return nil, ErrNotSaved
	}
	isSaved := false
	row, err := p.rows.update(ctx, user.ID, func(old *Row) *Row {
		isSaved = mayReplace(old)
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

// rowWithWallet returns the row of a user who saves a wallet, before the wallet is checked. old is the user's row so
// far, or nil if there is none.
func rowWithWallet(old *Row, user chat.User, wallet common.Address, now time.Time) Row {
	pressed := Row{User: user}
	if old != nil {
		pressed = old.clone()
	}
	for i := range pressed.Badges {
		pressed.Badges[i].Unsure = true // settle then asks the platform whether the user still has the badge.
	}
	if pressed.Wallet != wallet {
		// The checks of another wallet say nothing about this one. But the badges keep their first low checks and the
		// decisions to remove them: otherwise a user could keep a badge by saving two wallets in turn.
		pressed.SavedAt = timeOf(now)
		pressed.CheckedAt = Time{}
		pressed.Block = Time{}
		pressed.Reached = decimal.NullDecimal{}
		pressed.Lost = nil
	}
	pressed.Wallet = wallet
	pressed.ProvenAt = timeOf(now)
	pressed.Idle = nil
	return pressed
}

// settleFor settles the user of a row in every community at once, for at most settleTime, and returns the changes. If a
// call is left in a community, settleFor calls settleLater.
func (m *Members) settleFor(ctx context.Context, p *platform, r Row) []Change {
	if p.adapter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return eachCommunity(m, p, p.communitiesFor(r), func(c *community) []Change {
		changes := m.settle(ctx, c, r.User, byPress)
		if isAnyLeft(changes) {
			m.settleLater(c, r.User)
		}
		return changes
	})
}

// isAnyLeft reports whether settle, which returned these changes, stopped at a call that has to wait, or that failed
// and may succeed soon.
func isAnyLeft(changes []Change) bool {
	if len(changes) == 0 {
		return false
	}
	last := changes[len(changes)-1] // settle stops at the first such call.
	return last.Later || last.Problem == chat.BadgeFailed
}

// settleLater settles a user once more, in the background and after settleLaterPause. The next tick makes the calls
// that are left after that.
func (m *Members) settleLater(c *community, user chat.User) {
	m.background(func(ctx context.Context) {
		if transport.Sleep(ctx, settleLaterPause) {
			m.tellRemoved(ctx, c, user, m.settle(ctx, c, user, byPress))
		}
	})
}

// eachCommunity calls f for the communities with these IDs, all at once, and blocks until all calls have returned. It
// returns the results in the order of ids.
func eachCommunity[T any](m *Members, p *platform, ids []string, f func(*community) []T) []T {
	results := make([][]T, len(ids))
	var calling sync.WaitGroup
	for i, id := range ids {
		c := p.community(id)
		calling.Go(func() {
			m.guard(func() { results[i] = f(c) })
		})
	}
	calling.Wait()
	return slices.Concat(results...)
}

// Forgotten is what Forget did.
type Forgotten struct {
	// Wallet is the address that was deleted. It is zero if none was saved.
	Wallet  common.Address
	Changes []Change
}

// Forget deletes the address and the times that are saved about a user, and then removes their badges. A row with the
// user's ID stays until these are removed. Forget blocks for settleTime at most, and makes the calls that are left in
// the background. It fails if the row could not be written, and with ErrUnreadable if the row cannot be read.
func (m *Members) Forget(ctx context.Context, user chat.User) (f Forgotten, err error) {
	p := m.platformOf(user)
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
		err = ErrUnreadable // The user may have another row, of format 1.
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

// Offer returns the badges that Save would give a user with this stake, in every community that they are a member of.
// They count as a member of here, the community of the request, even if they are only about to be let in. Offer asks
// every other community, at most once a minute, and blocks for offerTime at most. If a community does not answer, they
// count as its member, too: otherwise Save might give them a badge that the card did not name.
func (m *Members) Offer(ctx context.Context, user chat.User, here string, stake core.Stake) []Badge {
	p := m.platformOf(user)
	if p == nil || p.adapter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	return eachCommunity(m, p, p.tiers.communities(), func(c *community) (offered []Badge) {
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
			highest := offered[len(offered)-1]
			return []Badge{highest}
		}
		return offered
	})
}

// isAbsent reports whether an error of wears means that the user cannot have a badge in a community. isHere says that
// the request came from there: then NotAMember does not count, because the platform may not know a new member yet.
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
