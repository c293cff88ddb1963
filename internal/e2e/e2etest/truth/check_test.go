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

// oldAnswers are states of the services in which answers are old, or only their price or their supply is.
var oldAnswers = map[string]struct {
	quoteAge time.Duration               // how much older than now the price provider's quote is
	change   func(*commandstest.Answers) // what else differs from healthy services; it may be nil
	// The wanted outcomes: of the price in each answer, and of the supply in /supply.
	price, supply Outcome
}{
	"nothing is old": {
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
		change:   func(a *commandstest.Answers) { a.Price.Value.CurrentUntil = a.Price.At },
		price:    Stale,
		supply:   Right,
	},
	"no credit": {
		quoteAge: 11 * time.Minute,
		change: func(a *commandstest.Answers) {
			a.Price.Why = &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: time.Hour}
		},
		price:  Stale,
		supply: Right,
	},
	"an old supply": {
		change: func(a *commandstest.Answers) { makeSupplyStale(a, 12*time.Minute) },
		price:  Right,
		supply: Stale,
	},
	"an old supply without a price": {
		change: func(a *commandstest.Answers) {
			makeSupplyStale(a, time.Hour)
			a.PriceErr = market.Service.Fail(core.Unreachable, errors.New("down"))
		},
		price:  Outcome(fault.Unreachable),
		supply: Stale,
	},
	"an old price and an old supply": {
		quoteAge: 11 * time.Minute,
		change: func(a *commandstest.Answers) {
			a.Stale = true
			a.StaleFor = 12 * time.Minute
		},
		price:  Stale,
		supply: Stale,
	},
}

func makePriceStale(a *commandstest.Answers) { a.Price.Stale = true }

// makeSupplyStale makes the supply this much older, and overdue.
func makeSupplyStale(a *commandstest.Answers, age time.Duration) {
	a.Supply.Stale = true
	a.Supply.At = a.Supply.At.Add(-age)
}

func TestOldAnswersAreHonest(t *testing.T) {
	fakes := fault.Start(t)
	quotedAt := fakes.World.Quote.LastUpdated
	for name, test := range oldAnswers {
		fakes.World.Quote.LastUpdated = quotedAt.Add(-test.quoteAge)
		checker := NewChecker(t, fakes)
		answers := healthyAnswers(fakes)
		if test.change != nil {
			test.change(answers)
		}
		router := answers.Router(t)
		for _, line := range []string{"/price", "/price 7d", "/price 1500", "/price $100", "/supply"} {
			command, argument, _ := strings.Cut(line[1:], " ")
			lines := e2etest.Lines(commandstest.Ask(t, router, line))
			got, err := checker.Check(Question{Command: command, Argument: argument}, lines)
			if err != nil || got[fault.Price] != test.price {
				t.Errorf("%s: %s is answered with %q: %v, %v", name, line, lines, got, err)
			}
			if command == "supply" && got[fault.Supply] != test.supply {
				t.Errorf("%s: /supply is answered with %q: %v", name, lines, got)
			}
		}
	}
}

// healthyAnswers returns the answers of services that give the figures of the fakes now.
func healthyAnswers(fakes *fault.Fakes) *commandstest.Answers {
	a, now := commandstest.Healthy(), time.Now()
	a.Options.Symbol = "HRLD"
	quote := fakes.World.Quote
	a.Price.Value = &quote
	a.Price.At = now
	a.Price.Value.Source = "CoinMarketCap"
	a.Supply.Value = fakes.World.Supply
	a.Supply.At = now
	staked := []core.PoolAmount{{Pool: fakes.World.Pools[0], Amount: fakes.World.TotalStaked}}
	a.Total.Value = core.Stake{BlockTime: now, Checked: len(fakes.World.Pools), Staked: staked}
	a.Total.At = now
	return a
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

// dishonestAnswers are answers about a price that is 40 minutes old, by what is wrong with them.
var dishonestAnswers = map[string]struct {
	command string
	lines   []string // TIME stands for the time of the price
}{
	"no age": {
		command: "price",
		lines:   []string{priceLine, capLine, silentPriceLine},
	},
	"a time instead of an age": {
		command: "price",
		lines:   []string{priceLine + " ▲ 2.72% (24h)", changesLine, capLine, silentPriceLine + " · TIME"},
	},
	"a wrong age": {
		command: "price",
		lines:   []string{priceLine + " (12 min old)", capLine, silentPriceLine},
	},
	"no reason": {
		command: "price",
		lines:   []string{priceLine + " (40 min old)", capLine},
	},
	"a wrong price": {
		command: "price",
		lines:   []string{"HRLD $0.04174 (40 min old)", capLine, silentPriceLine},
	},
	"an old change in an hour": {
		command: "price",
		lines:   []string{priceLine + " (40 min old)", "1h ▼ 0.31%", capLine, silentPriceLine},
	},
	"an old change in a day": {
		command: "price",
		lines:   []string{priceLine + " (40 min old) ▲ 2.72% (24h)", capLine, silentPriceLine},
	},
	"no age beside a chart": {
		command: "price 7d",
		lines:   []string{priceLine, "Cap $25.55M", silentPriceLine},
	},
	"a wrong age of the price of a supply": {
		command: "supply",
		lines: []string{
			circulatingLine + " (62%)", totalLine, "at $0.04173, 12 min old · " + silentPriceLine,
		},
	},
	"no reason for the price of a supply": {
		command: "supply",
		lines:   []string{circulatingLine + " (62%)", totalLine, "at $0.04173, 40 min old"},
	},
	"an age of a supply that is not old": {
		command: "supply",
		lines: []string{
			circulatingLine + " (9 min old)", totalLine, "at $0.04173 · " + silentSupplyLine,
		},
	},
}

func TestDishonestAnswersAreFound(t *testing.T) {
	for name, test := range dishonestAnswers {
		t.Run(name, func(t *testing.T) {
			fakes := fault.Start(t)
			fakes.World.Quote.LastUpdated = time.Now().Add(-40 * time.Minute)
			at := e2etest.Minute(fakes.World.Quote.LastUpdated)
			lines := strings.Split(strings.ReplaceAll(strings.Join(test.lines, "\n"), "TIME", at), "\n")
			command, argument, _ := strings.Cut(test.command, " ")
			got, err := NewChecker(t, fakes).Check(Question{Command: command, Argument: argument}, lines)
			if err == nil {
				t.Errorf("%q counts as honest: %v", lines, got)
			}
		})
	}
}
