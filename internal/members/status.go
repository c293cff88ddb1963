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

// Saved is what commands show of a row.
type Saved struct {
	Wallet             common.Address
	SavedAt, CheckedAt time.Time
	// LastBlock is the time of the newest block that a check read.
	LastBlock time.Time
	// Stakes says that the latest check found a stake.
	Stakes bool
	// Given are those that the user was given, in the order of the settings.
	Given []GivenBadge
	// AtRisk are those of Badges that go if the next check finds as little as the latest one.
	AtRisk []GivenBadge
	// Missing are the badges that the user has lost, and has not reached again: the latest one in a community where a
	// member has one at a time.
	Missing []Badge
	// Lost is why the first of Missing was lost. It is nil if none was.
	Lost *Loss
}

// GivenBadge is a badge that a user was given, and when.
type GivenBadge struct {
	Badge
	Since time.Time
}

// Elsewhere returns a copy of s without the badges of a community.
func (s *Saved) Elsewhere(community string) *Saved {
	copied := *s
	isHere := func(h GivenBadge) bool { return h.Community == community }
	copied.Given = slices.DeleteFunc(slices.Clone(s.Given), isHere)
	copied.AtRisk = slices.DeleteFunc(slices.Clone(s.AtRisk), isHere)
	return &copied
}

// Saved returns what is saved of a user, or nil if nothing is. It fails with ErrUnreadable if what is saved cannot be
// read, and blocks for a call to the Store.
func (m *Members) Saved(ctx context.Context, user chat.User) (*Saved, error) {
	p := m.of(user)
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
		Wallet: row.Wallet, SavedAt: row.SavedAt.Time, CheckedAt: row.CheckedAt.Time, LastBlock: row.Block.Time,
		Stakes: p.tiers.reaches(*row, decimal.Zero),
	}
	held := slices.Clone(row.Badges)
	slices.SortFunc(held, func(a, b Held) int { return p.tiers.compare(a.Community, a.Badge, b.Community, b.Badge) })
	for _, h := range held {
		if h.Since.IsZero() { // Nobody knows whether it was given.
			continue
		}
		has := GivenBadge{p.badgeOf(h.Community, h.Badge), h.Since.Time}
		s.Given = append(s.Given, has)
		if p.tiers.isLosing(*row, h) {
			s.AtRisk = append(s.AtRisk, has)
		}
	}
	p.addLost(s, *row)
	return s, nil
}

// warnUnread logs once a minute that a row could not be read.
func (m *Members) warnUnread(ctx context.Context, p *platform, err error) {
	once := ratelimit.Limit{Key: p.key("unread"), Burst: 1, Every: time.Minute}
	if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
		m.Log.WarnContext(ctx, "what is saved of a user could not be read", "platform", p.name, "err", err)
	}
}

// addLost sets Missing and Lost.
func (p *platform) addLost(s *Saved, r Row) {
	lost := slices.Clone(r.Lost)
	slices.SortFunc(lost, func(a, b Loss) int { return p.tiers.compare(a.Community, a.Badge, b.Community, b.Badge) })
	for _, l := range lost {
		_, configured := p.tiers.find(l.Community, l.Badge)
		isHeld := r.index(l.Community, l.Badge) >= 0
		isIdle := slices.Contains(r.Idle, l.Community)
		if !configured || isHeld || isIdle || p.isOlderLoss(l, lost) {
			continue
		}
		s.Missing = append(s.Missing, p.badgeOf(l.Community, l.Badge))
		if s.Lost == nil {
			s.Lost = &l
		}
	}
}

// isOlderLoss reports whether a member has one badge at a time, and lost another one in the same community later, or a
// higher one at the same time.
func (p *platform) isOlderLoss(l Loss, all []Loss) bool {
	if p.adapter == nil || !p.adapter.OneEach() {
		return false
	}
	return slices.ContainsFunc(all, func(other Loss) bool {
		isHigher := p.tiers.compare(other.Community, other.Badge, l.Community, l.Badge) > 0
		isLater := other.Second.After(l.Second.Time) || other.Second.Equal(l.Second.Time) && isHigher
		return other.Community == l.Community && other.Badge != l.Badge && isLater
	})
}

// compare orders badges as the settings do. Badges that they do not name come first.
func (t tiers) compare(community, badge, otherCommunity, otherBadge string) int {
	position := func(community, badge string) int {
		return slices.IndexFunc(t.all, func(b tier) bool { return b.Community == community && b.ID == badge })
	}
	return cmp.Compare(position(community, badge), position(otherCommunity, otherBadge))
}

// WhyLost says when and why a badge with this amount was lost, and what brings it back.
func WhyLost(l Loss, wallet chat.Value, amount decimal.Decimal, symbol string) chat.Text {
	values := chat.Values{"wallet": wallet, "when": WhenLost(l), "verify": chat.CommandLink("/verify")}
	switch {
	case l.Disowned:
		return chat.SayWith("lost.owner", values)
	case amount.IsZero():
		return chat.SayWith("lost.stake", values)
	}
	values["amount"] = chat.Amount{Decimal: amount, Symbol: symbol}
	return chat.SayWith("lost.amount", values)
}

// WhenLost says when the two checks were.
func WhenLost(l Loss) chat.Text {
	const day, clock = 24 * time.Hour, "15:04"
	key := "lost.days"
	if l.First.Truncate(day).Equal(l.Second.Truncate(day)) {
		key = "lost.day"
	}
	return chat.SayWith(key, chat.Values{
		"day": chat.Day{Time: l.First.Time}, "first": chat.Plain(l.First.Format(clock)),
		"later": chat.Day{Time: l.Second.Time}, "second": chat.Plain(l.Second.Format(clock)),
	})
}

// tell tells a user why a badge is gone, if they have a private chat with the bot. It does nothing without a Loss,
// and if the settings do not name the badge any more.
func (m *Members) tell(ctx context.Context, c *community, user chat.User, b Badge) {
	row, err := c.rows.load(ctx, user.ID)
	if err != nil || row == nil || row.Forgotten() {
		return
	}
	l := row.lost(c.id, b.ID)
	_, configured := c.tiers.find(c.id, b.ID)
	if l == nil || !configured {
		return
	}
	c.adapter.Notify(ctx, user.ID, &chat.Reply{
		Language: m.Language, Tone: chat.Negative,
		Title: chat.SayWith("lost.title", chat.Values{"badge": b.Name, "group": b.Group()}),
		Text:  WhyLost(*l, chat.Address{Hex: row.Wallet.Hex()}, b.Amount, m.Symbol),
	})
}

// Status is what moderators of a community see.
type Status struct {
	// Have counts the users who have, or may have, a badge there.
	Have int
	// Each has the badges that the settings name there, by ascending amount.
	Each []BadgeStatus
	// Losing counts those of Have who lose a badge if the next check finds what the latest one did.
	Losing int
	// Held counts those of Losing whom the fuse holds. It is 0 unless the fuse has blown.
	Held int
	// FirstHeld are the first ten of Held, by ascending ID.
	FirstHeld []chat.User
	// Gives and Removals count the calls that succeeded since the start of this process.
	Gives, Removals int
	// Refused is why the platform refused calls there a short time ago: those for every badge, or else those for the
	// first badge that has a refusal. It is "" if there is no refusal.
	Refused chat.BadgeProblem
}

// BadgeStatus is what moderators of a community see of one badge.
type BadgeStatus struct {
	Badge
	// Have counts the users who have, or may have, the badge.
	Have int
	// Checked counts those of Have whose stake was known within a cycle.
	Checked int
	// Refused is why the platform refused calls for the badge a short time ago, or "".
	Refused chat.BadgeProblem
}

// Status counts the rows of a community as this process last read them, some five minutes ago. It fails until all
// rows were read once, and while they cannot be read. It does no I/O.
func (m *Members) Status(name chat.Platform, community string) (Status, error) {
	p := m.platforms[name]
	if p == nil {
		return Status{}, errUnread
	}
	n := p.latest.get()
	if n == nil {
		return Status{}, errUnread
	}
	held := n.held(community)
	s := Status{Held: len(held), FirstHeld: held[:min(len(held), 10)]}
	if t := n.communities[community]; t != nil {
		s.Have, s.Losing = t.have, t.losing
	}
	if p.adapter == nil {
		return s, nil
	}
	c := p.community(community)
	all := c.refusedWithin(c.cycleRetries(), wholeCommunity)
	s.Refused = all
	for _, b := range m.ConfiguredBadges(name, community) {
		each := BadgeStatus{Badge: b, Refused: cmp.Or(all, c.refusedWithin(c.cycleRetries(), about{badge: b.ID}))}
		if t := n.badges[badgeKey{community, b.ID}]; t != nil {
			each.Have, each.Checked = t.have, t.checked
		}
		s.Each = append(s.Each, each)
		s.Refused = cmp.Or(s.Refused, each.Refused)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Gives, s.Removals = c.gives, c.removals
	return s, nil
}

// All returns every row of the platforms whose tokens are set, sorted by platform and user ID, and how many values
// are no rows. It changes nothing. If it cannot read some, it returns the others and an error.
func (m *Members) All(ctx context.Context) (all []Row, unreadable int, err error) {
	for _, p := range m.saving() {
		rows, n, failed := p.rows.all(ctx)
		all = append(all, rows...)
		unreadable += n
		err = cmp.Or(err, failed)
	}
	slices.SortFunc(all, func(a, b Row) int { return compareUsers(a.User, b.User) })
	return all, unreadable, err
}

// compareUsers orders users by platform and ID.
func compareUsers(a, b chat.User) int {
	byLength := cmp.Compare(len(a.ID), len(b.ID)) // A longer number is a higher one.
	return cmp.Or(cmp.Compare(a.Platform, b.Platform), byLength, cmp.Compare(a.ID, b.ID))
}
