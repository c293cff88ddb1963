package belief

import (
	"maps"
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

// known returns a number that a quote may lack; "" is one that it lacks.
func known(text string) decimal.NullDecimal {
	if text == "" {
		return decimal.NullDecimal{}
	}
	return decimal.NewNullDecimal(number(text))
}

// past is the price in a test, by how long before dawn it was believed.
type past map[time.Duration]float64

// memory returns what is known of the past, with a count of tokens; 0: unknown.
func (p past) memory(count int64) memory {
	m := memory{Count: decimal.NewFromInt(count)}
	for _, ago := range []time.Duration{7 * day, day, 5 * time.Hour, time.Hour, 4 * time.Minute} {
		if price, known := p[ago]; known {
			m.Prices = append(m.Prices, core.PricedAt{At: dawn.Add(-ago), Price: decimal.NewFromFloat(price)})
		}
	}
	return m
}

// changes are the changes of a quote in per cent over 1 h, 24 h and 7 d; "" is an unknown one.
type changes [3]string

// quoteOf returns a quote of a time.
func quoteOf(price string, at time.Time, c changes) core.Quote {
	return core.Quote{
		Price:       number(price),
		LastUpdated: at,
		Change1h:    known(c[0]),
		Change24h:   known(c[1]),
		Change7d:    known(c[2]),
	}
}

// answerOf returns an answer of dawn.
func answerOf(price float64, c changes) query.Snapshot[*core.Quote] {
	quote := quoteOf("0", dawn, c)
	quote.Price = decimal.NewFromFloat(price)
	return query.Snapshot[*core.Quote]{At: dawn, Value: &quote}
}

var (
	// aWeek is a price of 1 for a week.
	aWeek = past{7 * day: 1, day: 1, 5 * time.Hour: 1, time.Hour: 1, 4 * time.Minute: 1}
	// minutes is a price of 1 that is known of four minutes ago alone.
	minutes = past{4 * time.Minute: 1}
	// hours is a price of 1 that is known of five hours ago alone.
	hours = past{5 * time.Hour: 1}
	// crashed is a price that fell from 1000 to 1 two days ago.
	crashed = past{7 * day: 1000, day: 1, time.Hour: 1, 4 * time.Minute: 1}
	// mistaken is a price of 1 that was mistaken for 1000 and is believed since five hours ago.
	mistaken = past{7 * day: 1, day: 1, 5 * time.Hour: 1000, time.Hour: 1000, 4 * time.Minute: 1000}
)

func TestAPriceIsDoubtfulIfNoChangeExplainsIt(t *testing.T) {
	calm, still := changes{"0.1", "-2", "5"}, changes{}
	for name, test := range map[string]struct {
		past     past
		price    float64
		changes  changes
		doubtful bool
	}{
		"as before":                          {aWeek, 1.02, calm, false},
		"nine times, which no change shows":  {aWeek, 9.9, calm, false},
		"ten times, which no change shows":   {aWeek, 10, calm, true},
		"a tenth, which no change shows":     {aWeek, 0.1, calm, true},
		"20,000,000 times":                   {aWeek, 2e7, calm, true},
		"a 20,000,000th":                     {aWeek, 5e-8, calm, true},
		"20,000,000 times, without changes":  {aWeek, 2e7, still, true},
		"as before, without changes":         {aWeek, 1.02, still, false},
		"nothing is known":                   {nil, 2e7, calm, false},
		"a rise that all changes show":       {aWeek, 100, changes{"9900", "9800", "9950"}, false},
		"a rise that one change shows":       {aWeek, 100, changes{"9900", "-2", "5"}, false},
		"a crash that all changes show":      {aWeek, 0.001, changes{"-99.9", "-99.9", "-99.9"}, false},
		"a crash to nothing":                 {aWeek, 0.001, changes{"-100", "-100", "-100"}, true},
		"a rise whose changes show a fall":   {aWeek, 100, changes{"-99", "-99", "-99"}, true},
		"some minutes are known":             {minutes, 2e7, calm, true},
		"minutes, a rise that 1h shows":      {minutes, 100, changes{"9900", "", ""}, false},
		"minutes, a rise that 24h shows":     {minutes, 100, changes{"", "9900", ""}, false},
		"five hours ago":                     {hours, 2e7, calm, true},
		"five hours ago, 24h shows the rise": {hours, 100, changes{"0", "9900", ""}, false},
		"five hours ago, 1h shows less":      {hours, 100, changes{"0", "0", "9900"}, true},
		"after a crash, as before":           {crashed, 1.1, changes{"0", "0", "-99.9"}, false},
		"after a crash, a thousandth":        {crashed, 0.001, changes{"0", "0", "-99.9"}, true},
		"after a crash, a thousand times":    {crashed, 1000, changes{"0", "0", "-99.9"}, true},
		"a fresh bot after a crash, glitch":  {minutes, 0.001, changes{"0", "0", "-99.9"}, true},
		"a mistake ends":                     {mistaken, 1, changes{"0", "0", "0"}, false},
	} {
		_, doubt := test.past.memory(0).judge(answerOf(test.price, test.changes))
		if (doubt != nil) != test.doubtful {
			t.Errorf("%s: doubt %v, want one: %t", name, doubt, test.doubtful)
		}
	}
}

// capCases are market caps of a token whose price is 2.
var capCases = map[string]struct {
	marketCap     string
	count, theirs int64 // known, and of the provider; 0: unknown
	doubtful      bool
}{
	"it fits":                       {"2000", 1000, 0, false},
	"nine times":                    {"18000", 1000, 0, false},
	"ten times":                     {"20000", 1000, 0, true},
	"a tenth":                       {"200", 1000, 0, true},
	"no count is known":             {"2000000", 0, 0, false},
	"the provider's count fits":     {"2000", 0, 1000, false},
	"the provider's count does not": {"0.0001", 0, 1000, true},
	"it fits what is known":         {"2000000", 1_000_000, 1000, false},
	"it fits what the provider counts after a mint": {"2000000", 1000, 1_000_000, false},
	"it fits neither count":                         {"2000000", 1000, 2000, true},
	"no market cap":                                 {"", 1000, 1000, false},
}

// withCap returns an answer with the price 2.
func withCap(marketCap string, theirs int64, c changes) query.Snapshot[*core.Quote] {
	answer := answerOf(2, c)
	answer.Value.MarketCap = known(marketCap)
	if theirs > 0 {
		answer.Value.Circulating = known(strconv.FormatInt(theirs, 10))
	}
	return answer
}

func TestAMarketCapIsComparedWithTheCount(t *testing.T) {
	for name, test := range capCases {
		for _, p := range []past{nil, {4 * time.Minute: 2}} {
			_, doubt := p.memory(test.count).judge(withCap(test.marketCap, test.theirs, changes{}))
			if (doubt != nil) != test.doubtful || doubt != nil && !doubt.Last.Price.IsZero() {
				t.Errorf("%s: doubt %+v, want one: %t", name, doubt, test.doubtful)
			}
		}
	}
}

// The market cap may come later.
func TestAMoveThatTheChangesShowIsBelievedWhateverTheMarketCap(t *testing.T) {
	moved := past{time.Hour: 0.02, 4 * time.Minute: 0.02}
	for name, test := range capCases {
		answer := withCap(test.marketCap, test.theirs, changes{"9900"})
		if _, doubt := moved.memory(test.count).judge(answer); doubt != nil {
			t.Errorf("%s: %v", name, doubt)
		}
	}
}

// keeps returns which of the changes are kept of a quote with the price 1.
func keeps(p past, c changes) [3]bool {
	q, _ := p.memory(0).judge(answerOf(1, c))
	return [3]bool{q.Change1h.Valid, q.Change24h.Valid, q.Change7d.Valid}
}

// A glitch that is over is in the provider's changes for a week.
func TestAChangeThatContradictsThePastIsLeftOut(t *testing.T) {
	recent := maps.Clone(aWeek)
	maps.DeleteFunc(recent, func(ago time.Duration, _ float64) bool { return ago > 30*time.Minute })
	for i := range 3 {
		glitch := changes{"0.1", "-2", "5"}
		glitch[i] = "-99.99999"
		want := [3]bool{true, true, true}
		if got := keeps(recent, glitch); got != want {
			t.Errorf("changes of %v: %v are kept, though none contradicts the past", glitch, got)
		}
		want[i] = false
		if got := keeps(aWeek, glitch); got != want {
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
		_, doubt := aWeek.memory(0).judge(answerOf(price, changes{"0", "0", "0"}))
		factor, rises := doubt.Factor()
		if factor.String() != want.factor || rises != want.rises || !doubt.Last.At.Equal(dawn.Add(-4*time.Minute)) {
			t.Errorf("%v: %v times the price of %v, rises %t", price, factor, doubt.Last.At, rises)
		}
	}
}

func TestASupplyOfAThousandTimesTheirsIsDoubtful(t *testing.T) {
	for name, test := range map[string]struct {
		circulating, total       string // ours
		theirs, theirTotal, caps string // "": unknown
		want                     string // "": no doubt
	}{
		"as theirs":                   {"1000", "5000", "1000", "5000", "", ""},
		"999 times":                   {"999000", "999000", "1000", "", "", ""},
		"base units":                  {"1000e18", "5000e18", "1000", "5000", "", "1000"},
		"a thousandth":                {"1", "5000", "1000", "", "", "1000"},
		"base units of the total":     {"1000", "5000e18", "1000", "5000", "", "5000"},
		"a total that they lack":      {"1000", "5000e18", "1000", "", "", ""},
		"base units by a market cap":  {"1000e18", "5000e18", "", "", "2000", "1000"},
		"as theirs by a market cap":   {"1000", "5000", "", "", "2000", ""},
		"their count before the cap":  {"1000", "5000", "1000", "", "2000000000", ""},
		"neither count nor cap known": {"1000e18", "5000e18", "", "", "", ""},
	} {
		q := core.Quote{Price: number("2"), MarketCap: known(test.caps)}
		q.Circulating = known(test.theirs)
		q.Total = known(test.theirTotal)
		doubt := JudgeSupply(q, core.Supply{Circulating: number(test.circulating), Total: number(test.total)})
		got := ""
		if doubt != nil {
			got = doubt.Count.String()
		}
		if got != test.want || doubt != nil && doubt.IsTotal != (test.want == "5000") {
			t.Errorf("%s: %+v, want %q", name, doubt, test.want)
		}
	}
}
