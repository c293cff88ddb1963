package core

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// PricedAt is what a token cost at a time, in USD.
type PricedAt struct {
	At    time.Time
	Price decimal.Decimal
}

// Memory is what is remembered of quotes that were believed.
type Memory struct {
	// Prices are sorted by time. The last one is the price that was believed last.
	Prices []PricedAt
	// Count is the market cap divided by the price, of the last quote whose market cap fitted; zero:
	// unknown.
	Count decimal.Decimal
	// CapLags is set if the price of the last quote was believed although its market cap did not fit: it
	// may follow a move later.
	CapLags bool
}

// DoubtError is returned in place of a price that is probably wrong. Nothing may be valued by the
// price, and it must not be shown as a fact.
type DoubtError struct {
	// Answer has the doubtful price.
	Answer Snapshot[Quote]
	// Last is the last believed price, which contradicts the doubtful one. It is zero if the
	// doubtful quote contradicts its own market cap.
	Last PricedAt
}

func (e *DoubtError) Error() string {
	if e.Last.Price.IsZero() {
		return "the price is doubtful: it contradicts the quote's market cap"
	}
	at := e.Last.At.UTC().Format(time.RFC3339)
	return fmt.Sprintf("the price is doubtful: it contradicts the price of %s and the quote's changes", at)
}

// Factor returns the larger of the doubtful and the last believed price, divided by the smaller, and
// whether the doubtful price is the larger. Last must not be zero.
func (e *DoubtError) Factor() (factor decimal.Decimal, rises bool) {
	const digits = 2
	price, last := e.Answer.Value.Price, e.Last.Price
	if price.GreaterThan(last) {
		return price.DivRound(last, digits), true
	}
	return last.DivRound(price, digits), false
}

// Contradicting reports whether the larger of two prices is ten times the smaller or more.
func Contradicting(a, b decimal.Decimal) bool { return apart(a, b, contradiction) }

// apart reports whether the larger of a and b is at least times the smaller. Neither may be
// negative.
func apart(a, b decimal.Decimal, times int64) bool {
	factor := decimal.NewFromInt(times)
	return a.GreaterThanOrEqual(b.Mul(factor)) || b.GreaterThanOrEqual(a.Mul(factor))
}

const (
	// contradiction is how many times one number is another if they contradict each other.
	contradiction = 10
	// A change explains a quote if it leads to a price that is less than unexplained times apart from
	// the quote's. That is well below contradiction: a change of 0 % must not explain a move of
	// ten times.
	unexplained = 3
	// supplyContradiction is contradiction for supplies: providers count them differently.
	supplyContradiction = 1000
)

// Judge returns the quote of an answer without the changes that contradict remembered prices. It
// returns a DoubtError if the price is doubtful:
//
//   - The last believed price contradicts it, and no change shows such a move.
//   - The last believed price does not contradict it, and the market cap does not fit it. While
//     CapLags is set, the market cap does not count.
func Judge(answer Snapshot[Quote], m Memory) (Quote, *DoubtError) {
	q := answer.Value
	if len(m.Prices) > 0 {
		last := m.Prices[len(m.Prices)-1]
		if apart(q.Price, last.Price, contradiction) {
			if !m.explains(q, answer.At) {
				return q, &DoubtError{Answer: answer, Last: last}
			}
			return m.withoutContradictions(q, answer.At), nil
		}
	}
	if !m.CapLags && !m.FitsMarketCap(q) {
		return q, &DoubtError{Answer: answer}
	}
	return m.withoutContradictions(q, answer.At), nil
}

// FitsMarketCap reports whether the market cap of q is its price times the remembered count or the
// provider's own, within a factor of ten. It returns true if no market cap or no count is known.
func (m Memory) FitsMarketCap(q Quote) bool {
	known := false
	for _, count := range []decimal.Decimal{m.Count, q.Circulating.Decimal} {
		if !count.IsPositive() {
			continue
		}
		if !apart(q.MarketCap.Decimal, q.Price.Mul(count), contradiction) {
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
func changesOf(q *Quote) []change {
	const day = 24 * time.Hour
	return []change{{&q.Change1h, time.Hour}, {&q.Change24h, day}, {&q.Change7d, 7 * day}, {&q.Change30d, 30 * day}}
}

// from returns the price that a past price and the change make.
func (c change) from(past decimal.Decimal) decimal.Decimal {
	return past.Mul(c.percent.Decimal.Shift(-2).Add(decimal.New(1, 0)))
}

// explains reports whether a change of q leads to its price from the price that is remembered of
// the change's beginning. If none is remembered for the shortest change that reaches back to the last
// believed price, that change is taken to begin at that price. at is the time of q if the provider does not name
// it. There must be a remembered price.
func (m Memory) explains(q Quote, at time.Time) bool {
	now, last := q.timeOr(at), m.Prices[len(m.Prices)-1]
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
		if known && !apart(q.Price, c.from(past), unexplained) {
			return true
		}
	}
	return false
}

// withoutContradictions returns q without the changes that contradict remembered prices. at is
// the time of q if the provider does not name it.
func (m Memory) withoutContradictions(q Quote, at time.Time) Quote {
	now := q.timeOr(at)
	for _, c := range changesOf(&q) {
		past, known := m.priceAt(now, c.over)
		if c.percent.Valid && known && apart(q.Price, c.from(past), contradiction) {
			*c.percent = decimal.NullDecimal{}
		}
	}
	return q
}

// priceAt returns the remembered price that is nearest to the time ago before now. It returns false
// if that price is more than a quarter of ago away from it.
func (m Memory) priceAt(now time.Time, ago time.Duration) (price decimal.Decimal, known bool) {
	nearest := ago / 4
	for _, p := range m.Prices {
		if distance := now.Add(-ago).Sub(p.At).Abs(); distance <= nearest {
			nearest, price, known = distance, p.Price, true
		}
	}
	return price, known
}

// timeOr returns the provider's time of q or, if that is unknown, at.
func (q Quote) timeOr(at time.Time) time.Time {
	if q.LastUpdated.IsZero() {
		return at
	}
	return q.LastUpdated
}

// TokenCount returns how many tokens make the market cap of q. It returns false without a market
// cap.
func (q Quote) TokenCount() (count decimal.Decimal, known bool) {
	if !q.MarketCap.Valid {
		return decimal.Zero, false
	}
	return q.MarketCap.Decimal.DivRound(q.Price, 6), true
}

// SupplyDoubt says which figure of a Supply contradicts the provider's count, as one in base units
// does.
type SupplyDoubt struct {
	// Total is set if it is the total, and not the circulating supply.
	Total bool
	Count decimal.Decimal // the provider's
}

// JudgeSupply returns a SupplyDoubt if a figure of s is a thousand times the provider's count in q
// or more, or a thousandth or less. It returns nil if no count is known. If the price of q is
// doubtful, q must have no market cap.
func (q Quote) JudgeSupply(s Supply) *SupplyDoubt {
	circulating := q.Circulating.Decimal
	if !q.Circulating.Valid {
		circulating, _ = q.TokenCount()
	}
	off := func(ours, count decimal.Decimal) bool {
		return count.IsPositive() && apart(ours, count, supplyContradiction)
	}
	switch {
	case off(s.Circulating, circulating):
		return &SupplyDoubt{Count: circulating}
	case off(s.Total, q.Total.Decimal):
		return &SupplyDoubt{Total: true, Count: q.Total.Decimal}
	}
	return nil
}
