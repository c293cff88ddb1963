package pricechart

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// believedAfter is how long all quotes are doubted until one is believed all the same.
const believedAfter = 6 * time.Hour

// belief is what Quotes remember besides points: the last quote that was believed, and whether
// the quotes since then are doubted.
type belief struct {
	// At is when the last believed quote was answered, and Price its price. They are zero if
	// there was none.
	At    time.Time       `json:"at"`
	Price decimal.Decimal `json:"price"`
	// Count is how many tokens made its market cap; zero: unknown.
	Count decimal.Decimal `json:"count"`
	// Doubted is when the first doubtful quote since At was answered. It counts if it is after
	// At.
	Doubted time.Time `json:"doubted"`
}

func (b belief) isDoubted() bool { return b.Doubted.After(b.At) }

// isLastingDoubt reports whether quotes have been doubted for so long at a time that the next one
// is believed.
func (b belief) isLastingDoubt(at time.Time) bool {
	return b.isDoubted() && at.Sub(b.Doubted) >= believedAfter
}

// mergedWith returns the newer belief, doubted since the first doubt of both.
func (b belief) mergedWith(other belief) belief {
	newer := b
	if other.At.After(b.At) {
		newer = other
	}
	for _, doubted := range []time.Time{b.Doubted, other.Doubted} {
		if doubted.After(newer.At) && (!newer.isDoubted() || doubted.Before(newer.Doubted)) {
			newer.Doubted = doubted
		}
	}
	return newer
}

// decodeBelief reads a stored belief. It returns the zero belief for no text, and fails for
// another form and for impossible values.
func decodeBelief(text []byte) (b belief, err error) {
	if len(text) == 0 {
		return b, nil
	}
	soon := time.Now().Add(maxAhead)
	if json.Unmarshal(text, &b) != nil {
		return belief{}, errors.New("not a belief")
	}
	believed := point{At: b.At, Price: b.Price}
	if !b.At.IsZero() && !believed.plausible() || !isPossibleCount(b.Count) || b.At.After(soon) || b.Doubted.After(soon) {
		return belief{}, errors.New("a belief without a possible time, price and count")
	}
	return b, nil
}

// isPossibleCount reports whether a count is short enough to be compared.
func isPossibleCount(count decimal.Decimal) bool {
	tokens := count.InexactFloat64()
	return tokens >= 0 && tokens < 1e60
}

// exchangeBelief merges the stores' beliefs into memory, and saves the result in each store that
// differs. Nothing is saved before the first doubt.
func (q *Quotes) exchangeBelief(ctx context.Context) {
	for _, store := range q.stores {
		stored, err := store.Load(ctx, q.beliefKey)
		if err != nil {
			continue // To save would replace what was not read.
		}
		read, err := decodeBelief(stored)
		if err != nil {
			q.log.Warn("the stored belief in a price cannot be read", "err", err)
		}
		q.mu.Lock()
		q.belief = q.belief.mergedWith(read)
		merged, _ := json.Marshal(q.belief) // cannot fail
		everDoubted := !q.belief.Doubted.IsZero() || len(stored) > 0
		q.mu.Unlock()
		if everDoubted && string(merged) != string(stored) {
			store.Save(ctx, q.beliefKey, merged, maxAge)
		}
	}
}

// memory returns what is remembered of believed quotes. mu is held.
func (q *Quotes) memory() core.Memory {
	m := core.Memory{Count: q.belief.Count}
	for _, p := range q.points {
		if !ahead(p) {
			m.Prices = append(m.Prices, core.PricedAt{At: p.At, Price: p.Price})
		}
	}
	last := point{At: q.belief.At, Price: q.belief.Price}
	if last.plausible() && (len(m.Prices) == 0 || last.At.After(m.Prices[len(m.Prices)-1].At)) {
		m.Prices = append(m.Prices, core.PricedAt{At: last.At, Price: last.Price})
	}
	return m
}

// verdict is what core.Judge said of the answer of a time.
type verdict struct {
	at    time.Time
	quote core.Quote
	doubt *core.DoubtError
}

// judge returns the verdict about an answer. It remembers nothing.
func (q *Quotes) judge(answer core.Snapshot[core.Quote]) verdict {
	q.load.Do(q.sync)
	q.mu.Lock()
	defer q.mu.Unlock()
	v := verdict{at: answer.At}
	v.quote, v.doubt = core.Judge(answer, q.memory())
	if v.doubt != nil && q.belief.isLastingDoubt(answer.At) {
		v.doubt = nil
	}
	return v
}

// learn is judge, and remembers the verdict about an answer that is newer than all others.
func (q *Quotes) learn(answer core.Snapshot[core.Quote]) verdict {
	q.mu.Lock()
	last, isDoubted := q.last, q.belief.isDoubted()
	q.mu.Unlock()
	if last.at.Equal(answer.At) {
		return last
	}
	v := q.judge(answer)
	if v.doubt != nil && !isDoubted {
		q.sync() // Another replica may remember more.
		v = q.judge(answer)
	}
	if q.remember(v) {
		q.log.Warn("the price is doubtful, and nothing is valued by it", "err", v.doubt)
		q.sync()
	}
	return v
}

// remember changes the belief after a verdict about the newest answer, and adds its quote if that
// is believed. It reports whether a doubt begins, which is not saved yet.
func (q *Quotes) remember(v verdict) (doubtBegins bool) {
	q.mu.Lock()
	// What is believed before the stores are read may be what they contradict.
	if isNewest := v.at.After(q.last.at); !isNewest || !q.loaded {
		q.mu.Unlock()
		return false
	}
	q.last = v
	doubtBegins = v.doubt != nil && !q.belief.isDoubted()
	switch {
	case doubtBegins:
		q.belief.Doubted = v.at
	case v.doubt == nil:
		q.belief.At, q.belief.Price = v.at, v.quote.Price
		if count, known := v.quote.TokenCount(); known && isPossibleCount(count) {
			q.belief.Count = count
		}
	}
	q.mu.Unlock()
	if v.doubt == nil {
		q.Add(v.quote)
	}
	return doubtBegins
}

// Recorded is a source of the same prices that are believed. It adds each fresh answer to Quotes
// once, whether this process fetched it or another replica did.
type Recorded struct {
	Prices core.Source[struct{}, core.Quote]
	Quotes *Quotes
}

// Get implements core.Source. It blocks for at most 100 ms more than Prices, and fails with a
// *core.DoubtError if the price is doubtful.
func (r *Recorded) Get(ctx context.Context, none struct{}) (core.Snapshot[core.Quote], error) {
	answer, err := r.Prices.Get(ctx, none)
	if err != nil {
		return answer, err
	}
	if answer.Stale {
		return r.Quotes.judge(answer).apply(answer)
	}
	return r.Quotes.learn(answer).apply(answer)
}

// Judge returns an answer of the prices as Get does. It remembers nothing.
func (q *Quotes) Judge(answer core.Snapshot[core.Quote]) (core.Snapshot[core.Quote], error) {
	return q.judge(answer).apply(answer)
}

// apply returns the answer with the verdict's quote, or the verdict's doubt about the answer.
func (v verdict) apply(answer core.Snapshot[core.Quote]) (core.Snapshot[core.Quote], error) {
	if v.doubt != nil {
		return core.Snapshot[core.Quote]{}, &core.DoubtError{Answer: answer, Last: v.doubt.Last}
	}
	answer.Value = v.quote
	return answer, nil
}
