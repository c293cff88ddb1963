package belief

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
)

// DoubtError is returned in place of a price that is probably wrong. The price must not be used to value anything, and
// must not be shown as a fact.
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
	// explanation: a change explains a price if the price to which it leads is less than this many times higher or lower.
	// If it were as high as contradiction, a change of 0 % would explain nearly a factor of ten.
	explanation = 3
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
	// Count is the number of tokens: market cap divided by price, of the last quote whose market cap fitted. It is zero if
	// it is unknown.
	Count decimal.Decimal
	// CapLags is true if the last quote was believed although its market cap did not fit, because the market cap may
	// follow a move of the price later.
	CapLags bool
}

// judge judges the quote of an answer. A price has moved if it contradicts the last believed price. The quote is
// doubtful in two cases:
//
//   - The price has moved, and no change of the quote explains the move.
//   - The price has not moved, but the market cap does not fit it, and CapLags is not set. After a move, the market cap
//     is not compared, because it may follow later.
//
// If the quote is doubtful, judge returns it unchanged with a DoubtError. Otherwise it returns the quote without the
// changes that contradict known prices.
func (m memory) judge(answer query.Snapshot[*core.Quote]) (*core.Quote, *DoubtError) {
	q := answer.Value
	last, exists := m.last()
	hasMoved := exists && areApart(q.Price, last.Price, contradiction)
	if hasMoved && !m.explains(*q, answer.At) {
		return q, &DoubtError{Answer: answer, Last: last}
	}
	if !hasMoved && !m.CapLags && !m.fitsMarketCap(*q) {
		return q, &DoubtError{Answer: answer}
	}
	believed := m.withoutContradictions(*q, answer.At)
	return &believed, nil
}

// last returns the last believed price. exists is false if there is none.
func (m memory) last() (last core.PricedAt, exists bool) {
	if len(m.Prices) == 0 {
		return core.PricedAt{}, false
	}
	return m.Prices[len(m.Prices)-1], true
}

// fitsMarketCap reports whether the market cap of q is its price times a count of tokens, within a factor of ten. The
// count may be m.Count or the provider's own. fitsMarketCap returns true if no market cap or no count is known.
func (m memory) fitsMarketCap(q core.Quote) bool {
	counts := []decimal.Decimal{m.Count, q.Circulating.Decimal}
	known := slices.DeleteFunc(counts, func(count decimal.Decimal) bool { return !count.IsPositive() })
	if !q.MarketCap.Valid || len(known) == 0 {
		return true
	}
	return slices.ContainsFunc(known, func(count decimal.Decimal) bool {
		return !areApart(q.MarketCap.Decimal, q.Price.Mul(count), contradiction)
	})
}

// change is a change of the price in per cent, over a period that ends with the quote.
type change struct {
	percent *decimal.NullDecimal // points into the quote
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

// leads reports whether the change leads from a past price to about this price: less than explanation times apart.
func (c change) leads(past, price decimal.Decimal) bool {
	return !areApart(price, c.from(past), explanation)
}

// explains reports whether a change of q explains its price. at stands in for q.LastUpdated if that is zero. m must
// have a price. There are two ways:
//
//   - The price at the beginning of the change's period is known, and the change leads from there to the price of q.
//   - No price is known at the beginning, and the change leads from the last believed price to the price of q. This
//     applies only to the shortest change whose period includes the last believed price.
//
// For example, the last believed price is 1, 10 hours ago, and q has a price of 30. A change of +2900 % over 24 hours
// explains q, although no price is known for 24 hours ago.
func (m memory) explains(q core.Quote, at time.Time) bool {
	now := timeOf(q, at)
	last, _ := m.last()
	changes := changesOf(&q)
	for _, c := range changes {
		past, isKnown := m.priceAt(now, c.period)
		if isKnown && c.leads(past, q.Price) {
			return true
		}
	}
	shortest, exists := shortestCovering(changes, now.Sub(last.At))
	if !exists {
		return false
	}
	_, isBeginKnown := m.priceAt(now, shortest.period)
	return !isBeginKnown && shortest.leads(last.Price, q.Price)
}

// shortestCovering returns the shortest change whose period is at least age. exists is false if there is none. changes
// are sorted by period.
func shortestCovering(changes []change, age time.Duration) (shortest change, exists bool) {
	i := slices.IndexFunc(changes, func(c change) bool { return c.period >= age })
	if i < 0 {
		return change{}, false
	}
	return changes[i], true
}

// withoutContradictions returns q without the changes that contradict known prices. at stands in for q.LastUpdated if
// that is zero.
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

// priceAt returns the price that was believed some time before now, or nearest to that time. It returns false if no
// price is known within a quarter of ago.
//
// For example, if ago is 24 hours, the price is from 18 to 30 hours ago.
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
