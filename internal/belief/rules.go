package belief

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
)

// DoubtError is returned in place of a price that is probably wrong. Nothing may be valued by the price, and it must
// not be shown as a fact.
type DoubtError struct {
	// Answer has the doubtful price.
	Answer query.Snapshot[*core.Quote]
	// Last is the last believed price, which contradicts the doubtful one. It is zero if the doubtful quote contradicts
	// its own market cap.
	Last core.PricedAt
}

func (e *DoubtError) Error() string {
	if e.Last.Price.IsZero() {
		return "the price is doubtful: it contradicts the quote's market cap"
	}
	at := e.Last.At.UTC().Format(time.RFC3339)
	return fmt.Sprintf("the price is doubtful: it contradicts the price of %s and the quote's changes", at)
}

// Factor returns the larger one of the doubtful and the last believed price, divided by the smaller one. It also
// reports whether the doubtful price is the larger one. Last must not be zero.
func (e *DoubtError) Factor() (factor decimal.Decimal, rises bool) {
	const digits = 2
	price, last := e.Answer.Value.Price, e.Last.Price
	if price.GreaterThan(last) {
		return price.DivRound(last, digits), true
	}
	return last.DivRound(price, digits), false
}

const (
	// contradiction is the factor from which on two numbers contradict each other.
	contradiction = 10
	// unexplained: a change does not explain a quote if it leads to a price that is this many times higher or lower. It
	// is well below contradiction: a change of 0 % must not explain a factor of ten.
	unexplained = 3
	// supplyContradiction replaces contradiction for supplies, because providers count tokens differently.
	supplyContradiction = 1000
)

// areApart reports whether the larger of a and b is at least times the smaller. Neither may be negative.
//
// For example, 2 and 20 are ten times apart, and so are 20 and 2.
func areApart(a, b decimal.Decimal, times int64) bool {
	factor := decimal.NewFromInt(times)
	return a.GreaterThanOrEqual(b.Mul(factor)) || b.GreaterThanOrEqual(a.Mul(factor))
}

// memory is what is known of the quotes that were believed.
type memory struct {
	// Prices are the believed prices, sorted by time.
	Prices []core.PricedAt
	// Count is a number of tokens: the market cap divided by the price in the last quote whose market cap fitted. It is
	// zero if it is unknown.
	Count decimal.Decimal
	// CapLags is true if the last quote was believed although its market cap did not fit. A market cap may follow a move
	// of the price later.
	CapLags bool
}

// judge returns the quote of an answer without the changes that contradict known prices. It returns a DoubtError if the
// price is doubtful, which has two cases:
//
//   - The price contradicts the last believed price, and no change of the quote explains the move.
//   - The price does not contradict the last believed price, but the market cap does not fit it, and CapLags is not
//     set.
//
// A market cap may follow a move later, so judge does not ask whether it fits right after a move. Beside a DoubtError,
// the quote is the answer's own, unchanged.
func (m memory) judge(answer query.Snapshot[*core.Quote]) (*core.Quote, *DoubtError) {
	q := answer.Value
	moved := false
	if len(m.Prices) > 0 {
		last := m.Prices[len(m.Prices)-1]
		moved = areApart(q.Price, last.Price, contradiction)
		if moved && !m.explains(*q, answer.At) {
			return q, &DoubtError{Answer: answer, Last: last}
		}
	}
	if !moved && !m.CapLags && !m.fitsMarketCap(*q) {
		return q, &DoubtError{Answer: answer}
	}
	clean := m.withoutContradictions(*q, answer.At)
	return &clean, nil
}

// fitsMarketCap reports whether the market cap of q is its price times a count of tokens, within a factor of ten. The
// count may be m.Count or the provider's own. fitsMarketCap returns true if no market cap or no count is known.
func (m memory) fitsMarketCap(q core.Quote) bool {
	if !q.MarketCap.Valid {
		return true
	}
	isCountKnown := false
	for _, count := range []decimal.Decimal{m.Count, q.Circulating.Decimal} {
		if !count.IsPositive() {
			continue
		}
		if !areApart(q.MarketCap.Decimal, q.Price.Mul(count), contradiction) {
			return true
		}
		isCountKnown = true
	}
	return !isCountKnown
}

// change is a change of the price in per cent, over a period that ends with the quote.
type change struct {
	percent *decimal.NullDecimal // in the quote
	period  time.Duration
}

// changesOf returns the changes that q has, the shortest first.
func changesOf(q *core.Quote) []change {
	const day = 24 * time.Hour
	all := []change{
		{&q.Change1h, time.Hour},
		{&q.Change24h, day},
		{&q.Change7d, 7 * day},
		{&q.Change30d, 30 * day},
	}
	return slices.DeleteFunc(all, func(c change) bool { return !c.percent.Valid })
}

// from returns the price to which the change leads from a past price. For example, a change of +100 % leads from 1 to
// 2.
func (c change) from(past decimal.Decimal) decimal.Decimal {
	return past.Mul(c.percent.Decimal.Shift(-2).Add(decimal.New(1, 0)))
}

// leads reports whether the change leads from a past price to about this price: within a factor of unexplained.
func (c change) leads(past, price decimal.Decimal) bool {
	return !areApart(price, c.from(past), unexplained)
}

// explains reports whether a change of q leads to its price from the known price at the beginning of the change. If no
// price is known there, the shortest change that covers the last believed price may also begin at that price: of the
// changes that include the whole move, it includes the least besides. at is the time of q if the provider does not say.
// m must have a price.
//
// For example, the last believed price is 1, 20 hours ago, and q has a price of 30. A change of +2900 % over 24 hours
// explains q, even if no price is known for 24 hours ago.
func (m memory) explains(q core.Quote, at time.Time) bool {
	now := timeOf(q, at)
	last := m.Prices[len(m.Prices)-1]
	changes := changesOf(&q)
	for _, c := range changes {
		past, isKnown := m.priceAt(now, c.period)
		if isKnown && c.leads(past, q.Price) {
			return true
		}
	}
	shortest, isCovered := firstCovering(changes, now.Sub(last.At))
	if !isCovered {
		return false
	}
	_, isBeginKnown := m.priceAt(now, shortest.period)
	return !isBeginKnown && shortest.leads(last.Price, q.Price)
}

// firstCovering returns the first change whose period is at least age. ok is false if there is none.
func firstCovering(changes []change, age time.Duration) (first change, ok bool) {
	i := slices.IndexFunc(changes, func(c change) bool { return c.period >= age })
	if i < 0 {
		return change{}, false
	}
	return changes[i], true
}

// withoutContradictions returns q without the changes that contradict known prices. at is the time of q if the provider
// does not say.
func (m memory) withoutContradictions(q core.Quote, at time.Time) core.Quote {
	now := timeOf(q, at)
	for _, c := range changesOf(&q) {
		past, isKnown := m.priceAt(now, c.period)
		if isKnown && areApart(q.Price, c.from(past), contradiction) {
			*c.percent = decimal.NullDecimal{}
		}
	}
	return q
}

// priceAt returns the price at a time before now: the known price that is nearest to that time. It returns false if no
// price is known within a quarter of ago.
//
// For example, for a price 24 hours ago, priceAt returns a price that was known 18 to 30 hours ago.
func (m memory) priceAt(now time.Time, ago time.Duration) (price decimal.Decimal, known bool) {
	wanted := now.Add(-ago)
	smallest := ago / 4 // the tolerance
	for _, p := range m.Prices {
		distance := wanted.Sub(p.At).Abs()
		if distance <= smallest {
			smallest = distance
			price = p.Price
			known = true
		}
	}
	return price, known
}

// timeOf returns the provider's time of q or, if the provider does not say, at.
func timeOf(q core.Quote, at time.Time) time.Time {
	if q.LastUpdated.IsZero() {
		return at
	}
	return q.LastUpdated
}

// tokenCount returns the number of tokens: the market cap of q divided by its price. It returns false if q has no
// market cap.
func tokenCount(q core.Quote) (count decimal.Decimal, known bool) {
	if !q.MarketCap.Valid {
		return decimal.Zero, false
	}
	return q.MarketCap.Decimal.DivRound(q.Price, 6), true
}
