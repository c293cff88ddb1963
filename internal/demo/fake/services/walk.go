package services

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// changes holds the changes of the price until the World's Quote, in per cent, by the
// provider's names of the periods. The longest is the last.
var changes = []struct {
	name    string
	minutes int
	percent string
}{
	{"1h", 60, "-0.31415926"}, {"24h", 1440, "2.71828182"}, {"7d", 7 * 1440, "-12.5"},
	{"30d", 30 * 1440, "-6.18033989"}, {"60d", 60 * 1440, "19.4"}, {"90d", 90 * 1440, "38.19660113"},
}

// QuoteAge is the age of a quote when the provider first returns it. A test may change it before
// New.
var QuoteAge = 40 * time.Second

// walk is a random walk of the price, by the minute. It is the same at every start,
// goes through the World's Quote and its changes, and goes on from there with the
// clock. Safe for concurrent use.
type walk struct {
	quote core.Quote // of the start

	mu     sync.Mutex
	random *rand.Rand
	unrest float64   // the logarithm of how fast the price moves
	logs   []float64 // natural logarithms of the price in USD; the first is of 90 days before the start
}

func newWalk(start core.Quote) *walk {
	w := &walk{quote: start, random: rand.New(rand.NewPCG(31415, 2))}
	for i := len(changes) - 1; i >= 0; i-- {
		from, to, steps := w.before(i), math.Log(start.Price.InexactFloat64()), changes[i].minutes
		if i > 0 {
			to, steps = w.before(i-1), steps-changes[i-1].minutes
		}
		if w.logs == nil {
			w.logs = []float64{from}
		}
		first := len(w.logs) - 1
		for range steps {
			w.step()
		}
		// A walk that misses the known price is tilted until it does not.
		part := w.logs[first:]
		miss := to - part[steps]
		for n := range part {
			part[n] += miss * float64(n) / float64(steps)
		}
	}
	return w
}

// before returns the logarithm of the price before a change.
func (w *walk) before(change int) float64 {
	percent := decimal.RequireFromString(changes[change].percent).InexactFloat64()
	return math.Log(w.quote.Price.InexactFloat64() / (1 + percent/100))
}

// step goes on by a minute: about 4 % a day, in calm and in restless hours.
func (w *walk) step() {
	w.unrest = 0.998*w.unrest + 0.02*w.random.NormFloat64()
	w.logs = append(w.logs, w.logs[len(w.logs)-1]+0.0012*math.Exp(w.unrest)*w.random.NormFloat64())
}

// at returns the provider's quote at a time, and its changes in per cent by their names.
// The time may be hours before the start, and not days.
func (w *walk) at(now time.Time) (core.Quote, map[string]decimal.Decimal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	minutes := int(math.Floor(now.Sub(w.quote.LastUpdated.Add(QuoteAge)).Minutes()))
	last := changes[len(changes)-1].minutes + minutes
	for len(w.logs) <= last {
		w.step()
	}
	q, percent := w.quote, map[string]decimal.Decimal{}
	since := math.Exp(w.logs[last]) / w.quote.Price.InexactFloat64()
	q.Price = decimal.NewFromFloat(math.Exp(w.logs[last])).Round(11)
	q.MarketCap.Decimal = q.MarketCap.Decimal.Mul(decimal.NewFromFloat(since)).Round(2)
	q.Volume24h.Decimal = q.Volume24h.Decimal.Mul(decimal.NewFromFloat(since)).Round(2)
	q.LastUpdated = q.LastUpdated.Add(time.Duration(minutes) * time.Minute)
	for _, c := range changes {
		percent[c.name] = decimal.NewFromFloat(100 * math.Expm1(w.logs[last]-w.logs[max(0, last-c.minutes)])).Round(8)
	}
	return q, percent
}

// past returns quotes of the 30 days before the start, oldest first: one an hour, and
// one in 15 minutes of the last 8 days.
func (w *walk) past() []core.Quote {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := changes[len(changes)-1].minutes
	var past []core.Quote
	for ago, step := 30*1440, 60; ago > 0; ago -= step {
		if ago <= 8*1440 {
			step = 15
		}
		past = append(past, core.Quote{Price: decimal.NewFromFloat(math.Exp(w.logs[now-ago])).Round(11),
			LastUpdated: w.quote.LastUpdated.Add(-time.Duration(ago) * time.Minute)})
	}
	return past
}
