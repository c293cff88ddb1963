package pricechart

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/ratelimit"
)

// believedAfter is how long a contradicting price is doubted before it is believed.
const believedAfter = 6 * time.Hour

// belief is what Quotes remember besides points: the last quote that was believed, and whether
// the quotes since then are doubted.
type belief struct {
	// At is when the last believed quote was answered, and Price its price. They are zero if
	// there was none.
	At    time.Time       `json:"at"`
	Price decimal.Decimal `json:"price"`
	// Count and CapLags are those of core.Memory.
	Count   decimal.Decimal `json:"count"`
	CapLags bool            `json:"cap_lags"`
	// Doubted is when the doubt began, which is when its first quote was answered, and Doubtful the
	// price of that quote. If Doubted is not after At, there is no doubt.
	Doubted  time.Time       `json:"doubted"`
	Doubtful decimal.Decimal `json:"doubtful"`
}

func (b belief) isDoubted() bool { return b.Doubted.After(b.At) }

// isSameDoubt reports whether a doubtful price belongs to the doubt: two prices that contradict each
// other are two doubts.
func (b belief) isSameDoubt(price decimal.Decimal) bool {
	return b.isDoubted() && !core.Contradicting(price, b.Doubtful)
}

// isLastingDoubt reports whether a price has been doubted for so long that it is believed.
func (b belief) isLastingDoubt(price decimal.Decimal, at time.Time) bool {
	return b.isSameDoubt(price) && at.Sub(b.Doubted) >= believedAfter
}

// mergedWith returns the belief with the later At. Of two doubts about the same price it has the one
// that began first; a doubt about another price replaces an older one.
func (b belief) mergedWith(other belief) belief {
	newer, older := b, other
	if other.At.After(b.At) {
		newer, older = other, b
	}
	if !older.Doubted.After(newer.At) { // The newer belief ended it.
		return newer
	}
	replaces := older.Doubted.Before(newer.Doubted)
	if newer.isDoubted() && !newer.isSameDoubt(older.Doubtful) {
		replaces = older.Doubted.After(newer.Doubted)
	}
	if replaces || !newer.isDoubted() {
		newer.Doubted = older.Doubted
		newer.Doubtful = older.Doubtful
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
	for _, p := range []point{{At: b.At, Price: b.Price}, {At: b.Doubted, Price: b.Doubtful}} {
		if !p.At.IsZero() && (!p.plausible() || p.At.After(soon)) {
			return belief{}, errors.New("a belief without a possible time and price")
		}
	}
	if !isPossibleCount(b.Count) {
		return belief{}, errors.New("a belief with an impossible count")
	}
	return b, nil
}

// isPossibleCount reports whether a count is short enough to be compared.
func isPossibleCount(count decimal.Decimal) bool {
	tokens := count.InexactFloat64()
	return tokens >= 0 && tokens < 1e60
}

// exchangeBelief merges the stores' beliefs into memory, and saves the result in each store that
// differs. Before the first doubt it saves nothing: the points tell the last price as well. It
// reports whether all stores were read.
func (q *Quotes) exchangeBelief(ctx context.Context) (all bool) {
	all = true
	for _, store := range q.stores {
		stored, err := store.Load(ctx, q.beliefKey)
		if err != nil {
			all = false
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
	return all
}

// memory returns what is remembered of believed quotes of the last 31 days: no change of a quote
// covers more. mu is held.
func (q *Quotes) memory() core.Memory {
	m := core.Memory{Count: q.belief.Count, CapLags: q.belief.CapLags}
	for _, p := range q.points {
		if !ahead(p) && time.Since(p.At) < maxAge {
			m.Prices = append(m.Prices, core.PricedAt{At: p.At, Price: p.Price})
		}
	}
	last := point{At: q.belief.At, Price: q.belief.Price}
	isNewest := len(m.Prices) == 0 || last.At.After(m.Prices[len(m.Prices)-1].At)
	if isNewest && last.plausible() && time.Since(last.At) < maxAge {
		m.Prices = append(m.Prices, core.PricedAt{At: last.At, Price: last.Price})
	}
	return m
}

// verdict is whether the answer of a time is believed.
type verdict struct {
	at    time.Time
	quote core.Quote
	doubt *core.DoubtError // nil: it is believed
	// lasted is set if the quote was doubted for believedAfter, and is believed now.
	lasted bool
}

// verdictOn returns the verdict on an answer. It remembers nothing.
func (q *Quotes) verdictOn(answer core.Snapshot[core.Quote]) verdict {
	q.load.Do(q.sync)
	q.mu.Lock()
	defer q.mu.Unlock()
	v := verdict{at: answer.At}
	v.quote, v.doubt = core.Judge(answer, q.memory())
	if v.doubt != nil && q.belief.isLastingDoubt(v.quote.Price, answer.At) {
		v.doubt = nil
		v.lasted = true
	}
	return v
}

// record returns the verdict on an answer. If the answer is newer than all others, record remembers
// that it is believed, or doubted.
func (q *Quotes) record(answer core.Snapshot[core.Quote]) verdict {
	q.load.Do(q.sync)
	q.mu.Lock()
	last, isDoubted := q.last, q.belief.isDoubted()
	loadsAgain := !q.loaded && q.loads.Allow(ratelimit.Limit{Burst: 1, Every: loadEvery})
	q.mu.Unlock()
	if last.at.Equal(answer.At) {
		return last
	}
	if loadsAgain {
		q.sync()
	}
	v := q.verdictOn(answer)
	if begins := v.doubt != nil && !isDoubted; begins || v.lasted {
		q.sync() // Another replica may remember more.
		v = q.verdictOn(answer)
	}
	if q.remember(v) {
		q.log.Warn("the price is doubtful, and nothing is valued by it", "err", v.doubt)
		q.sync()
	}
	return v
}

// remember changes the belief by the verdict on the newest answer, and adds its quote if that is
// believed. It reports whether a doubt begins; the caller saves that.
func (q *Quotes) remember(v verdict) (doubtBegins bool) {
	q.mu.Lock()
	// Until all stores were read once, nothing is remembered: what they hold may contradict it.
	if isNewest := v.at.After(q.last.at); !isNewest || !q.loaded {
		q.mu.Unlock()
		return false
	}
	q.last = v
	doubtBegins = v.doubt != nil && !q.belief.isSameDoubt(v.quote.Price)
	switch {
	case doubtBegins:
		q.belief.Doubted = v.at
		q.belief.Doubtful = v.quote.Price
	case v.doubt == nil:
		q.belief.CapLags = !v.lasted && !q.memory().FitsMarketCap(v.quote)
		if count, known := v.quote.TokenCount(); known && !q.belief.CapLags && isPossibleCount(count) {
			q.belief.Count = count
		}
		q.belief.At = v.at
		q.belief.Price = v.quote.Price
	}
	q.mu.Unlock()
	if v.doubt == nil {
		q.Add(v.quote)
	}
	return doubtBegins
}

// Recorded is Prices, except that a doubtful price is a *core.DoubtError. It adds each fresh answer
// to Quotes once, whether this process fetched it or another replica did.
type Recorded struct {
	Prices core.Source[struct{}, core.Quote]
	Quotes *Quotes
}

// Get implements core.Source. It blocks for at most 400 ms more than Prices: 100 ms for each exchange
// with the stores. There is one at the start, each minute until all stores were read, and two when a
// doubt begins.
func (r *Recorded) Get(ctx context.Context, none struct{}) (core.Snapshot[core.Quote], error) {
	answer, err := r.Prices.Get(ctx, none)
	if err != nil {
		return answer, err
	}
	if answer.Stale {
		return r.Quotes.verdictOn(answer).apply(answer)
	}
	return r.Quotes.record(answer).apply(answer)
}

// Peek returns an answer of the prices as Recorded.Get does, and remembers nothing.
func (q *Quotes) Peek(answer core.Snapshot[core.Quote]) (core.Snapshot[core.Quote], error) {
	return q.verdictOn(answer).apply(answer)
}

// apply returns the answer with the verdict's quote, or the verdict's doubt about the answer.
func (v verdict) apply(answer core.Snapshot[core.Quote]) (core.Snapshot[core.Quote], error) {
	if v.doubt != nil {
		return core.Snapshot[core.Quote]{}, &core.DoubtError{Answer: answer, Last: v.doubt.Last}
	}
	answer.Value = v.quote
	return answer, nil
}
