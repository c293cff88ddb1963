package members

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// This file has the rule that decides which badges a user keeps. A check reads the stake of the user's wallet. For the
// amount of each badge, it has one of three answers:
//
//	reached  the stake is as high
//	missed   the stake is lower
//	unknown  the stake could not be read completely
//
// A badge is lost by two misses. The first one is saved as Held.Low. The second one decides that the badge goes. Then
// it is removed, unless the fuse of its community holds it: see census.go.
//
// What was found or decided under other settings counts for nothing: withoutVoid clears it from each row that is read.
// So a miss and a decision are saved with the hash of their settings: MissedCheck.Under and Held.RemoveUnder. A badge
// with a RemoveUnder goes.
//
// Four questions about a badge differ:
//
//	earns      is the user to have it?
//	mustGo     is it to be removed? That was decided, or the settings name no badge of its community any more.
//	isLosing   does the fuse count it as one that its user loses? That begins with the first miss.
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

// answerFor returns whether the stake reaches an amount. The amount 0 is reached by any stake. A disowned wallet
// reaches no amount. Without a block's time, no amount is missed: the node may be behind.
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

// decide returns the row after a check. A check of an older block than the row's changes nothing, because the node is
// behind. Otherwise, each badge is judged, and what else the check found is noted.
func (t tiers) decide(r Row, c check, now time.Time) Row {
	block := c.block()
	isOlder := !block.IsZero() && timeOf(block).Before(r.Block.Time)
	if isOlder {
		return r
	}
	r = t.note(r.clone(), c, now)
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
	for i, h := range r.Badges {
		if !t.isLosing(r, h) {
			r.Badges[i].Released = false // The release was for a loss that is averted.
		}
	}
	return r
}

// judge returns a badge after a check. isSecondMiss reports whether the check is the second one that missed its amount.
// This is the rule by which a badge is lost:
//
//	answer                 age of Low               result
//	reached                any                      Low is cleared; the badge stays, even if it was to go
//	unknown, by the cycle  any                      Low is cleared
//	unknown, by a press    any                      Low is kept: pressing must not keep a badge
//	missed                 no Low, or over lowLasts this check becomes Low
//	missed                 under minApart           Low is kept
//	missed                 from minApart            the badge goes
//
// The age of Low is the time from its block to the block of this check.
// A badge that goes already still does, unless its amount is reached.
func (t tiers) judge(h Held, c check) (after Held, isSecondMiss bool) {
	b, configured := t.find(h.Community, h.Badge)
	if !configured {
		return t.judgeRemoved(h, c), false // No Loss is saved: the badge goes because the settings do not name it.
	}
	switch c.answerFor(b.Amount) {
	case reached:
		h.Low, h.RemoveUnder, h.Refused = MissedCheck{}, 0, Time{}
		return h, false
	case unknown:
		return afterUnknown(h, c), false
	}
	return t.judgeMissed(h, b.under, c)
}

// afterUnknown returns a badge after a check that could not answer.
func afterUnknown(h Held, c check) Held {
	if !c.press {
		h.Low = MissedCheck{}
	}
	return h
}

// judgeMissed is judge for a check that missed what a badge needs under the present settings.
func (t tiers) judgeMissed(h Held, under SettingsHash, c check) (after Held, isSecondMiss bool) {
	sinceLow := c.block().Sub(h.Low.BlockTime.Time)
	switch {
	case h.goes():
		return h, false
	case !h.isLow(), sinceLow > t.lowLasts():
		h.Low = MissedCheck{timeOf(c.block()), under}
		return h, false
	case sinceLow < minApart:
		return h, false
	}
	return h.toGo(under), true
}

// judgeRemoved is judge for a badge that the settings no longer name. If they name other badges in its community, the
// answers for the amounts of these decide:
//
//	all are known, and one is reached    the badge goes: the user gets the other badge in exchange
//	all are missed                       as for any badge: the second such check decides
//	one is unknown                       nothing is decided
//
// While nothing is decided, the badge stays, however long.
func (t tiers) judgeRemoved(h Held, c check) Held {
	others := t.in(h.Community)
	under := t.underOf[h.Community]
	switch {
	case len(others) == 0:
		return h // It goes anyway: see mustGo.
	case c.answersAny(others, unknown):
		return afterUnknown(h, c)
	case c.answersAny(others, reached):
		h.Low = MissedCheck{} // The exchange does not depend on a first miss.
		if !h.goes() {
			h = h.toGo(under)
		}
		return h
	}
	h, _ = t.judgeMissed(h, under, c)
	return h
}

// lowLasts is how long a Low counts. The next check comes up to two cycles later if it is late. If a check in between
// comes within minApart, it decides nothing, and the one that decides may come up to minApart later still.
func (t tiers) lowLasts() time.Duration { return 2*t.settings.Every + minApart }

// note returns the row with what a check found: Block, Reached, Pools and CheckedAt. It also deletes each Loss whose
// amount is reached again, or whose badge the settings no longer name. A check that knows only some amounts can raise
// Reached, but not lower it, and leaves CheckedAt. A check that knows none says nothing.
func (t tiers) note(r Row, c check, now time.Time) Row {
	found, unknowns := t.highestReached(c)
	if unknowns == len(t.amounts) {
		return r
	}
	isComplete := unknowns == 0
	if isComplete || isHigher(found, r.Reached) {
		r.Reached = found
	}
	r.Pools = t.pools
	if !c.block().IsZero() {
		r.Block = timeOf(c.block())
	}
	if isComplete {
		r.CheckedAt = timeOf(now)
	}
	r.Lost = slices.DeleteFunc(r.Lost, func(l Loss) bool {
		b, configured := t.find(l.Community, l.Badge)
		return !configured || c.answerFor(b.Amount) == reached
	})
	return r
}

// highestReached returns the highest configured amount that a check reached, or one that is not Valid, and for how many
// amounts the answer is unknown.
func (t tiers) highestReached(c check) (highest decimal.NullDecimal, unknowns int) {
	for _, amount := range t.amounts { // the lowest first
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

// reaches reports whether the stake reaches an amount, as far as the checks know: see note.
func (t tiers) reaches(r Row, amount decimal.Decimal) bool {
	return r.Reached.Valid && amount.LessThanOrEqual(r.Reached.Decimal)
}

// earns reports whether the user of a row is to have a configured badge: the latest check reached its amount. A rule
// that refuses badges for another reason belongs here. It must not refuse a badge to users who lose a higher one, or
// they would be left without any.
func (t tiers) earns(r Row, b tier) bool { return t.reaches(r, b.Amount) }

// mustGo reports whether it was decided that a badge is removed. If the settings name no badge of its community any
// more, the badge goes at once.
func (t tiers) mustGo(h Held) bool { return h.goes() || !t.namesAny(h.Community) }

// isLosing reports whether the fuse counts a badge as one that its user loses. A configured badge counts from the first
// miss on. A badge that the settings no longer name counts unless the user keeps or earns a configured badge there. So
// it also counts before the first check of new pools, when nobody earns anything yet.
func (t tiers) isLosing(r Row, h Held) bool {
	if r.Forgotten() {
		return false
	}
	if _, configured := t.find(h.Community, h.Badge); configured {
		return h.isLow() || h.goes()
	}
	return t.namesAny(h.Community) && !t.keepsOne(r, h.Community)
}

// keepsOne reports whether the user of a row earns a configured badge of a community, or keeps one that they hold.
// isLosing calls keepsOne only for badges that are not configured, so the two do not call each other without end.
func (t tiers) keepsOne(r Row, community string) bool {
	return slices.ContainsFunc(t.in(community), func(b tier) bool {
		i := r.index(community, b.ID)
		keeps := i >= 0 && !t.isLosing(r, r.Badges[i])
		return keeps || t.earns(r, b)
	})
}
