package members

import (
	"cmp"
	"context"
	"errors"
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
	// Stakes says that the last check found a stake, and Below that it found too little for a
	// badge of these.
	Stakes bool
	// Badges are those that the user has.
	Badges []Has
	// LastBlock is when the last check was, by its block. Going are those of Badges that the
	// next check removes if it finds as little.
	LastBlock time.Time
	Going     []Has
	// Lost is how the stake fell, unless it has risen again, and Missing the badges that come
	// back with it.
	Lost    *Loss
	Missing []Badge
}

// Has is a badge that a user has since a time.
type Has struct {
	Badge
	Since time.Time
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
		Wallet: row.Wallet, SavedAt: row.SavedAt.Time, CheckedAt: row.CheckedAt.Time, Stakes: p.expected(*row) > 0, Lost: row.Lost,
		LastBlock: row.Block.Time,
	}
	slices.SortFunc(row.Given, func(a, b Given) int { return cmp.Compare(p.position(a), p.position(b)) })
	for _, g := range row.Given {
		if g.State == Absent {
			continue
		}
		has := Has{p.badgeOf(g.Community, g.Badge), g.Since.Time}
		s.Badges = append(s.Badges, has)
		if p.losing(*row, g) {
			s.Going = append(s.Going, has)
		}
	}
	for _, b := range p.badges {
		lost := row.Lost != nil && p.of(b.Amount) > row.Level && p.of(b.Amount) <= row.Lost.From
		if !lost || row.index(b.Community, b.ID) >= 0 || row.index(b.Community, "") >= 0 {
			continue
		}
		if n := len(s.Missing); n > 0 && p.Badges != nil && p.OneEach() && s.Missing[n-1].Community == b.Community {
			s.Missing = s.Missing[:n-1] // The lower one was not theirs.
		}
		s.Missing = append(s.Missing, p.badgeOf(b.Community, b.ID))
	}
	return s, nil
}

// position returns where a badge stands in the settings.
func (l levels) position(g Given) int {
	return slices.IndexFunc(l.badges, func(b chat.Badge) bool { return b.Community == g.Community && b.ID == g.Badge })
}

// WhyLost says which checks a badge with this amount was lost by, and what brings it back.
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

// tell tells a user why a badge is gone, if they have a private chat with the bot. It tells
// nothing of one that the settings do not name any more.
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
	// Have counts the users who have a badge there, and Checked those of them whose stake was
	// known within Every.
	Have, Checked int
	// Given and Removed count since Since, the start of this process.
	Since          time.Time
	Given, Removed int
	// Losing of Have would lose a badge. Held says that they do not, because they are too
	// many.
	Losing int
	Held   bool
	// Refused is why the platform refuses badges there, or "".
	Refused chat.BadgeProblem
}

// Status returns what is known of a community without reading rows: what other replicas
// changed is counted within Every. It does not block, and fails while the rows cannot be read.
func (m *Members) Status(name chat.Platform, community string) (Status, error) {
	if !m.rows.complete.Load() {
		return Status{}, errUnread
	}
	t := m.rows.tally(community)
	s := Status{Have: t.have, Checked: t.checked, Losing: t.losing, Held: t.blown(), Since: m.started}
	if p := m.platforms[name]; p != nil && p.Badges != nil {
		c := p.community(community)
		s.Refused = c.refused("")
		c.mu.Lock()
		defer c.mu.Unlock()
		s.Given, s.Removed = c.given, c.removed
	}
	return s, nil
}

// Census returns how many addresses are saved, how many of these were checked within Every, and
// how many users a fuse keeps from losing a badge. It does not block.
func (m *Members) Census() (rows, checked, held int) {
	all := m.rows.tally("")
	for _, p := range m.platforms {
		for _, community := range p.named() {
			if t := m.rows.tally(community); t.blown() {
				held += t.losing
			}
		}
	}
	return all.have, all.checked, held
}

// All returns every row, sorted by platform and user. It fails if one cannot be read, and then
// returns the others.
func (m *Members) All(ctx context.Context) ([]Row, error) {
	var all []Row
	err := m.rows.each(ctx, func(list []Row) { all = append(all, list...) })
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.User.Platform, b.User.Platform), cmp.Compare(len(a.User.ID), len(b.User.ID)), cmp.Compare(a.User.ID, b.User.ID))
	})
	return all, err
}
