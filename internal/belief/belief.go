// Package belief decides which quotes of the price provider are believed. A quote that contradicts the prices so far,
// or its own market cap, is doubtful: Prices returns a DoubtError in its place, until its own changes agree with it
// or six hours have passed.
//
// The files: rules.go has the rules for one quote, belief.go what is remembered of earlier ones, prices.go applies
// both to each answer, and supply.go judges a supply by the provider's counts.
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
	// maxAge is how long a believed price is remembered: no change of a quote covers more.
	maxAge = 31 * 24 * time.Hour
	// maxAhead is how far a stored time may be ahead of this machine's clock.
	maxAhead = time.Minute
)

// belief is what is remembered besides the prices so far: the last quote that was believed, and whether the quotes
// since then are doubted.
type belief struct {
	// At is when the last believed quote was answered, and Price its price. They are zero if there was none.
	At    time.Time       `json:"at"`
	Price decimal.Decimal `json:"price"`
	// Count and CapLags are as in memory.
	Count   decimal.Decimal `json:"count"`
	CapLags bool            `json:"cap_lags"`
	// Doubted is when the doubt began, which is when its first quote was answered, and Doubtful the price of that quote.
	// If Doubted is not after At, there is no doubt.
	Doubted  time.Time       `json:"doubted"`
	Doubtful decimal.Decimal `json:"doubtful"`
}

func (b belief) isDoubted() bool { return b.Doubted.After(b.At) }

// isSameDoubt reports whether a doubtful price belongs to the doubt. Two prices that contradict each other are two
// doubts.
func (b belief) isSameDoubt(price decimal.Decimal) bool {
	return b.isDoubted() && !areApart(price, b.Doubtful, contradiction)
}

// isLastingDoubt reports whether this price has been doubted for believedAfter: then it is believed.
func (b belief) isLastingDoubt(price decimal.Decimal, at time.Time) bool {
	return b.isSameDoubt(price) && at.Sub(b.Doubted) >= believedAfter
}

// mergedWith returns the belief with the later At. Of two doubts about the same price it has the one that began
// first; a doubt about another price replaces an older one.
func (b belief) mergedWith(other belief) belief {
	newer, older := b, other
	if other.At.After(b.At) {
		newer, older = other, b
	}
	if hasEnded := !older.Doubted.After(newer.At); hasEnded {
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

// decode reads a stored belief. It returns the zero belief for no text, and fails for another form and for impossible
// values.
func decode(text []byte) (b belief, err error) {
	if len(text) == 0 {
		return belief{}, nil
	}
	if json.Unmarshal(text, &b) != nil {
		return belief{}, errors.New("not a belief")
	}
	soon := time.Now().Add(maxAhead)
	for _, p := range []core.PricedAt{{At: b.At, Price: b.Price}, {At: b.Doubted, Price: b.Doubtful}} {
		if !p.At.IsZero() && (!p.IsPossible() || p.At.After(soon)) {
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

// kept is a belief that a mirror.Mirror keeps in stores.
type kept struct {
	mu     sync.Mutex
	belief belief
	// isStored is set once a store had something under the belief's key.
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

// Encode implements mirror.Value. Before the first doubt there is nothing to save: the prices so far tell the last
// one as well.
func (k *kept) Encode() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.belief.Doubted.IsZero() && !k.isStored {
		return nil
	}
	text, _ := json.Marshal(k.belief) // cannot fail
	return text
}
