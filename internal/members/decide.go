package members

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// minApart is the least time between the blocks of the two checks that lower a level.
const minApart = time.Hour

// finding is what one check of a wallet found.
type finding struct {
	// least and most are the lowest and the highest level that the stake may reach.
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
	// poolsHash is a hash of the chain and the pools, and listHash of these and the badges.
	poolsHash, listHash uint64
	every               time.Duration // of a cycle
}

// newLevels returns the levels for badges that come with a stake in pools of a chain.
func newLevels(chain string, pools []core.Pool, badges []chat.Badge, every time.Duration) levels {
	l := levels{badges: badges, amounts: []decimal.Decimal{decimal.Zero}, every: every}
	parts := []string{}
	for _, p := range pools {
		parts = append(parts, p.Address.Hex())
	}
	slices.Sort(parts)
	parts = append(parts, chain)
	l.poolsHash = hash(parts)
	for _, b := range badges {
		l.amounts = append(l.amounts, b.Amount)
		parts = append(parts, b.Community, b.ID, b.Amount.String())
	}
	l.listHash = hash(parts)
	slices.SortFunc(l.amounts, decimal.Decimal.Cmp)
	l.amounts = slices.CompactFunc(l.amounts, decimal.Decimal.Equal)
	return l
}

// hash returns a number that stands for parts.
func hash(parts []string) uint64 {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%q ", part)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// highest returns the highest level.
func (l levels) highest() int { return len(l.amounts) }

// of returns the level that an amount needs.
func (l levels) of(amount decimal.Decimal) int { return 1 + slices.IndexFunc(l.amounts, amount.Equal) }

// position returns the index of a badge in the settings, or -1.
func (l levels) position(community, id string) int {
	return slices.IndexFunc(l.badges, func(b chat.Badge) bool { return b.Community == community && b.ID == id })
}

// badge returns a badge as the settings name it. It returns false, and the badge without an amount,
// if they do not.
func (l levels) badge(community, id string) (b chat.Badge, named bool) {
	i := l.position(community, id)
	if i < 0 {
		return chat.Badge{Community: community, ID: id}, false
	}
	return l.badges[i], true
}

// finding returns the range of levels that a stake shows: all levels if reading it failed with err.
// That an amount is not reached counts only if the time of the block is known.
func (l levels) finding(stake core.Stake, err error) finding {
	f := finding{most: l.highest()}
	if err != nil {
		return f
	}
	f.block = stake.BlockTime
	for i, amount := range l.amounts {
		switch stake.Reaches(amount) {
		case core.Staker:
			f.least = i + 1
		case core.NotStaker:
			if !f.block.IsZero() {
				f.most = i
			}
			return f
		}
	}
	return f
}

// level returns the level of a row. If the list has changed since the last check, that is the level
// reached or, if higher, the highest level of the user's badges: they stay until checks decide.
func (l levels) level(r Row) int {
	if r.List == l.listHash {
		return r.Level
	}
	level := l.reached(r)
	for _, g := range r.Given {
		if b, named := l.badge(g.Community, g.Badge); named {
			level = max(level, l.of(b.Amount))
		}
	}
	return level
}

// reached returns the level up to which badges may be given: the one that the last check found, or 0
// if the chain or the pools have changed since.
func (l levels) reached(r Row) int {
	if r.Pools != l.poolsHash || !r.Reached.Valid {
		return 0
	}
	level := 0
	for level < l.highest() && l.amounts[level].LessThanOrEqual(r.Reached.Decimal) {
		level++
	}
	return level
}

// expected returns the level that the next check leaves if it finds what the last one did.
func (l levels) expected(r Row) int {
	reached := slices.IndexFunc(r.Below, func(since Time) bool { return !since.IsZero() })
	if r.List == l.listHash && reached >= 0 {
		return reached
	}
	return l.level(r)
}

// late is how long after a whole cycle a check may come: some ticks are slow.
func (l levels) late() time.Duration { return 2 * l.every / ticks }

// decide returns the row after a check.
//   - A check that reaches the level or more sets the level, and forgets an earlier check below.
//   - A conclusive check that leaves no badge to be removed ends a release.
//   - The first check below the level is noted in Below.
//   - The second one lowers the level to the higher of the two, if its block is at least minApart
//     newer. One that comes sooner leaves the first as it is. One that comes after a missing check,
//     or under another list, is a first one.
//   - An inconclusive check forgets the first one, unless a press caused it: otherwise people could
//     keep a badge by pressing.
func (l levels) decide(r Row, f finding, now time.Time) Row {
	level := l.level(r)
	switch {
	case l.inconclusive(level, r.Block, f):
		if r.Below != nil && !f.press {
			r.Below, r.Released = nil, false
		}
		return r
	case f.most < level:
		r = l.below(r, f, now)
	default:
		if f.least > level {
			r.Lost = nil
		}
		r.Level, r.Below = f.least, nil
	}
	return l.noted(r, f, now)
}

// inconclusive reports whether a check does not show if a level is reached. newest is the block of the
// checks before.
func (l levels) inconclusive(level int, newest Time, f finding) bool {
	nothing := f.least == 0 && f.most == l.highest()
	outdated := f.block.Before(newest.Time) // The node is behind, or the block is not known.
	return nothing || outdated || f.least < level && level <= f.most
}

// noted returns the row with what a conclusive check found, and under which settings.
func (l levels) noted(r Row, f finding, now time.Time) Row {
	if r.Lost != nil && r.List != l.listHash {
		r.Lost = new(*r.Lost) // Copies of the row share it.
		r.Lost.From = 0
	}
	r.List, r.Pools, r.CheckedAt, r.Block, r.Reached = l.listHash, l.poolsHash, timeOf(now), timeOf(f.block), decimal.NullDecimal{}
	if f.least > 0 {
		r.Reached = decimal.NewNullDecimal(l.amounts[f.least-1])
	}
	for _, g := range r.Given { // A badge that is kept is not to be removed any more.
		if !g.RefusedAt.IsZero() && slices.Contains(l.wanted(r, g.Community), g.Badge) {
			g.RefusedAt = Time{}
			r.set(g)
		}
	}
	losing := func(g Given) bool { return l.losing(r, g) }
	r.Released = r.Released && slices.ContainsFunc(r.Given, losing)
	return r
}

// below returns the row after a check that is below its level.
func (l levels) below(r Row, f finding, now time.Time) Row {
	level := l.level(r)
	since := make([]Time, level)                 // As Row.Below.
	sinceLast := now.Sub(r.CheckedAt.Time).Abs() // The clock may have been ahead.
	if sinceLast <= l.every+l.late() && r.List == l.listHash {
		copy(since, r.Below)
	}
	clear(since[:f.most])
	for i := f.most; i < level; i++ {
		if since[i].IsZero() {
			since[i] = timeOf(f.block)
		}
	}
	belowTwice := func(level int) bool {
		first := since[level-1]
		return !first.IsZero() && f.block.Sub(first.Time) >= minApart
	}
	for ; level > 0 && belowTwice(level); level-- {
		r.Lost = &Loss{First: since[level-1], Second: timeOf(f.block), From: len(since), Disowned: f.disowned}
	}
	r.Level, r.Below = level, nil
	if f.most < level {
		r.Below = since[:level]
	}
	return r
}
