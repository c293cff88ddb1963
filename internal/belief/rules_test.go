package belief

import (
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
)

const day = 24 * time.Hour

// dawn is the time of the quotes below.
var dawn = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// known returns a number of a quote. It is unknown if text is "".
func known(text string) decimal.NullDecimal {
	if text == "" {
		return decimal.NullDecimal{}
	}
	return decimal.NewNullDecimal(number(text))
}

// past has the prices that were believed before dawn, by how long before.
type past map[time.Duration]float64

// memory returns a memory of the past, and of a count of tokens. The count is unknown if it is 0.
func (p past) memory(count int64) memory {
	m := memory{Count: decimal.NewFromInt(count)}
	for _, ago := range []time.Duration{7 * day, day, 5 * time.Hour, time.Hour, 4 * time.Minute} {
		if price, known := p[ago]; known {
			m.Prices = append(m.Prices, core.PricedAt{
				At:    dawn.Add(-ago),
				Price: decimal.NewFromFloat(price),
			})
		}
	}
	return m
}

// changes are the changes of a quote in per cent over 1 h, 24 h and 7 d. "" is an unknown change.
type changes [3]string

// quoteOf returns a quote with its time and changes.
func quoteOf(price string, at time.Time, c changes) core.Quote {
	return core.Quote{
		Price:       number(price),
		LastUpdated: at,
		Change1h:    known(c[0]),
		Change24h:   known(c[1]),
		Change7d:    known(c[2]),
	}
}

// answerOf returns an answer at dawn.
func answerOf(price float64, c changes) query.Snapshot[*core.Quote] {
	quote := quoteOf("0", dawn, c)
	quote.Price = decimal.NewFromFloat(price)
	return query.Snapshot[*core.Quote]{At: dawn, Value: &quote}
}

var (
	// steadyWeek: the price was 1 during a week.
	steadyWeek = past{7 * day: 1, day: 1, 5 * time.Hour: 1, time.Hour: 1, 4 * time.Minute: 1}
	// onlyMinutesAgo: the price was 1 four minutes ago. No other price is known.
	onlyMinutesAgo = past{4 * time.Minute: 1}
	// onlyHoursAgo: the price was 1 five hours ago. No other price is known.
	onlyHoursAgo = past{5 * time.Hour: 1}
	// afterCrash: the price fell from 1000 to 1 between a week and a day ago.
	afterCrash = past{7 * day: 1000, day: 1, time.Hour: 1, 4 * time.Minute: 1}
	// afterMistake: the price is 1, but for five hours a wrong price of 1000 has been believed.
	afterMistake = past{7 * day: 1, day: 1, 5 * time.Hour: 1000, time.Hour: 1000, 4 * time.Minute: 1000}
)

// observation is a quote, and the prices that were believed before.
type observation struct {
	past    past
	price   float64
	changes changes
}

func (o observation) doubt() *DoubtError {
	_, doubt := o.past.memory(0).judge(answerOf(o.price, o.changes))
	return doubt
}

var (
	calmChanges    = changes{"0.1", "-2", "5"}
	unknownChanges = changes{"", "", ""}
)

func TestAPriceIsDoubtfulIfNoChangeExplainsIt(t *testing.T) {
	crash7d := changes{"0", "0", "-99.9"}
	for name, o := range map[string]observation{
		"ten times, calm changes":            {past: steadyWeek, price: 10, changes: calmChanges},
		"a tenth, calm changes":              {past: steadyWeek, price: 0.1, changes: calmChanges},
		"20,000,000 times, calm changes":     {past: steadyWeek, price: 2e7, changes: calmChanges},
		"a 20,000,000th, calm changes":       {past: steadyWeek, price: 5e-8, changes: calmChanges},
		"20,000,000 times, no changes":       {past: steadyWeek, price: 2e7, changes: unknownChanges},
		"a thousandth, changes lead to zero": {past: steadyWeek, price: 0.001, changes: changes{"-100", "-100", "-100"}},
		"a rise, changes of a fall":          {past: steadyWeek, price: 100, changes: changes{"-99", "-99", "-99"}},
		"minutes ago, calm changes":          {past: onlyMinutesAgo, price: 2e7, changes: calmChanges},
		"minutes ago, a crash over 7d":       {past: onlyMinutesAgo, price: 0.001, changes: crash7d},
		"hours ago, calm changes":            {past: onlyHoursAgo, price: 2e7, changes: calmChanges},
		"hours ago, 7d rises, 24h does not":  {past: onlyHoursAgo, price: 100, changes: changes{"0", "0", "9900"}},
		"after a crash, a thousandth":        {past: afterCrash, price: 0.001, changes: crash7d},
		"after a crash, a thousand times":    {past: afterCrash, price: 1000, changes: crash7d},
	} {
		if o.doubt() == nil {
			t.Errorf("%s: the price is believed", name)
		}
	}
}

func TestAPriceIsBelievedIfAChangeOrThePastExplainsIt(t *testing.T) {
	crash7d := changes{"0", "0", "-99.9"}
	for name, o := range map[string]observation{
		"as before, calm changes":      {past: steadyWeek, price: 1.02, changes: calmChanges},
		"as before, no changes":        {past: steadyWeek, price: 1.02, changes: unknownChanges},
		"nine times, calm changes":     {past: steadyWeek, price: 9.9, changes: calmChanges},
		"no price was believed before": {past: nil, price: 2e7, changes: calmChanges},
		"a rise in all changes":        {past: steadyWeek, price: 100, changes: changes{"9900", "9800", "9950"}},
		"a rise in one change":         {past: steadyWeek, price: 100, changes: changes{"9900", "-2", "5"}},
		"a crash in all changes":       {past: steadyWeek, price: 0.001, changes: changes{"-99.9", "-99.9", "-99.9"}},
		"minutes ago, a rise over 1h":  {past: onlyMinutesAgo, price: 100, changes: changes{"9900", "", ""}},
		"minutes ago, a rise over 24h": {past: onlyMinutesAgo, price: 100, changes: changes{"", "9900", ""}},
		"hours ago, a rise over 24h":   {past: onlyHoursAgo, price: 100, changes: changes{"0", "9900", ""}},
		"after a crash, as before":     {past: afterCrash, price: 1.1, changes: crash7d},
		"a mistake ends":               {past: afterMistake, price: 1, changes: changes{"0", "0", "0"}},
	} {
		if doubt := o.doubt(); doubt != nil {
			t.Errorf("%s: %v", name, doubt)
		}
	}
}

// capCases are market caps of a token whose price is 2. Counts of tokens are unknown if they are 0.
var capCases = map[string]struct {
	marketCap     string
	count         int64 // from earlier quotes
	providerCount int64 // in the same quote
	doubtful      bool
}{
	"it fits": {
		marketCap: "2000",
		count:     1000,
	},
	"nine times": {
		marketCap: "18000",
		count:     1000,
	},
	"ten times": {
		marketCap: "20000",
		count:     1000,
		doubtful:  true,
	},
	"a tenth": {
		marketCap: "200",
		count:     1000,
		doubtful:  true,
	},
	"no count is known": {
		marketCap: "2000000",
	},
	"the provider's count fits": {
		marketCap:     "2000",
		providerCount: 1000,
	},
	"the provider's count does not fit": {
		marketCap:     "0.0001",
		providerCount: 1000,
		doubtful:      true,
	},
	"it fits the count of earlier quotes": {
		marketCap:     "2000000",
		count:         1_000_000,
		providerCount: 1000,
	},
	"it fits the provider's count, after a mint": {
		marketCap:     "2000000",
		count:         1000,
		providerCount: 1_000_000,
	},
	"it fits neither count": {
		marketCap:     "2000000",
		count:         1000,
		providerCount: 2000,
		doubtful:      true,
	},
	"no market cap": {
		count:         1000,
		providerCount: 1000,
	},
}

// withCap returns an answer with the price 2 and a market cap.
func withCap(marketCap string, providerCount int64, c changes) query.Snapshot[*core.Quote] {
	answer := answerOf(2, c)
	answer.Value.MarketCap = known(marketCap)
	if providerCount > 0 {
		answer.Value.Circulating = known(strconv.FormatInt(providerCount, 10))
	}
	return answer
}

func TestAMarketCapIsComparedWithTheCount(t *testing.T) {
	for name, test := range capCases {
		for _, p := range []past{nil, {4 * time.Minute: 2}} {
			_, doubt := p.memory(test.count).judge(withCap(test.marketCap, test.providerCount, changes{}))
			if (doubt != nil) != test.doubtful {
				t.Errorf("%s: doubt %+v, want one: %t", name, doubt, test.doubtful)
			}
			if doubt != nil && !doubt.Last.Price.IsZero() {
				t.Errorf("%s: the doubt is about the price %v", name, doubt.Last.Price)
			}
		}
	}
}

// After a move of the price, the provider may change the market cap later.
func TestAMoveThatTheChangesShowIsBelievedBeforeTheMarketCapFollows(t *testing.T) {
	moved := past{time.Hour: 0.02, 4 * time.Minute: 0.02}
	for name, test := range capCases {
		answer := withCap(test.marketCap, test.providerCount, changes{"9900"})
		if _, doubt := moved.memory(test.count).judge(answer); doubt != nil {
			t.Errorf("%s: %v", name, doubt)
		}
	}
}

// keptChanges reports which of a quote's changes over 1 h, 24 h and 7 d are kept. The price of the quote is 1.
func keptChanges(p past, c changes) [3]bool {
	q, _ := p.memory(0).judge(answerOf(1, c))
	return [3]bool{q.Change1h.Valid, q.Change24h.Valid, q.Change7d.Valid}
}

// After a glitch, the provider's changes are wrong for up to a week.
func TestAChangeThatContradictsThePastIsLeftOut(t *testing.T) {
	for i := range 3 {
		glitch := changes{"0.1", "-2", "5"}
		glitch[i] = "-99.99999"
		want := [3]bool{true, true, true}
		if got := keptChanges(onlyMinutesAgo, glitch); got != want {
			t.Errorf("changes of %v: %v are kept, though none contradicts the past", glitch, got)
		}
		want[i] = false
		if got := keptChanges(steadyWeek, glitch); got != want {
			t.Errorf("changes of %v: %v are kept, want %v", glitch, got, want)
		}
	}
}

func TestADoubtSaysHowFarThePriceIsOff(t *testing.T) {
	for price, want := range map[float64]struct {
		factor string
		rises  bool
	}{
		2e7:   {"20000000", true},
		0.001: {"1000", false},
	} {
		_, doubt := steadyWeek.memory(0).judge(answerOf(price, changes{"0", "0", "0"}))
		factor, rises := doubt.Factor()
		if factor.String() != want.factor || rises != want.rises {
			t.Errorf("%v: the factor is %v, rises %t; want %+v", price, factor, rises, want)
		}
		if lastAt := dawn.Add(-4 * time.Minute); !doubt.Last.At.Equal(lastAt) {
			t.Errorf("%v: compared with the price of %v, want %v", price, doubt.Last.At, lastAt)
		}
	}
}

// supplyCases are supplies of a token whose price is 2. The provider's figures are unknown if they are "".
var supplyCases = map[string]struct {
	circulating         string
	total               string
	providerCirculating string
	providerTotal       string
	marketCap           string
	want                string // the provider's count that the doubt names; "": no doubt
}{
	"the provider's": {
		circulating:         "1000",
		total:               "5000",
		providerCirculating: "1000",
		providerTotal:       "5000",
	},
	"999 times": {
		circulating:         "999000",
		total:               "999000",
		providerCirculating: "1000",
	},
	"base units": {
		circulating:         "1000e18",
		total:               "5000e18",
		providerCirculating: "1000",
		providerTotal:       "5000",
		want:                "1000",
	},
	"a thousandth": {
		circulating:         "1",
		total:               "5000",
		providerCirculating: "1000",
		want:                "1000",
	},
	"base units of the total": {
		circulating:         "1000",
		total:               "5000e18",
		providerCirculating: "1000",
		providerTotal:       "5000",
		want:                "5000",
	},
	"base units of a total that the provider lacks": {
		circulating:         "1000",
		total:               "5000e18",
		providerCirculating: "1000",
	},
	"base units, compared with the market cap": {
		circulating: "1000e18",
		total:       "5000e18",
		marketCap:   "2000",
		want:        "1000",
	},
	"the provider's, compared with the market cap": {
		circulating: "1000",
		total:       "5000",
		marketCap:   "2000",
	},
	"the provider's count outweighs its market cap": {
		circulating:         "1000",
		total:               "5000",
		providerCirculating: "1000",
		marketCap:           "2000000000",
	},
	"neither count nor cap known": {
		circulating: "1000e18",
		total:       "5000e18",
	},
}

func TestASupplyOfAThousandTimesTheProvidersIsDoubtful(t *testing.T) {
	for name, test := range supplyCases {
		quote := core.Quote{
			Price:       number("2"),
			MarketCap:   known(test.marketCap),
			Circulating: known(test.providerCirculating),
			Total:       known(test.providerTotal),
		}
		supply := core.Supply{
			Circulating: number(test.circulating),
			Total:       number(test.total),
		}
		doubt := JudgeSupply(quote, supply)
		if doubt == nil {
			if test.want != "" {
				t.Errorf("%s: no doubt, want one that names %s", name, test.want)
			}
			continue
		}
		isAboutTotal := test.want == "5000"
		if doubt.Count.String() != test.want || doubt.IsTotal != isAboutTotal {
			t.Errorf("%s: %+v, want %q", name, doubt, test.want)
		}
	}
}
