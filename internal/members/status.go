package members

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

var errUnread = errors.New("the saved addresses could not be read")

// Saved is what commands show of a row.
type Saved struct {
	Wallet             common.Address
	SavedAt, CheckedAt time.Time
	// LastBlock is the time of the newest block that a check read.
	LastBlock time.Time
	// Stakes says that the last check found a stake.
	Stakes bool
	// Badges are those that the user was given, in the order of the settings.
	Badges []Has
	// Going are those of Badges that go if the next check finds as little as the last one.
	Going []Has
	// Lost is how the stake fell. It is nil once the stake has risen again.
	Lost *Loss
	// Missing are the badges that went with Lost.
	Missing []Badge
}

// Has is a badge that a user was given, and when.
type Has struct {
	Badge
	Since time.Time
}

// Elsewhere returns a copy of s without the badges of a community.
func (s *Saved) Elsewhere(community string) *Saved {
	copied := *s
	isHere := func(h Has) bool { return h.Community == community }
	copied.Badges = slices.DeleteFunc(slices.Clone(s.Badges), isHere)
	copied.Going = slices.DeleteFunc(slices.Clone(s.Going), isHere)
	return &copied
}

// Saved returns what is saved of a user, or nil if nothing is. It fails if the rows cannot be
// read, and blocks for a call to the Store.
func (m *Members) Saved(ctx context.Context, user chat.User) (*Saved, error) {
	if !m.Enabled() || checkUser(user) != nil {
		return nil, nil
	}
	row, err := m.rows.find(ctx, user)
	if err != nil || row == nil || row.Forgotten() {
		return nil, err
	}
	p := m.platforms[user.Platform]
	s := &Saved{
		Wallet: row.Wallet, SavedAt: row.SavedAt.Time, CheckedAt: row.CheckedAt.Time, LastBlock: row.Block.Time,
		Stakes: p.expected(*row) > 0, Lost: row.Lost, Missing: p.missing(*row),
	}
	slices.SortFunc(row.Given, func(a, b Given) int {
		return cmp.Compare(p.position(a.Community, a.Badge), p.position(b.Community, b.Badge))
	})
	for _, g := range row.Given {
		if g.State == Absent || g.Since.IsZero() { // Since is zero if nobody knows whether it was given.
			continue
		}
		has := Has{p.badgeOf(g.Community, g.Badge), g.Since.Time}
		s.Badges = append(s.Badges, has)
		if p.losing(*row, g) {
			s.Going = append(s.Going, has)
		}
	}
	return s, nil
}

// missing returns the badges that a row's user has lost with their stake. It returns nothing if the
// list has changed since, because the levels of the row are those of its list.
func (p *platform) missing(r Row) (lost []Badge) {
	if r.Lost == nil || r.List != p.listHash {
		return nil
	}
	for _, b := range p.badges {
		fell := r.Level < p.of(b.Amount) && p.of(b.Amount) <= r.Lost.From
		absent := r.index(b.Community, "") >= 0
		if !fell || absent || r.index(b.Community, b.ID) >= 0 {
			continue
		}
		if n := len(lost); n > 0 && lost[n-1].Community == b.Community && p.Badges != nil && p.OneEach() {
			lost = lost[:n-1] // The user had only the one with the highest amount.
		}
		lost = append(lost, p.badgeOf(b.Community, b.ID))
	}
	return lost
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

// tell tells a user why a badge is gone, if they have a private chat with the bot. It does
// nothing without a Loss, and if the settings do not name the badge any more.
func (m *Members) tell(ctx context.Context, c *community, user chat.User, b Badge) {
	row, err := m.rows.find(ctx, user)
	_, named := c.badge(c.id, b.ID)
	if err != nil || row == nil || row.Lost == nil || row.Forgotten() || !named {
		return
	}
	c.Notify(ctx, user.ID, chat.Reply{
		Language: m.Language, Tone: chat.Negative,
		Title: chat.SayWith("lost.title", chat.Values{"badge": b.Name, "group": b.Group()}),
		Text:  WhyLost(*row.Lost, chat.Address{Hex: row.Wallet.Hex()}, b.Amount, m.Symbol),
	})
}

// Status is what moderators of a community see.
type Status struct {
	// Have counts the users who have, or may have, a badge that the settings name there.
	Have int
	// Each has the badges that the settings name there, by ascending amount.
	Each []BadgeStatus
	// Losing counts those of Have who lose a badge if the next check finds what the last one did.
	Losing int
	// Held counts those of Losing whom the fuse holds. It is 0 unless the fuse has blown.
	Held int
	// FirstHeld are the first ten of Held, by ascending ID.
	FirstHeld []chat.User
	// Gives and Removals count the calls that succeeded since the start of this process.
	Gives, Removals int
	// Refused is why the platform refused calls there a short time ago: those for every badge, or else
	// those for the first badge that has a refusal. It is "" if there is no refusal.
	Refused chat.BadgeProblem
}

// BadgeStatus is what moderators of a community see of one badge.
type BadgeStatus struct {
	Badge
	// Have counts the users who have, or may have, the badge.
	Have int
	// Checked counts those of Have who were checked within a cycle, or little more: some ticks are
	// slow.
	Checked int
	// Refused is why the platform refused calls for the badge a short time ago, or "".
	Refused chat.BadgeProblem
}

// Status counts the rows of a community as this process last read them, at most a cycle ago. It
// fails until all rows were read once, and after a cycle in which none could be read. It does no I/O.
func (m *Members) Status(name chat.Platform, community string) (Status, error) {
	if !m.rows.known() {
		return Status{}, errUnread
	}
	t, held := m.rows.tally(community), m.rows.held(community)
	s := Status{Have: t.have, Losing: t.losing, Held: len(held), FirstHeld: held[:min(len(held), 10)]}
	if p := m.platforms[name]; p != nil && p.Badges != nil {
		c := p.community(community)
		s.Refused = c.refused(wholeCommunity)
		for _, b := range m.Badges(name, community) {
			t := m.rows.tally(badgeKey(community, b.ID))
			each := BadgeStatus{
				Badge: b, Have: t.have, Checked: t.checked, Refused: cmp.Or(c.refused(wholeCommunity), c.refused(b.ID)),
			}
			s.Each, s.Refused = append(s.Each, each), cmp.Or(s.Refused, each.Refused)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		s.Gives, s.Removals = c.gives, c.removals
	}
	return s, nil
}

// Census counts the saved addresses, those that were checked as BadgeStatus.Checked says, and the users
// whom a fuse holds, as Status.Held. A user who is held in two communities counts twice. Each is NaN
// while Status fails. Census does no I/O.
func (m *Members) Census() (rows, checked, held float64) {
	if !m.rows.known() {
		return math.NaN(), math.NaN(), math.NaN()
	}
	all := m.rows.tally("")
	for _, p := range m.platforms {
		for _, community := range p.named() {
			held += float64(len(m.rows.held(community)))
		}
	}
	return float64(all.have), float64(all.checked), held
}

// All returns every row, sorted by platform and user ID. If it cannot read some, it returns the
// others and an error.
func (m *Members) All(ctx context.Context) ([]Row, error) {
	var all []Row
	err := m.rows.each(ctx, func(list []Row) { all = append(all, list...) })
	slices.SortFunc(all, func(a, b Row) int { return compare(a.User, b.User) })
	return all, err
}

// compare orders users by platform and ID.
func compare(a, b chat.User) int {
	byLength := cmp.Compare(len(a.ID), len(b.ID)) // A longer number is a higher one.
	return cmp.Or(cmp.Compare(a.Platform, b.Platform), byLength, cmp.Compare(a.ID, b.ID))
}
