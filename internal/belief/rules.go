package belief

import (
	"fmt"
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

// Factor returns the larger of the doubtful and the last believed price, divided by the smaller, and whether the
// doubtful price is the larger. Last must not be zero.
func (e *DoubtError) Factor() (factor decimal.Decimal, rises bool) {
	const digits = 2
	price, last := e.Answer.Value.Price, e.Last.Price
	if price.GreaterThan(last) {
		return price.DivRound(last, digits), true
	}
	return last.DivRound(price, digits), false
}

const (
	// contradiction is how many times one number is another if they contradict each other.
	contradiction = 10
	// unexplained is how many times a quote's price is the price that a change leads to, if the change does not explain
	// the quote. It is well below contradiction: a change of 0 % must not explain a move of ten times.
	unexplained = 3
	// supplyContradiction is contradiction for supplies: providers count them differently.
	supplyContradiction = 1000
)

// areApart reports whether the larger of a and b is at least times the smaller. Neither may be negative.
//
// For example, 2 and 20 are ten times apart, and so are 20 and 2.
func areApart(a, b decimal.Decimal, times int64) bool {
	factor := decimal.NewFromInt(times)
	return a.GreaterThanOrEqual(b.Mul(factor)) || b.GreaterThanOrEqual(a.Mul(factor))
}

// memory is what is known of quotes that were believed.
type memory struct {
	// Prices are sorted by time. The last one is the price that was believed last.
	Prices []core.PricedAt
	// Count is the market cap divided by the price, of the last quote whose market cap fitted. It is zero if that is
	// unknown.
	Count decimal.Decimal
	// CapLags is set if the price of the last quote was believed although its market cap did not fit: the market cap may
	// follow a move later.
	CapLags bool
}

// judge returns the quote of an answer without the changes that contradict known prices. It returns a DoubtError if the
// price is doubtful:
//
//   - The last believed price contradicts it, and no change explains such a move.
//   - The last believed price does not contradict it, and the market cap does not fit it. While CapLags is set, the
//     market cap does not count.
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

// fitsMarketCap reports whether the market cap of q is its price times the known count or the provider's own, within a
// factor of ten. It returns true if no market cap or no count is known.
func (m memory) fitsMarketCap(q core.Quote) bool {
	known := false
	for _, count := range []decimal.Decimal{m.Count, q.Circulating.Decimal} {
		if !count.IsPositive() {
			continue
		}
		if !areApart(q.MarketCap.Decimal, q.Price.Mul(count), contradiction) {
			return true
		}
		known = true
	}
	return !known || !q.MarketCap.Valid
}

// change is a change of a quote in per cent, over a time that ends with the quote.
type change struct {
	percent *decimal.NullDecimal
	over    time.Duration
}

// changesOf returns the changes of q, the shortest first.
func changesOf(q *core.Quote) []change {
	const day = 24 * time.Hour
	return []change{
		{&q.Change1h, time.Hour},
		{&q.Change24h, day},
		{&q.Change7d, 7 * day},
		{&q.Change30d, 30 * day},
	}
}

// from returns the price that the change makes of a past price: 2, if it is +100 % and the past price is 1.
func (c change) from(past decimal.Decimal) decimal.Decimal {
	return past.Mul(c.percent.Decimal.Shift(-2).Add(decimal.New(1, 0)))
}

// explains reports whether a change of q leads to its price from the price that is known of the change's beginning. If
// none is known for the shortest change that reaches back to the last believed price, that change is taken to begin at
// that price. at is the time of q if the provider does not name it. There must be a known price.
func (m memory) explains(q core.Quote, at time.Time) bool {
	now := timeOf(q, at)
	last := m.Prices[len(m.Prices)-1]
	covered := false
	for _, c := range changesOf(&q) {
		if !c.percent.Valid {
			continue
		}
		past, known := m.priceAt(now, c.over)
		covers := now.Sub(last.At) <= c.over
		if covers && !covered && !known {
			past, known = last.Price, true
		}
		covered = covered || covers
		if known && !areApart(q.Price, c.from(past), unexplained) {
			return true
		}
	}
	return false
}

// withoutContradictions returns q without the changes that contradict known prices. at is the time of q if the provider
// does not name it.
func (m memory) withoutContradictions(q core.Quote, at time.Time) core.Quote {
	now := timeOf(q, at)
	for _, c := range changesOf(&q) {
		past, known := m.priceAt(now, c.over)
		if c.percent.Valid && known && areApart(q.Price, c.from(past), contradiction) {
			*c.percent = decimal.NullDecimal{}
		}
	}
	return q
}

// priceAt returns the known price that is nearest to the time ago before now. It returns false if that price is more
// than a quarter of ago away from it.
func (m memory) priceAt(now time.Time, ago time.Duration) (price decimal.Decimal, known bool) {
	nearest := ago / 4
	for _, p := range m.Prices {
		if distance := now.Add(-ago).Sub(p.At).Abs(); distance <= nearest {
			nearest, price, known = distance, p.Price, true
		}
	}
	return price, known
}

// timeOf returns the provider's time of q or, if that is unknown, at.
func timeOf(q core.Quote, at time.Time) time.Time {
	if q.LastUpdated.IsZero() {
		return at
	}
	return q.LastUpdated
}

// tokenCount returns how many tokens make the market cap of q. It returns false without a market cap.
func tokenCount(q core.Quote) (count decimal.Decimal, known bool) {
	if !q.MarketCap.Valid {
		return decimal.Zero, false
	}
	return q.MarketCap.Decimal.DivRound(q.Price, 6), true
}
