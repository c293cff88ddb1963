package members

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Saved is what commands show of a row. Its badges are in the order of the settings.
type Saved struct {
	Wallet  common.Address
	SavedAt time.Time
	// CheckedAt is when a check last read the stake completely.
	CheckedAt time.Time
	// LastBlock is the time of the newest block that a check read.
	LastBlock time.Time
	// Stakes says that the latest check found a stake.
	Stakes bool
	// Given are the badges that the user was given and has not lost yet.
	Given []GivenBadge
	// AtRisk are those of Given that the user loses if the next check finds as little as the latest one.
	AtRisk []GivenBadge
	// Missing are the badges that the user has lost and not earned again. Where a member wears one badge at a time, it has
	// one for each community: the one that was lost last.
	Missing []LostBadge
}

// GivenBadge is a badge that a user was given, and when.
type GivenBadge struct {
	Badge
	Since time.Time
}

// LostBadge is a badge that a user has lost, and why.
type LostBadge struct {
	Badge
	Why Loss
}

// Elsewhere returns a copy of s without a community's badges in Given and AtRisk. Missing stays: those badges were lost
// because of the stake, wherever the user is now.
func (s *Saved) Elsewhere(community string) *Saved {
	copied := *s
	isThere := func(h GivenBadge) bool { return h.Community == community }
	copied.Given = slices.DeleteFunc(slices.Clone(s.Given), isThere)
	copied.AtRisk = slices.DeleteFunc(slices.Clone(s.AtRisk), isThere)
	return &copied
}

// Saved returns what is saved of a user, or nil if nothing is. It blocks for a call to the Store. If the user's row
// cannot be read, it fails with ErrUnreadable.
func (m *Members) Saved(ctx context.Context, user chat.User) (*Saved, error) {
	p := m.platformOf(user)
	if p == nil {
		return nil, nil
	}
	row, err := p.rows.load(ctx, user.ID)
	if err != nil {
		m.warnUnread(ctx, p, err)
		return nil, err
	}
	switch {
	case row == nil && p.rows.former.mayBeUnreadable(user.ID):
		return nil, ErrUnreadable
	case row == nil, row.Forgotten():
		return nil, nil
	}
	s := &Saved{
		Wallet:    row.Wallet,
		SavedAt:   row.SavedAt.Time,
		CheckedAt: row.CheckedAt.Time,
		LastBlock: row.Block.Time,
		Stakes:    p.tiers.stakesAnything(*row),
		Missing:   p.missing(*row),
	}
	held := slices.Clone(row.Badges)
	slices.SortFunc(held, func(a, b Held) int {
		return p.tiers.compareBadges(badgeKey{a.Community, a.Badge}, badgeKey{b.Community, b.Badge})
	})
	for _, h := range held {
		if h.Since.IsZero() {
			continue // The call that gives it was begun, and may have failed.
		}
		given := GivenBadge{p.badgeIn(h.Community, h.Badge), h.Since.Time}
		s.Given = append(s.Given, given)
		wasChecked := !row.Block.IsZero() // in the present pools
		if wasChecked && p.tiers.isLosing(*row, h) {
			s.AtRisk = append(s.AtRisk, given)
		}
	}
	return s, nil
}

// stakesAnything reports whether the latest check of a row found a stake.
func (t tiers) stakesAnything(r Row) bool { return t.reaches(r, decimal.Zero) }

// warnUnread logs once a minute that a row could not be read.
func (m *Members) warnUnread(ctx context.Context, p *platform, err error) {
	once := ratelimit.Limit{Key: p.botLimitKey("unread"), Burst: 1, Every: time.Minute}
	if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
		m.Log.WarnContext(ctx, "what is saved of a user could not be read", "platform", p.name, "err", err)
	}
}

// missing returns the lost badges of a row for Saved.Missing. It leaves out badges that the settings no longer name,
// badges that are not removed yet, and the badges of idle communities, where the user cannot have a badge now.
func (p *platform) missing(r Row) (missing []LostBadge) {
	lost := slices.Clone(r.Lost)
	slices.SortFunc(lost, func(a, b Loss) int { return p.tiers.compareBadges(a.key(), b.key()) })
	for _, l := range lost {
		_, configured := p.tiers.find(l.Community, l.Badge)
		isHeld := r.index(l.Community, l.Badge) >= 0
		isIdle := slices.Contains(r.Idle, l.Community)
		if !configured || isHeld || isIdle || p.isReplaced(l, lost) {
			continue
		}
		missing = append(missing, LostBadge{p.badgeIn(l.Community, l.Badge), l})
	}
	return missing
}

// isReplaced reports whether another of these losses is shown in place of l. That is so where a member has one badge at
// a time, and lost the other one later. If both were lost at the same time, the higher one is shown.
func (p *platform) isReplaced(l Loss, all []Loss) bool {
	if p.adapter == nil || !p.adapter.OneEach() {
		return false
	}
	return slices.ContainsFunc(all, func(other Loss) bool {
		if other.Community != l.Community || other.Badge == l.Badge {
			return false
		}
		if other.Second.Equal(l.Second.Time) {
			return p.tiers.compareBadges(other.key(), l.key()) > 0
		}
		return other.Second.After(l.Second.Time)
	})
}

// key identifies the badge that was lost.
func (l Loss) key() badgeKey { return badgeKey{l.Community, l.Badge} }

// compareBadges orders badges as the settings do: by community, and then by ascending amount. Badges that the settings
// do not name come first.
func (t tiers) compareBadges(a, b badgeKey) int {
	position := func(key badgeKey) int { // or -1
		return slices.IndexFunc(t.all, func(b tier) bool { return b.Community == key.Community && b.ID == key.Badge })
	}
	return cmp.Compare(position(a), position(b))
}
