package members

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// minApart is the least time between the two checks after which a level falls, by the blocks
// read.
const minApart = time.Hour

// check is what one check of a wallet found: a range of levels.
type check struct {
	least, most int
	// block is the time of the block read; zero: unknown.
	block time.Time
	// disowned says that the wallet is not the user's any more.
	disowned bool
	// press says that the user caused the check, and not the cycle.
	press bool
}

// levels are the amounts of a platform, and what all checks of its rows have in common.
type levels struct {
	badges []chat.Badge
	// amounts are the least stakes, ascending. The first is 0, which is any stake.
	amounts []decimal.Decimal
	// list stands for the chain, the pools and the amounts.
	list  uint64
	every time.Duration // of a cycle
}

// newLevels returns the levels for badges that come with a stake in pools of a chain.
func newLevels(chain string, pools []core.Pool, badges []chat.Badge, every time.Duration) levels {
	l := levels{badges: badges, amounts: []decimal.Decimal{decimal.Zero}, every: every}
	for _, b := range badges {
		l.amounts = append(l.amounts, b.Amount)
	}
	slices.SortFunc(l.amounts, decimal.Decimal.Cmp)
	l.amounts = slices.CompactFunc(l.amounts, decimal.Decimal.Equal)
	var addresses []string
	for _, p := range pools {
		addresses = append(addresses, p.Address.Hex())
	}
	slices.Sort(addresses)
	h := sha256.New()
	for _, part := range append(addresses, chain) {
		h.Write([]byte(part + " "))
	}
	for _, a := range l.amounts {
		h.Write([]byte(a.String() + " "))
	}
	l.list = binary.BigEndian.Uint64(h.Sum(nil))
	return l
}

// all returns the highest level.
func (l levels) all() int { return len(l.amounts) }

// of returns the level that an amount needs.
func (l levels) of(amount decimal.Decimal) int { return 1 + slices.IndexFunc(l.amounts, amount.Equal) }

// badge returns a badge of the settings.
func (l levels) badge(community, id string) (b chat.Badge, named bool) {
	i := slices.IndexFunc(l.badges, func(b chat.Badge) bool { return b.Community == community && b.ID == id })
	if i < 0 {
		return b, false
	}
	return l.badges[i], true
}

// check returns what a stake says. That an amount is not reached counts only with the time of
// the block.
func (l levels) check(stake core.Answer[core.Stake]) check {
	c := check{most: l.all()}
	if stake.Err != nil {
		return c
	}
	c.block = stake.Value.BlockTime
	for i, amount := range l.amounts {
		switch stake.Value.Reaches(amount) {
		case core.Staker:
			c.least = i + 1
		case core.NotStaker:
			if !c.block.IsZero() {
				c.most = i
			}
			return c
		}
	}
	return c
}

// level returns the level of a row. Under another list it is the level of the badges that the
// user has and the settings still name: these stay until checks decide.
func (l levels) level(r Row) int {
	if r.List == l.list {
		return r.Level
	}
	level := 0
	for _, g := range r.Given {
		if b, named := l.badge(g.Community, g.Badge); named {
			level = max(level, l.of(b.Amount))
		}
	}
	return level
}

// proven returns the level up to which badges may be given. It is 0 until a check has found
// something under the present list, and what a first check below the level has found.
func (l levels) proven(r Row) int {
	switch {
	case r.List != l.list:
		return 0
	case r.Below != nil:
		return min(r.Level, r.Below.Level)
	}
	return r.Level
}

// late is how long after a whole cycle a check may come: some slots are slow.
func (l levels) late() time.Duration { return 2 * l.every / slots }

// decide returns the row after a check.
//
// The level rises at once. It falls by the second check that is below it: an hour after the
// first one by the blocks, under the same list, with no check missing between. Any other check
// forgets the first one. A check by a press does so only if it finds the level, so that nobody
// keeps a badge by pressing.
func (l levels) decide(r Row, c check, now time.Time) Row {
	level, known := l.level(r), c.least > 0 || c.most < l.all()
	if c.block.Before(r.Block.Time) { // Of a node that is behind.
		c, known = check{most: l.all(), press: c.press}, false
	}
	switch {
	case c.most < level:
		r = l.below(r, c, now)
	case known && c.least >= level:
		if c.least > level {
			r.Lost = nil
		}
		if c.least > level || r.Below != nil {
			r.Below, r.Released = nil, false
		}
		r.Level = c.least
	case c.press || r.Below == nil:
		return r
	default:
		r.Below, r.Released = nil, false
		return r
	}
	r.List, r.CheckedAt = l.list, timeOf(now)
	if c.block.After(r.Block.Time) {
		r.Block = timeOf(c.block)
	}
	return r
}

// below returns the row after a check that is below its level. An earlier check within the
// hour counts as the first one, with the higher of the two levels.
func (l levels) below(r Row, c check, now time.Time) Row {
	missing := now.Sub(r.CheckedAt.Time).Abs() > l.every+l.late()
	level, first, this := l.level(r), r.Below, &Below{Level: c.most, Block: timeOf(c.block)}
	switch {
	case first == nil || r.List != l.list || missing:
		r.Below = this
	case c.block.Sub(first.Block.Time) < minApart:
		r.Below = &Below{Level: max(first.Level, c.most), Block: first.Block}
	default:
		level = max(first.Level, c.most)
		r.Lost, r.Below = &Loss{First: first.Block, Second: this.Block, Disowned: c.disowned}, nil
		if c.most < level {
			r.Below = this
		}
	}
	r.Level = level
	return r
}

// expected returns the level that the next check leaves if it finds what the first one did.
func (l levels) expected(r Row) int {
	if r.Below != nil && r.List == l.list {
		return min(r.Level, r.Below.Level)
	}
	return l.level(r)
}
