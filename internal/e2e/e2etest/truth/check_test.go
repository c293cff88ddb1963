package truth

import (
	"errors"
	"strings"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/core"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/service/market"
)

// aged returns services that answer correctly, except for what change changes.
func aged(fakes *fault.Fakes, change func(*commandstest.Answers)) *commandstest.Answers {
	w, now := commandstest.Healthy(), time.Now()
	w.Options.Symbol = "HRLD"
	quote := fakes.World.Quote
	w.Price.Value = &quote
	w.Price.At = now
	w.Price.Value.Source = "CoinMarketCap"
	w.Supply.Value = fakes.World.Supply
	w.Supply.At = now
	staked := []core.PoolAmount{{Pool: fakes.World.Pools[0], Amount: fakes.World.TotalStaked}}
	w.Total.Value = core.Stake{BlockTime: now, Checked: len(fakes.World.Pools), Staked: staked}
	w.Total.At = now
	change(w)
	return w
}

func makePriceStale(w *commandstest.Answers) { w.Price.Stale = true }

// makeSupplyStale returns a change that makes the supply older.
func makeSupplyStale(age time.Duration) func(*commandstest.Answers) {
	return func(w *commandstest.Answers) {
		w.Supply.Stale = true
		w.Supply.At = w.Supply.At.Add(-age)
	}
}

// olds are the ways in which an answer may be old.
var olds = map[string]struct {
	quoteAge time.Duration // how much older the quote is
	change   func(*commandstest.Answers)
	price    Outcome // of answers that need the price
	supply   Outcome // of /supply
}{
	"nothing": {
		change: func(*commandstest.Answers) {},
		price:  Right,
		supply: Right,
	},
	"a silent provider": {
		change: makePriceStale,
		price:  Stale,
		supply: Right,
	},
	"an old price": {
		quoteAge: 11 * time.Minute,
		change:   makePriceStale,
		price:    Stale,
		supply:   Right,
	},
	"a price of an hour": {
		quoteAge: 61 * time.Minute,
		change:   makePriceStale,
		price:    Stale,
		supply:   Right,
	},
	"an old quote": {
		quoteAge: 72 * time.Hour,
		change:   func(w *commandstest.Answers) { w.Price.Value.CurrentUntil = w.Price.At },
		price:    Stale,
		supply:   Right,
	},
	"no credit": {
		quoteAge: 11 * time.Minute,
		change: func(w *commandstest.Answers) {
			w.Price.Why = &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: time.Hour}
		},
		price:  Stale,
		supply: Right,
	},
	"an old supply": {
		change: makeSupplyStale(12 * time.Minute),
		price:  Right,
		supply: Stale,
	},
	"an old supply without a price": {
		change: func(w *commandstest.Answers) {
			makeSupplyStale(time.Hour)(w)
			w.PriceErr = market.Service.Fail(core.Unreachable, errors.New("down"))
		},
		price:  Outcome(fault.Unreachable),
		supply: Stale,
	},
	"both": {
		quoteAge: 11 * time.Minute,
		change: func(w *commandstest.Answers) {
			w.Stale = true
			w.StaleFor = 12 * time.Minute
		},
		price:  Stale,
		supply: Stale,
	},
}

func TestOldAnswersAreHonest(t *testing.T) {
	fakes := fault.Start(t)
	quoted := fakes.World.Quote.LastUpdated
	for name, old := range olds {
		fakes.World.Quote.LastUpdated = quoted.Add(-old.quoteAge)
		checker := NewChecker(t, fakes)
		router := aged(fakes, old.change).Router(t)
		for _, line := range []string{"/price", "/price 7d", "/price 1500", "/price $100", "/supply"} {
			command, argument, _ := strings.Cut(line[1:], " ")
			lines := e2etest.Lines(commandstest.Ask(t, router, line))
			got, err := checker.Check(Question{Command: command, Argument: argument}, lines)
			if err != nil || got[fault.Price] != old.price {
				t.Errorf("%s: %s is answered with %q: %v, %v", name, line, lines, got, err)
			}
			if command == "supply" && got[fault.Supply] != old.supply {
				t.Errorf("%s: /supply is answered with %q: %v", name, lines, got)
			}
		}
	}
}

// Lines of honest answers about an old price or supply.
const (
	priceLine        = "HRLD $0.04173"
	changesLine      = "1h ▼ 0.31% · 7d ▼ 12.50%"
	capLine          = "Market cap $25.55M · Volume 24h $1.23M"
	silentPriceLine  = "The price provider isn't answering"
	circulatingLine  = "612,345,679 HRLD circulating"
	totalLine        = "Total 987,654,321 · Staked 232.01M (23.5%) · Market cap $25.55M · FDV $41.21M"
	silentSupplyLine = "The supply service isn't answering"
)

// The price is 40 minutes old.
func TestAnOldAnswerIsNotHonestWithout(t *testing.T) {
	for name, test := range map[string]struct {
		command string
		lines   []string
	}{
		"its age": {"price", []string{priceLine, capLine, silentPriceLine}},
		"its age, with its time": {"price", []string{
			priceLine + " ▲ 2.72% (24h)", changesLine, capLine, silentPriceLine + " · TIME",
		}},
		"its true age":           {"price", []string{priceLine + " (12 min old)", capLine, silentPriceLine}},
		"a reason":               {"price", []string{priceLine + " (40 min old)", capLine}},
		"the true price":         {"price", []string{"HRLD $0.04174 (40 min old)", capLine, silentPriceLine}},
		"leaving out changes":    {"price", []string{priceLine + " (40 min old)", "1h ▼ 0.31%", capLine, silentPriceLine}},
		"leaving out the change": {"price", []string{priceLine + " (40 min old) ▲ 2.72% (24h)", capLine, silentPriceLine}},
		"its age beside a chart": {"price 7d", []string{priceLine, "Cap $25.55M", silentPriceLine}},
		"the price's true age": {"supply", []string{
			circulatingLine + " (62%)", totalLine, "at $0.04173, 12 min old · " + silentPriceLine,
		}},
		"the price's reason": {"supply", []string{
			circulatingLine + " (62%)", totalLine, "at $0.04173, 40 min old",
		}},
		"a supply old enough for it": {"supply", []string{
			circulatingLine + " (9 min old)", totalLine, "at $0.04173 · " + silentSupplyLine,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fakes := fault.Start(t)
			fakes.World.Quote.LastUpdated = time.Now().Add(-40 * time.Minute)
			at := e2etest.Minute(fakes.World.Quote.LastUpdated)
			lines := strings.Split(strings.ReplaceAll(strings.Join(test.lines, "\n"), "TIME", at), "\n")
			command, argument, _ := strings.Cut(test.command, " ")
			got, err := NewChecker(t, fakes).Check(Question{Command: command, Argument: argument}, lines)
			if err == nil {
				t.Errorf("%q is taken for %v", lines, got)
			}
		})
	}
}
