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

// minApart is the least time between the blocks of the two checks that remove a badge.
const minApart = time.Hour

// answer is whether a stake reaches an amount.
type answer int

const (
	unknown answer = iota
	missed
	reached
)

// check is what one reading of a wallet found.
type check struct {
	stake core.Stake
	// failed says that nothing is known: the stake could not be read, or nobody knows whose the wallet is.
	failed bool
	// disowned says that the wallet is not the user's any more.
	disowned bool
	// press says that the user caused the check, and not the cycle.
	press bool
}

// block returns the time of the block that the check read. It is zero if that is not known.
func (c check) block() time.Time {
	if c.failed {
		return time.Time{}
	}
	return c.stake.BlockTime
}

// answer returns whether the check found at least an amount; 0 is any stake. Without a block's time, no amount
// is missed: the node may be behind.
func (c check) answer(amount decimal.Decimal) answer {
	known := !c.block().IsZero()
	switch {
	case c.failed:
		return unknown
	case c.disowned && known:
		return missed
	case c.disowned:
		return unknown
	case c.stake.Reaches(amount) == core.Staker:
		return reached
	case c.stake.Reaches(amount) == core.NotStaker && known:
		return missed
	}
	return unknown
}

// tier is a badge of the settings.
type tier struct {
	chat.Badge
	under Under // the settings under which its amount is reached or missed
}

// tiers are the badges of a platform with their amounts, and the settings of its checks.
type tiers struct {
	// all are sorted by community and then by ascending amount.
	all []tier
	// lists has for each community the settings under which it has its badges.
	lists map[string]Under
	// amounts are those of the badges and 0, ascending.
	amounts []decimal.Decimal
	pools   Under
	every   time.Duration // of a cycle
}

// newTiers returns the tiers for badges that come with a stake in pools of a chain. The badges are sorted by
// community and then by ascending amount.
func newTiers(chain string, pools []core.Pool, badges []chat.Badge, every time.Duration) tiers {
	t := tiers{lists: map[string]Under{}, amounts: []decimal.Decimal{decimal.Zero}, every: every}
	var parts []string
	for _, p := range pools {
		parts = append(parts, p.Address.Hex())
	}
	slices.Sort(parts)
	t.pools = hash(append(parts, chain)...)
	listed := map[string][]string{}
	for _, b := range badges {
		t.all = append(t.all, tier{b, hash(fmt.Sprint(t.pools), b.Amount.String())})
		t.amounts = append(t.amounts, b.Amount)
		listed[b.Community] = append(listed[b.Community], b.ID, b.Amount.String())
	}
	for community, list := range listed {
		t.lists[community] = hash(append(list, fmt.Sprint(t.pools))...)
	}
	slices.SortFunc(t.amounts, decimal.Decimal.Cmp)
	t.amounts = slices.CompactFunc(t.amounts, decimal.Decimal.Equal)
	return t
}

// hash returns an Under that stands for parts.
func hash(parts ...string) Under {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%q ", part)
	}
	return Under(binary.BigEndian.Uint64(h.Sum(nil)))
}

// in returns the badges of a community.
func (t tiers) in(community string) []tier {
	first := slices.IndexFunc(t.all, func(b tier) bool { return b.Community == community })
	if first < 0 {
		return nil
	}
	end := first
	for end < len(t.all) && t.all[end].Community == community {
		end++
	}
	return t.all[first:end]
}

// find returns a badge of the settings, or false if they do not name it.
func (t tiers) find(community, id string) (b tier, configured bool) {
	for _, b := range t.all {
		if b.ID == id && b.Community == community {
			return b, true
		}
	}
	return b, false
}

// names reports whether the settings name a badge of a community.
func (t tiers) names(community string) bool { return t.lists[community] != 0 }

// communities returns the IDs of the communities that the settings name, in order.
func (t tiers) communities() (ids []string) {
	for _, b := range t.all {
		ids = append(ids, b.Community)
	}
	return slices.Compact(ids)
}

// decide returns the row after a check: judge decides on each badge, and note says what else was found. A check of an
// older block than the row's changes nothing, because the node is behind. After a change of the pools or the chain, the
// times of blocks are not compared.
func (t tiers) decide(r Row, c check, now time.Time) Row {
	block := c.block()
	isOlder := !block.IsZero() && timeOf(block).Before(r.Block.Time)
	if isOlder && r.Pools == t.pools {
		return r
	}
	r = r.clone()
	r.Lost = slices.DeleteFunc(r.Lost, func(l Loss) bool {
		b, configured := t.find(l.Community, l.Badge)
		return !configured || c.answer(b.Amount) == reached
	})
	for i, before := range r.Badges {
		after, isLost := t.judge(before, c)
		r.Badges[i] = after
		if isLost {
			r.setLost(Loss{
				Community: after.Community, Badge: after.Badge,
				First: after.Low.Block, Second: timeOf(block), Disowned: c.disowned,
			})
		}
	}
	return t.note(r, c, now)
}

// judge returns a badge after a check, and whether the check is the second one that missed its amount. This is the
// rule by which a badge is lost:
//
//	answer                 Low before                          result
//	reached                any                                 the badge stays, Low and Goes are cleared
//	unknown, by the cycle  any                                 Low is cleared
//	unknown, by a press    any                                 Low stays: pressing must not keep a badge
//	missed                 none, or older than lowLasts, or    this check becomes Low
//	                       under other settings
//	missed                 less than minApart before           Low stays
//	missed                 minApart or more before             the badge goes
//
// A badge that goes already still does, unless its amount is reached or the settings have changed.
func (t tiers) judge(h Held, c check) (after Held, isLost bool) {
	b, configured := t.find(h.Community, h.Badge)
	if !configured {
		return t.judgeRemoved(h, c), false
	}
	switch c.answer(b.Amount) {
	case reached:
		h.Low, h.Goes, h.Released, h.Refused = Low{}, 0, false, Time{}
	case unknown:
		if !c.press {
			h.Low = Low{}
		}
		if h.Low == (Low{}) && h.Goes == 0 {
			h.Released = false // Nothing is left that the fuse could hold.
		}
	case missed:
		return t.judgeMissed(h, b.under, c)
	}
	return h, false
}

// judgeMissed is judge for a check that missed what a badge needs under these settings.
func (t tiers) judgeMissed(h Held, under Under, c check) (after Held, isLost bool) {
	if h.Goes == under {
		return h, false
	}
	isLowOfOthers := h.Low.Under != 0 && h.Low.Under != under
	isGoneByOthers := h.Goes != 0
	if isLowOfOthers || isGoneByOthers { // What was decided under other settings is void. Low is replaced below.
		h.Goes, h.Released, h.Refused = 0, false, Time{}
	}
	sinceLow := c.block().Sub(h.Low.Block.Time)
	switch {
	case h.Low.Under != under || sinceLow > t.lowLasts():
		h.Low = Low{timeOf(c.block()), under}
	case sinceLow >= minApart:
		h.Goes = under
		return h, true
	}
	return h, false
}

// judgeRemoved returns a badge that the settings no longer name after a check. If they name others in its community:
//
//	answers for their amounts    result
//	one unknown                  the badge stays, however long; another one is given meanwhile if an earlier check in the
//	                             same pools reached its amount. Low is cleared, unless by a press
//	all known, one reached       the badge goes: it is exchanged
//	all missed                   as for any badge, two checks have to tell so
func (t tiers) judgeRemoved(h Held, c check) Held {
	others := t.in(h.Community)
	is := func(a answer) func(tier) bool {
		return func(b tier) bool { return c.answer(b.Amount) == a }
	}
	switch {
	case len(others) == 0:
		// It goes anyway: see mustGo.
	case slices.ContainsFunc(others, is(unknown)):
		if !c.press {
			h.Low = Low{}
		}
	case slices.ContainsFunc(others, is(reached)):
		h.Low, h.Goes, h.Released = Low{}, t.lists[h.Community], false
	default:
		h, _ = t.judgeMissed(h, t.lists[h.Community], c)
	}
	return h
}

// lowLasts is how long a Low counts. A late check may stretch the time between two to two cycles, and a check that
// comes too early for minApart adds to it.
func (t tiers) lowLasts() time.Duration { return 2*t.every + minApart }

// note returns the row with what a check found: Pools, Block and Reached and, if every amount is known, CheckedAt. If
// an amount is unknown, the check can only raise Reached. If all are, it says nothing.
func (t tiers) note(r Row, c check, now time.Time) Row {
	before := r.Reached
	if r.Pools != t.pools {
		before = decimal.NullDecimal{} // It was reached in other pools.
	}
	found := decimal.NullDecimal{}
	unknowns := 0
	for _, amount := range t.amounts {
		switch c.answer(amount) {
		case reached:
			found = decimal.NewNullDecimal(amount)
		case unknown:
			unknowns++
		}
	}
	if unknowns == len(t.amounts) {
		return r
	}
	complete := unknowns == 0
	r.Pools = t.pools
	r.Reached = found
	if !complete && before.Valid && (!found.Valid || before.Decimal.GreaterThan(found.Decimal)) {
		r.Reached = before
	}
	if !c.block().IsZero() {
		r.Block = timeOf(c.block())
	}
	if complete {
		r.CheckedAt = timeOf(now)
	}
	return r
}

// reaches reports whether the latest check reached an amount.
func (t tiers) reaches(r Row, amount decimal.Decimal) bool {
	return r.Pools == t.pools && r.Reached.Valid && amount.LessThanOrEqual(r.Reached.Decimal)
}

// current returns the settings under which a badge is judged now; 0: the settings name nothing in its community.
func (t tiers) current(h Held) Under {
	if b, configured := t.find(h.Community, h.Badge); configured {
		return b.under
	}
	return t.lists[h.Community]
}

// Three questions about a badge differ: mustGo, whether it was decided that it is removed; isLosing, whether the fuse
// counts it, which begins with the first low check; and, in next.go, mayRemove, whether it is removed now.

// mustGo reports whether it was decided that a badge is removed. A badge in a community of which the settings name no
// badge any more goes at once.
func (t tiers) mustGo(h Held) bool { return !t.names(h.Community) || h.Goes == t.current(h) }

// isLosing reports whether the fuse counts a badge as one that its user loses. A configured badge counts from the first
// low check on. A badge that the settings no longer name counts while nothing tells that its user keeps or reaches
// another one there: also before a check of new pools.
func (t tiers) isLosing(r Row, h Held) bool {
	b, configured := t.find(h.Community, h.Badge)
	switch {
	case r.Forgotten():
		return false
	case configured:
		return h.Low.Under == b.under || h.Goes == b.under
	}
	return t.names(h.Community) && !t.keepsOne(r, h.Community)
}

// keepsOne reports whether a user keeps, or is to be given, a configured badge of a community.
func (t tiers) keepsOne(r Row, community string) bool {
	for _, b := range t.in(community) {
		i := r.index(community, b.ID)
		if t.reaches(r, b.Amount) || i >= 0 && !t.isLosing(r, r.Badges[i]) {
			return true
		}
	}
	return false
}
