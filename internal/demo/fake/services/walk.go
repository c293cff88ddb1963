package services

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

const minutesPerDay = 24 * 60

// changes lists the changes of the World's Quote, in per cent, over periods of different lengths. name is the
// provider's name of the period. The longest period is last.
var changes = []struct {
	name    string
	minutes int
	percent string
}{
	{"1h", 60, "-0.31415926"},
	{"24h", minutesPerDay, "2.71828182"},
	{"7d", 7 * minutesPerDay, "-12.5"},
	{"30d", 30 * minutesPerDay, "-6.18033989"},
	{"60d", 60 * minutesPerDay, "19.4"},
	{"90d", longestPeriod, "38.19660113"},
}

// longestPeriod is the longest period of changes, in minutes.
const longestPeriod = 90 * minutesPerDay

// QuoteAge is the age of a quote when the provider first returns it. A test may change it before New.
var QuoteAge = 40 * time.Second

// walk is a random walk of the price in steps of a minute. It is the same at every start. It begins longestPeriod
// before the World's Quote, passes through that and through the prices that its changes imply, and continues with
// the clock. It is safe for concurrent use.
type walk struct {
	quote core.Quote // the World's

	mu         sync.Mutex
	random     *rand.Rand
	volatility float64 // the natural logarithm of a factor by which the price moves faster
	// logs are natural logarithms of the price in USD, one per minute. The World's Quote is at longestPeriod.
	logs []float64
}

func newWalk(quote core.Quote) *walk {
	w := &walk{quote: quote, random: rand.New(rand.NewPCG(31415, 2))}
	w.logs = []float64{w.logBefore(len(changes) - 1)}
	for i := len(changes) - 1; i > 0; i-- {
		w.walkTo(w.logBefore(i-1), changes[i].minutes-changes[i-1].minutes)
	}
	w.walkTo(math.Log(quote.Price.InexactFloat64()), changes[0].minutes)
	return w
}

// logBefore returns the logarithm of the price before changes[i].
func (w *walk) logBefore(i int) float64 {
	percent := decimal.RequireFromString(changes[i].percent).InexactFloat64()
	return math.Log(w.quote.Price.InexactFloat64() / (1 + percent/100))
}

// walkTo adds steps that end at the logarithm to. It makes random steps, and then corrects each by its part of the
// error.
func (w *walk) walkTo(to float64, steps int) {
	start := len(w.logs) - 1
	for range steps {
		w.step()
	}
	added := w.logs[start:]
	miss := to - added[steps]
	for n := range added {
		added[n] += miss * float64(n) / float64(steps)
	}
}

// step adds the price of the next minute. The price moves by about 4 % a day, and faster in some hours than in others.
func (w *walk) step() {
	w.volatility = 0.998*w.volatility + 0.02*w.random.NormFloat64()
	latest := w.logs[len(w.logs)-1]
	w.logs = append(w.logs, latest+0.0012*math.Exp(w.volatility)*w.random.NormFloat64())
}

// at implements prices. The time may be some hours before the start, but not days.
func (w *walk) at(now time.Time) (core.Quote, map[string]decimal.Decimal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	start := w.quote.LastUpdated.Add(QuoteAge)
	minutes := int(math.Floor(now.Sub(start).Minutes()))
	latest := longestPeriod + minutes
	for len(w.logs) <= latest {
		w.step()
	}
	growth := decimal.NewFromFloat(math.Exp(w.logs[latest]) / w.quote.Price.InexactFloat64())
	q := w.quote
	q.Price = w.price(latest)
	q.MarketCap.Decimal = q.MarketCap.Decimal.Mul(growth).Round(2)
	q.Volume24h.Decimal = q.Volume24h.Decimal.Mul(growth).Round(2)
	q.LastUpdated = q.LastUpdated.Add(time.Duration(minutes) * time.Minute)
	percent := map[string]decimal.Decimal{}
	for _, c := range changes {
		earlier := max(0, latest-c.minutes)
		percent[c.name] = decimal.NewFromFloat(100 * math.Expm1(w.logs[latest]-w.logs[earlier])).Round(8)
	}
	return q, percent
}

// price returns the price at an index of logs.
func (w *walk) price(index int) decimal.Decimal {
	return decimal.NewFromFloat(math.Exp(w.logs[index])).Round(11)
}

// past returns quotes of the 30 days before the start, the oldest first: one per hour, and in the last 8 days one
// per 15 minutes.
func (w *walk) past() []core.Quote {
	w.mu.Lock()
	defer w.mu.Unlock()
	var past []core.Quote
	interval := 60
	for ago := 30 * minutesPerDay; ago > 0; ago -= interval {
		if ago <= 8*minutesPerDay {
			interval = 15
		}
		past = append(past, core.Quote{
			Price:       w.price(longestPeriod - ago),
			LastUpdated: w.quote.LastUpdated.Add(-time.Duration(ago) * time.Minute),
		})
	}
	return past
}
