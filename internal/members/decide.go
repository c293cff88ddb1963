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

// This file has the rule that decides which badges a user keeps. Its words, which are those of Held too:
//
//	reached, missed  what a check says of a badge's amount; or unknown, if the stake could not be read completely
//	Low              the first check that missed the amount. The second one decides.
//	Under            a SettingsHash. What was found or decided under other settings than the present ones is void.
//	RemoveUnder      the hash of the settings under which it was decided that the badge is removed; 0: not decided
//	goes             it is decided under the present settings that the badge is removed
//	fuse             stops removals in a community while too many users would lose a badge there; see census.go
//	Released         an operator has decided that the fuse does not stop this removal; see release.go
//	Refused          since when the platform refuses this removal
//
// Four questions about a badge differ:
//
//	earns      is the user to have it?
//	mustGo     was it decided that it is removed?
//	isLosing   does the fuse count it as one that its user loses? That begins with the first low check.
//	mayRemove  is it removed now? See next.go.

// minApart is the least time between the blocks of the two checks that remove a badge.
const minApart = time.Hour

// answer is what a check says of an amount.
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

// answerFor returns whether the stake reaches an amount. The amount 0 is reached by any stake. Without a block's time,
// no amount is missed: the node may be behind.
func (c check) answerFor(amount decimal.Decimal) answer {
	isBlockKnown := !c.block().IsZero()
	switch {
	case c.failed:
		return unknown
	case c.disowned && isBlockKnown:
		return missed
	case c.disowned:
		return unknown
	case c.stake.Reaches(amount) == core.Staker:
		return reached
	case c.stake.Reaches(amount) == core.NotStaker && isBlockKnown:
		return missed
	}
	return unknown
}

// answersAny reports whether the check gives this answer for the amount of at least one badge.
func (c check) answersAny(badges []tier, a answer) bool {
	return slices.ContainsFunc(badges, func(b tier) bool { return c.answerFor(b.Amount) == a })
}

// tier is a badge of the settings.
type tier struct {
	chat.Badge
	under SettingsHash // the chain, the pools and the badge's amount
}

// tiers are the badges of a platform that the settings name, and what the rule needs to know of the settings.
type tiers struct {
	// all are sorted by community and then by ascending amount.
	all []tier
	// underOf has for each community the chain, the pools and all its badges.
	underOf map[string]SettingsHash
	// amounts are the amounts of the badges, and 0, which any stake reaches, so that Row.Reached tells a low stake from
	// none. They are ascending, and each is there once.
	amounts  []decimal.Decimal
	pools    SettingsHash // the chain and the pools
	settings Settings
}

// newTiers returns the tiers for badges that come with a stake in pools of a chain. The badges must be sorted by
// community and then by ascending amount.
func newTiers(chain string, pools []core.Pool, badges []chat.Badge, settings Settings) tiers {
	t := tiers{underOf: map[string]SettingsHash{}, amounts: []decimal.Decimal{decimal.Zero}, settings: settings}
	var addresses []string
	for _, p := range pools {
		addresses = append(addresses, p.Address.Hex())
	}
	slices.Sort(addresses)
	t.pools = hash(append(addresses, chain)...)
	partsOf := map[string][]string{} // by community
	for _, b := range badges {
		t.all = append(t.all, tier{b, hash(fmt.Sprint(t.pools), b.Amount.String())})
		t.amounts = append(t.amounts, b.Amount)
		partsOf[b.Community] = append(partsOf[b.Community], b.ID, b.Amount.String())
	}
	for community, parts := range partsOf {
		t.underOf[community] = hash(append(parts, fmt.Sprint(t.pools))...)
	}
	slices.SortFunc(t.amounts, decimal.Decimal.Cmp)
	t.amounts = slices.CompactFunc(t.amounts, decimal.Decimal.Equal)
	return t
}

// hash returns a SettingsHash that stands for parts.
func hash(parts ...string) SettingsHash {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%q ", part)
	}
	return SettingsHash(binary.BigEndian.Uint64(h.Sum(nil)))
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
func (t tiers) find(community, id string) (found tier, configured bool) {
	for _, b := range t.all {
		if b.ID == id && b.Community == community {
			return b, true
		}
	}
	return tier{}, false
}

// namesAny reports whether the settings name a badge of a community.
func (t tiers) namesAny(community string) bool {
	_, isNamed := t.underOf[community]
	return isNamed
}

// communities returns the IDs of the communities that the settings name, in order.
func (t tiers) communities() (ids []string) {
	for _, b := range t.all {
		ids = append(ids, b.Community)
	}
	return slices.Compact(ids)
}

// decide returns the row after a check: judge decides on each badge, and note writes down what else was found. A check
// of an older block than the row's changes nothing, because the node is behind. After a change of the pools or the
// chain, the times of blocks are not compared.
func (t tiers) decide(r Row, c check, now time.Time) Row {
	block := c.block()
	isOlder := !block.IsZero() && timeOf(block).Before(r.Block.Time)
	if isOlder && r.Pools == t.pools {
		return r
	}
	r = r.clone()
	r.Lost = slices.DeleteFunc(r.Lost, func(l Loss) bool {
		b, configured := t.find(l.Community, l.Badge)
		return !configured || c.answerFor(b.Amount) == reached
	})
	for i, before := range r.Badges {
		after, isSecondMiss := t.judge(before, c)
		r.Badges[i] = after
		if isSecondMiss {
			r.setLost(Loss{
				Community: after.Community,
				Badge:     after.Badge,
				First:     after.Low.BlockTime,
				Second:    timeOf(block),
				Disowned:  c.disowned,
			})
		}
	}
	return t.note(r, c, now)
}

// judge returns a badge after a check. isSecondMiss reports whether the check is the second one that missed its amount.
// This is the rule by which a badge is lost:
//
//	answer                 Low before                          result
//	reached                any                                 Low, RemoveUnder, Released and Refused are cleared
//	unknown, by the cycle  any                                 Low is cleared; Released, too, unless the badge goes
//	unknown, by a press    any                                 Low stays: pressing must not keep a badge
//	missed                 none, or older than lowLasts, or    this check becomes Low
//	                       under other settings
//	missed                 less than minApart before           Low stays
//	missed                 minApart or more before             the badge goes
//
// A badge that goes already still does, unless its amount is reached or the settings have changed.
func (t tiers) judge(h Held, c check) (after Held, isSecondMiss bool) {
	b, configured := t.find(h.Community, h.Badge)
	if !configured {
		return t.judgeRemoved(h, c), false // No Loss is saved: the badge goes because the settings do not name it.
	}
	switch c.answerFor(b.Amount) {
	case reached:
		after = h.withoutDecision()
		after.Low = MissedCheck{}
		return after, false
	case unknown:
		after = afterUnknown(h, c)
		if after.Low == (MissedCheck{}) && after.RemoveUnder == 0 {
			after.Released = false // It was for the loss that is void now.
		}
		return after, false
	}
	return t.judgeMissed(h, b.under, c)
}

// withoutDecision takes back the decision to remove a badge, and what followed from it: a release, and the refusals of
// the removal.
func (h Held) withoutDecision() Held {
	h.RemoveUnder, h.Released, h.Refused = 0, false, Time{}
	return h
}

// withDecision decides, under these settings, to remove a badge. Refusals after an earlier decision do not count.
func (h Held) withDecision(under SettingsHash) Held {
	h.RemoveUnder, h.Refused = under, Time{}
	return h
}

// hasVoid reports whether a badge was found low, or was to be removed, under other settings than these.
func (h Held) hasVoid(under SettingsHash) bool {
	isLowVoid := h.Low.Under != 0 && h.Low.Under != under
	isDecisionVoid := h.RemoveUnder != 0 && h.RemoveUnder != under
	return isLowVoid || isDecisionVoid
}

// afterUnknown returns a badge after a check that could not answer. Low is cleared, unless by a press.
func afterUnknown(h Held, c check) Held {
	if !c.press {
		h.Low = MissedCheck{}
	}
	return h
}

// judgeMissed is judge for a check that missed what a badge needs under these settings.
func (t tiers) judgeMissed(h Held, under SettingsHash, c check) (after Held, isSecondMiss bool) {
	if h.RemoveUnder == under {
		return h, false
	}
	if h.hasVoid(under) {
		h = h.withoutDecision() // A Low that is void is replaced below.
	}
	sinceLow := c.block().Sub(h.Low.BlockTime.Time)
	lowCounts := h.Low.Under == under && sinceLow <= t.lowLasts()
	switch {
	case !lowCounts:
		h.Low = MissedCheck{timeOf(c.block()), under}
		return h, false
	case sinceLow < minApart:
		return h, false // Low stays.
	}
	return h.withDecision(under), true
}

// judgeRemoved returns a badge that the settings no longer name after a check. If they name other badges in its
// community, these decide:
//
//	answers for their amounts    result
//	one is unknown               nothing is decided; Low is cleared, unless by a press
//	all known, one is reached    the badge goes: it is exchanged for the one that is reached; Low and Released are
//	                             cleared
//	all missed                   as for any badge: the second such check decides
//
// While nothing is decided, the badge stays, however long. If an earlier check in the same pools reached another badge,
// that one is given all the same.
func (t tiers) judgeRemoved(h Held, c check) Held {
	others := t.in(h.Community)
	under := t.underOf[h.Community]
	switch {
	case len(others) == 0:
		return h // It goes anyway: see mustGo.
	case c.answersAny(others, unknown):
		return afterUnknown(h, c)
	case c.answersAny(others, reached):
		h.Low = MissedCheck{}
		h.Released = false // It was for the loss of all badges. This one is exchanged.
		if h.RemoveUnder != under {
			h = h.withDecision(under)
		}
		return h
	}
	h, _ = t.judgeMissed(h, under, c)
	return h
}

// lowLasts is how long a Low counts. Two checks in a row may be up to two cycles apart if one is late. If the second
// comes less than minApart after the first, only the third decides: hence the added minApart.
func (t tiers) lowLasts() time.Duration { return 2*t.settings.Every + minApart }

// note returns the row with what a check found: Pools, Block, Reached, and CheckedAt. A check that knows only some
// amounts can raise Reached, but not lower it, and leaves CheckedAt. A check that knows none says nothing.
func (t tiers) note(r Row, c check, now time.Time) Row {
	found, unknowns := t.highestReached(c)
	if unknowns == len(t.amounts) {
		return r
	}
	before := r.Reached
	if r.Pools != t.pools {
		before = decimal.NullDecimal{} // It was reached in other pools.
		r.Block = Time{}               // It may be another chain's.
	}
	isComplete := unknowns == 0
	if isComplete || isHigher(found, before) {
		r.Reached = found
	} else {
		r.Reached = before
	}
	r.Pools = t.pools
	if !c.block().IsZero() {
		r.Block = timeOf(c.block())
	}
	if isComplete {
		r.CheckedAt = timeOf(now)
	}
	return r
}

// highestReached returns the highest configured amount that a check reached, or one that is not Valid, and for how many
// amounts the answer is unknown.
func (t tiers) highestReached(c check) (highest decimal.NullDecimal, unknowns int) {
	for _, amount := range t.amounts {
		switch c.answerFor(amount) {
		case reached:
			highest = decimal.NewNullDecimal(amount)
		case unknown:
			unknowns++
		}
	}
	return highest, unknowns
}

// isHigher reports whether a is an amount, and b is a lower one or none.
func isHigher(a, b decimal.NullDecimal) bool {
	return a.Valid && (!b.Valid || a.Decimal.GreaterThan(b.Decimal))
}

// reaches reports whether the latest check reached an amount.
func (t tiers) reaches(r Row, amount decimal.Decimal) bool {
	return r.Pools == t.pools && r.Reached.Valid && amount.LessThanOrEqual(r.Reached.Decimal)
}

// current returns the settings under which a badge is judged now; 0: the settings name nothing in its community.
func (t tiers) current(h Held) SettingsHash {
	if b, configured := t.find(h.Community, h.Badge); configured {
		return b.under
	}
	return t.underOf[h.Community]
}

// earns reports whether the user of a row is to have a configured badge: the latest check reached its amount. A rule
// that refuses badges for another reason belongs here. It must not refuse a badge to users who lose a higher one, or
// they would be left without any.
func (t tiers) earns(r Row, b tier) bool { return t.reaches(r, b.Amount) }

// mustGo reports whether it was decided that a badge is removed. If the settings name no badge of its community any
// more, the badge goes at once.
func (t tiers) mustGo(h Held) bool { return !t.namesAny(h.Community) || h.RemoveUnder == t.current(h) }

// isLosing reports whether the fuse counts a badge as one that its user loses. A configured badge counts from the first
// low check on. A badge that the settings no longer name counts unless the user keeps or earns a configured badge
// there; so it also counts before the first check of new pools.
func (t tiers) isLosing(r Row, h Held) bool {
	if r.Forgotten() {
		return false
	}
	if b, configured := t.find(h.Community, h.Badge); configured {
		return isLow(h, b)
	}
	return t.namesAny(h.Community) && !t.keepsOne(r, h.Community)
}

// isLow reports whether one check or two missed the amount of a configured badge, under the present settings.
func isLow(h Held, b tier) bool { return h.Low.Under == b.under || h.RemoveUnder == b.under }

// keepsOne reports whether the user of a row earns a configured badge of a community, or keeps one that they hold.
func (t tiers) keepsOne(r Row, community string) bool {
	for _, b := range t.in(community) {
		if t.earns(r, b) {
			return true
		}
		if i := r.index(community, b.ID); i >= 0 && !isLow(r.Badges[i], b) {
			return true
		}
	}
	return false
}
