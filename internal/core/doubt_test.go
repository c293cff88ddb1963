package core_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// dawn is the time of the quotes below.
var dawn = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

// remembered is the price in a test, by how long before dawn it was believed.
type remembered map[time.Duration]float64

func (r remembered) memory(count int64) core.Memory {
	m := core.Memory{Count: decimal.NewFromInt(count)}
	for _, ago := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, 5 * time.Hour, time.Hour, 4 * time.Minute} {
		if price, known := r[ago]; known {
			m.Prices = append(m.Prices, core.PricedAt{At: dawn.Add(-ago), Price: decimal.NewFromFloat(price)})
		}
	}
	return m
}

// percent returns a change; "" is an unknown one.
func percent(text string) decimal.NullDecimal {
	if text == "" {
		return decimal.NullDecimal{}
	}
	return decimal.NewNullDecimal(decimal.RequireFromString(text))
}

// changing returns an answer with a price, and its changes over 1 h, 24 h and 7 d.
func changing(price float64, changes [3]string) core.Snapshot[core.Quote] {
	return core.Snapshot[core.Quote]{At: dawn, Value: core.Quote{
		Price: decimal.NewFromFloat(price), LastUpdated: dawn,
		Change1h: percent(changes[0]), Change24h: percent(changes[1]), Change7d: percent(changes[2]),
	}}
}

// aWeek is a price of 1 for a week.
var aWeek = remembered{7 * 24 * time.Hour: 1, 24 * time.Hour: 1, 5 * time.Hour: 1, time.Hour: 1, 4 * time.Minute: 1}

// crashed is a price that fell from 1000 to 1 two days ago.
var crashed = remembered{7 * 24 * time.Hour: 1000, 24 * time.Hour: 1, time.Hour: 1, 4 * time.Minute: 1}

// mistaken is a price of 1 that was mistaken for 1000 and is believed since five hours ago.
var mistaken = remembered{
	7 * 24 * time.Hour: 1, 24 * time.Hour: 1, 5 * time.Hour: 1000, time.Hour: 1000, 4 * time.Minute: 1000,
}

func TestAPriceIsDoubtfulIfNoChangeExplainsIt(t *testing.T) {
	calm, still := [3]string{"0.1", "-2", "5"}, [3]string{"", "", ""}
	for name, test := range map[string]struct {
		seen     remembered
		price    float64
		changes  [3]string
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
		"nothing is remembered":              {nil, 2e7, calm, false},
		"a rise that all changes show":       {aWeek, 100, [3]string{"9900", "9800", "9950"}, false},
		"a rise that one change shows":       {aWeek, 100, [3]string{"9900", "-2", "5"}, false},
		"a crash that all changes show":      {aWeek, 0.001, [3]string{"-99.9", "-99.9", "-99.9"}, false},
		"a crash to nothing":                 {aWeek, 0.001, [3]string{"-100", "-100", "-100"}, true},
		"a rise whose changes show a fall":   {aWeek, 100, [3]string{"-99", "-99", "-99"}, true},
		"some minutes are remembered":        {remembered{4 * time.Minute: 1}, 2e7, calm, true},
		"minutes, a rise that 1h shows":      {remembered{4 * time.Minute: 1}, 100, [3]string{"9900", "", ""}, false},
		"minutes, a rise that 24h shows":     {remembered{4 * time.Minute: 1}, 100, [3]string{"", "9900", ""}, false},
		"five hours ago":                     {remembered{5 * time.Hour: 1}, 2e7, calm, true},
		"five hours ago, 24h shows the rise": {remembered{5 * time.Hour: 1}, 100, [3]string{"0", "9900", ""}, false},
		"five hours ago, 1h shows less":      {remembered{5 * time.Hour: 1}, 100, [3]string{"0", "0", "9900"}, true},
		"after a crash, as before":           {crashed, 1.1, [3]string{"0", "0", "-99.9"}, false},
		"after a crash, a thousandth":        {crashed, 0.001, [3]string{"0", "0", "-99.9"}, true},
		"after a crash, a thousand times":    {crashed, 1000, [3]string{"0", "0", "-99.9"}, true},
		"a fresh bot after a crash, glitch":  {remembered{4 * time.Minute: 1}, 0.001, [3]string{"0", "0", "-99.9"}, true},
		"a mistake ends":                     {mistaken, 1, [3]string{"0", "0", "0"}, false},
	} {
		_, doubt := core.Judge(changing(test.price, test.changes), test.seen.memory(0))
		if (doubt != nil) != test.doubtful {
			t.Errorf("%s: doubt %v, want one: %t", name, doubt, test.doubtful)
		}
	}
}

func TestAMarketCapIsComparedWithTheCount(t *testing.T) {
	const price, count = 2, 1000
	for name, test := range map[string]struct {
		marketCap     string
		count, theirs int64 // 0: unknown
		doubtful      bool
	}{
		"it fits":                       {"2000", count, 0, false},
		"nine times":                    {"18000", count, 0, false},
		"ten times":                     {"20000", count, 0, true},
		"a tenth":                       {"200", count, 0, true},
		"nothing is remembered":         {"2000000", 0, 0, false},
		"the provider's count fits":     {"2000", 0, count, false},
		"the provider's count does not": {"0.0001", 0, count, true},
		"it fits what is remembered":    {"2000000", 1_000_000, count, false},
		"it fits what the provider counts after a mint": {"2000000", count, 1_000_000, false},
		"it fits neither count":                         {"2000000", count, 2 * count, true},
		"no market cap":                                 {"", count, count, false},
	} {
		answer := changing(price, [3]string{})
		answer.Value.MarketCap = percent(test.marketCap)
		if test.theirs > 0 {
			answer.Value.Circulating = percent(strconv.FormatInt(test.theirs, 10))
		}
		for _, seen := range []remembered{nil, {4 * time.Minute: price}} {
			_, doubt := core.Judge(answer, seen.memory(test.count))
			if (doubt != nil) != test.doubtful || doubt != nil && !doubt.Last.Price.IsZero() {
				t.Errorf("%s: doubt %+v, want one: %t", name, doubt, test.doubtful)
			}
		}
		// A move that the changes show is believed, even if the market cap comes later.
		moved := remembered{time.Hour: price / 100.0, 4 * time.Minute: price / 100.0}
		answer.Value.Change1h = percent("9900")
		if _, doubt := core.Judge(answer, moved.memory(test.count)); doubt != nil {
			t.Errorf("%s, after a rise: %v", name, doubt)
		}
	}
}

// A glitch that is over is in the provider's changes for a week.
func TestAChangeThatContradictsMemoryIsLeftOut(t *testing.T) {
	for i, kept := range [][3]bool{{false, true, true}, {true, false, true}, {true, true, false}} {
		changes := [3]string{"0.1", "-2", "5"}
		changes[i] = "-99.99999"
		q, doubt := core.Judge(changing(1, changes), aWeek.memory(0))
		if got := [3]bool{q.Change1h.Valid, q.Change24h.Valid, q.Change7d.Valid}; doubt != nil || got != kept {
			t.Errorf("changes of %v: %v are kept, %v", changes, got, doubt)
		}
		recent := maps.Clone(aWeek)
		maps.DeleteFunc(recent, func(ago time.Duration, _ float64) bool { return ago > 30*time.Minute })
		q, _ = core.Judge(changing(1, changes), recent.memory(0))
		if !q.Change1h.Valid || !q.Change24h.Valid || !q.Change7d.Valid {
			t.Errorf("changes of %v: one is left out, though it contradicts nothing", changes)
		}
	}
}

func TestADoubtSaysHowFarThePriceIsOff(t *testing.T) {
	for price, want := range map[float64]string{2e7: "20000000 true", 0.001: "1000 false"} {
		_, doubt := core.Judge(changing(price, [3]string{"0", "0", "0"}), aWeek.memory(0))
		factor, rises := doubt.Factor()
		got := factor.String() + " " + strconv.FormatBool(rises)
		if got != want || !doubt.Last.At.Equal(dawn.Add(-4*time.Minute)) {
			t.Errorf("%v: %s times the price of %v, want %s", price, got, doubt.Last.At, want)
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
		q := core.Quote{Price: decimal.NewFromInt(2), MarketCap: percent(test.caps)}
		q.Circulating, q.Total = percent(test.theirs), percent(test.theirTotal)
		doubt := q.JudgeSupply(core.Supply{
			Circulating: decimal.RequireFromString(test.circulating), Total: decimal.RequireFromString(test.total),
		})
		got := ""
		if doubt != nil {
			got = doubt.Count.String()
		}
		if got != test.want || doubt != nil && doubt.Total != (test.want == "5000") {
			t.Errorf("%s: %+v, want %q", name, doubt, test.want)
		}
	}
}
