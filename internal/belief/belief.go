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

// belief is what is remembered of earlier quotes, besides their prices, which the Series has. It is about the last
// quote that was believed, and about the last doubt: a run of doubtful quotes with about the same price. It is stored
// as JSON.
type belief struct {
	// BelievedAt is when the provider gave the last believed quote, and BelievedPrice is its price. They are zero if no
	// quote was believed.
	BelievedAt    time.Time       `json:"at"`
	BelievedPrice decimal.Decimal `json:"price"`
	// Count is a number of tokens, and CapLags is whether the market cap of the last believed quote did not fit. Both are
	// explained at memory.
	Count   decimal.Decimal `json:"count"`
	CapLags bool            `json:"cap_lags"`
	// DoubtedSince is when the provider gave the first quote of the last doubt, and DoubtedPrice is its price. They are
	// zero if there was no doubt. The doubt is over if BelievedAt is not before DoubtedSince: a quote was believed later.
	DoubtedSince time.Time       `json:"doubted"`
	DoubtedPrice decimal.Decimal `json:"doubtful"`
}

// isInDoubt reports whether there is a doubt that is not over.
func (b belief) isInDoubt() bool { return b.DoubtedSince.After(b.BelievedAt) }

// doubts reports whether there is a doubt about this price. If the price contradicts DoubtedPrice, it would be another
// doubt.
func (b belief) doubts(price decimal.Decimal) bool {
	return b.isInDoubt() && !areApart(price, b.DoubtedPrice, contradiction)
}

// hasDoubtedLongEnough reports whether a price has been doubted for believedAfter at this time. It is then believed.
func (b belief) hasDoubtedLongEnough(price decimal.Decimal, at time.Time) bool {
	return b.doubts(price) && at.Sub(b.DoubtedSince) >= believedAfter
}

// mergedWith returns what is remembered of two beliefs, for example of two replicas: the quote that was believed last,
// and the one of the two doubts that outranks the other.
func (b belief) mergedWith(other belief) belief {
	newer, older := b, other
	if other.BelievedAt.After(b.BelievedAt) {
		newer, older = other, b
	}
	isOver := !older.DoubtedSince.After(newer.BelievedAt)
	if isOver || !older.doubtOutranks(newer) {
		return newer
	}
	newer.DoubtedSince = older.DoubtedSince
	newer.DoubtedPrice = older.DoubtedPrice
	return newer
}

// doubtOutranks reports whether the doubt of b is remembered in preference to the doubt of other. Of two doubts about
// the same price, the one that began first is remembered, because believedAfter counts from its beginning. Of two
// doubts about different prices, the one that began last is remembered, because it is about the current price.
func (b belief) doubtOutranks(other belief) bool {
	switch {
	case !other.isInDoubt():
		return true
	case other.doubts(b.DoubtedPrice):
		return b.DoubtedSince.Before(other.DoubtedSince)
	}
	return b.DoubtedSince.After(other.DoubtedSince)
}

// decode reads a stored belief. If text is empty, nothing is stored, and decode returns the zero belief. It fails if
// text is not a belief or has impossible values.
func decode(text []byte) (b belief, err error) {
	if len(text) == 0 {
		return belief{}, nil
	}
	if json.Unmarshal(text, &b) != nil {
		return belief{}, errors.New("not a belief")
	}
	latest := time.Now().Add(maxAhead)
	for _, p := range []core.PricedAt{
		{At: b.BelievedAt, Price: b.BelievedPrice},
		{At: b.DoubtedSince, Price: b.DoubtedPrice},
	} {
		isMissing := p.At.IsZero()
		isPossible := p.IsPlausible() && !p.At.After(latest)
		if !isMissing && !isPossible {
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

// storedBelief is a belief that a mirror.Mirror copies to stores.
type storedBelief struct {
	mu     sync.Mutex
	belief belief
	// isStored is true if Merge found a belief in a store.
	isStored bool
}

// get returns the belief.
func (s *storedBelief) get() belief {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.belief
}

// Merge implements mirror.Value.
func (s *storedBelief) Merge(stored []byte) error {
	other, err := decode(stored)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isStored = s.isStored || len(stored) > 0
	s.belief = s.belief.mergedWith(other)
	return err
}

// Encode implements mirror.Value. Before the first doubt it returns nil, because the Series already stores the prices.
func (s *storedBelief) Encode() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.belief.DoubtedSince.IsZero() && !s.isStored {
		return nil
	}
	text, _ := json.Marshal(s.belief) // A belief can always be encoded.
	return text
}

// believe remembers that the quote of v is believed, which ends a doubt.
func (s *storedBelief) believe(v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.belief
	b.BelievedAt = v.at
	b.BelievedPrice = v.quote.Price
	// The market cap may follow a move of the price later. But a quote that was doubted for believedAfter is believed as
	// it is, with its market cap.
	m := memory{Count: b.Count}
	b.CapLags = !v.hasLasted && !m.fitsMarketCap(*v.quote)
	count, isKnown := tokenCount(*v.quote)
	if isKnown && !b.CapLags && isPossibleCount(count) {
		b.Count = count
	}
}

// doubt remembers that the quote of v is doubted, and reports whether this begins a doubt.
func (s *storedBelief) doubt(v verdict) (begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.belief.doubts(v.quote.Price) {
		return false
	}
	s.belief.DoubtedSince = v.at
	s.belief.DoubtedPrice = v.quote.Price
	return true
}
