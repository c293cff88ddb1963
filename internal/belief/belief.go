// Package belief decides which quotes of the price provider are believed. A quote that contradicts the prices so far,
// or its own market cap, is doubtful. Prices returns a DoubtError in its place, until the quote's own changes explain
// it or six hours have passed.
//
// The files, in reading order: rules.go (the rules for one quote), belief.go (the memory of earlier quotes),
// prices.go (the rules and the memory applied to each answer), supply.go (a supply judged by the provider's counts).
package belief

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

const (
	// believedAfter is how long a contradicting price is doubted before it is believed.
	believedAfter = 6 * time.Hour
	// maxAge is how long a believed price is remembered. The longest change of a quote is over 30 days.
	maxAge = 31 * 24 * time.Hour
	// maxAhead is how far a stored time may be ahead of this machine's clock.
	maxAhead = time.Minute
)

// belief is what is remembered in addition to the prices so far: the last quote that was believed, and the last doubt,
// which is a run of doubtful quotes. It is stored as JSON.
type belief struct {
	// At is when the provider gave the last believed quote, and Price its price. They are zero if there was none.
	At    time.Time       `json:"at"`
	Price decimal.Decimal `json:"price"`
	// Count and CapLags are as in memory.
	Count   decimal.Decimal `json:"count"`
	CapLags bool            `json:"cap_lags"`
	// Doubted is when the provider gave the first quote of the last doubt, and Doubtful is the price of that quote. They
	// are zero if there was no doubt. The doubt is over if a quote was believed since, so that Doubted is not after At.
	Doubted  time.Time       `json:"doubted"`
	Doubtful decimal.Decimal `json:"doubtful"`
}

// isDoubted reports whether there is a doubt that is not over.
func (b belief) isDoubted() bool { return b.Doubted.After(b.At) }

// isSameDoubt reports whether a doubtful price belongs to the doubt. Two prices that contradict each other are two
// doubts.
func (b belief) isSameDoubt(price decimal.Decimal) bool {
	return b.isDoubted() && !areApart(price, b.Doubtful, contradiction)
}

// isLastingDoubt reports whether a price has been doubted for believedAfter at this time. It is then believed.
func (b belief) isLastingDoubt(price decimal.Decimal, at time.Time) bool {
	return b.isSameDoubt(price) && at.Sub(b.Doubted) >= believedAfter
}

// mergedWith returns the belief with the later At. Its doubt is the one of the two doubts that takesPrecedence.
func (b belief) mergedWith(other belief) belief {
	newer, older := b, other
	if other.At.After(b.At) {
		newer, older = other, b
	}
	isOver := !older.Doubted.After(newer.At)
	if !isOver && older.takesPrecedence(newer) {
		newer.Doubted = older.Doubted
		newer.Doubtful = older.Doubtful
	}
	return newer
}

// takesPrecedence reports whether the doubt of b is remembered rather than the doubt of other. If both doubts are about
// the same price, the one that began first is remembered, because believedAfter counts from its beginning. Otherwise
// the one that began last is remembered, because it is about the current price.
func (b belief) takesPrecedence(other belief) bool {
	switch {
	case !other.isDoubted():
		return true
	case other.isSameDoubt(b.Doubtful):
		return b.Doubted.Before(other.Doubted)
	}
	return b.Doubted.After(other.Doubted)
}

// decode reads a stored belief. It returns the zero belief if text is empty. It fails if text is not a belief, or has
// impossible values.
func decode(text []byte) (b belief, err error) {
	if len(text) == 0 {
		return belief{}, nil
	}
	if json.Unmarshal(text, &b) != nil {
		return belief{}, errors.New("not a belief")
	}
	latest := time.Now().Add(maxAhead)
	for _, p := range []core.PricedAt{{At: b.At, Price: b.Price}, {At: b.Doubted, Price: b.Doubtful}} {
		if !p.At.IsZero() && (!p.IsPlausible() || p.At.After(latest)) {
			return belief{}, errors.New("a belief without a possible time and price")
		}
	}
	if !isPossibleCount(b.Count) {
		return belief{}, errors.New("a belief with an impossible count")
	}
	return b, nil
}

// isPossibleCount reports whether a count is unknown, which is 0, or short enough to be compared.
func isPossibleCount(count decimal.Decimal) bool {
	tokens := count.InexactFloat64()
	return tokens >= 0 && tokens < 1e60
}

// kept is a belief that a mirror.Mirror keeps in stores.
type kept struct {
	mu     sync.Mutex
	belief belief
	// isStored is true once Merge got a stored belief.
	isStored bool
}

// get returns the belief.
func (k *kept) get() belief {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.belief
}

// Merge implements mirror.Value.
func (k *kept) Merge(stored []byte) error {
	other, err := decode(stored)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isStored = k.isStored || len(stored) > 0
	k.belief = k.belief.mergedWith(other)
	return err
}

// Encode implements mirror.Value. Before the first doubt it returns nil, because the Series already stores the prices.
func (k *kept) Encode() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.belief.Doubted.IsZero() && !k.isStored {
		return nil
	}
	text, _ := json.Marshal(k.belief) // A belief can always be encoded.
	return text
}

// believe remembers that the quote of v is believed, which ends a doubt.
func (k *kept) believe(v verdict) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := memory{Count: k.belief.Count}
	k.belief.CapLags = !v.hasLasted && !m.fitsMarketCap(*v.quote)
	if count, known := tokenCount(*v.quote); known && !k.belief.CapLags && isPossibleCount(count) {
		k.belief.Count = count
	}
	k.belief.At = v.at
	k.belief.Price = v.quote.Price
}

// doubt remembers the doubt of v, and reports whether it has begun with v.
func (k *kept) doubt(v verdict) (begins bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.belief.isSameDoubt(v.quote.Price) {
		return false
	}
	k.belief.Doubted = v.at
	k.belief.Doubtful = v.quote.Price
	return true
}
