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

// aged returns services that tell the truth, but for what change alters.
func aged(fakes *fault.Fakes, change func(*commandstest.Answers)) *commandstest.Answers {
	w, now := commandstest.Healthy(), time.Now()
	w.Options.Symbol = "HRLD"
	quote := fakes.World.Quote
	w.Price.Value, w.Price.At = &quote, now
	w.Price.Value.Source = "CoinMarketCap"
	w.Supply.Value, w.Supply.At = fakes.World.Supply, now
	staked := []core.PoolAmount{{Pool: fakes.World.Pools[0], Amount: fakes.World.TotalStaked}}
	w.Total.Value = core.Stake{BlockTime: now, Checked: len(fakes.World.Pools), Staked: staked}
	w.Total.At = now
	change(w)
	return w
}

// olds are the ways in which an answer may be old.
var olds = map[string]struct {
	quoted time.Duration // how much older the quote is
	change func(*commandstest.Answers)
	// price and supply are the outcomes, also of the answers that need the price alone.
	price, supply Outcome
}{
	"nothing":            {0, func(*commandstest.Answers) {}, Right, Right},
	"a silent provider":  {0, func(w *commandstest.Answers) { w.Price.Stale = true }, Stale, Right},
	"an old price":       {11 * time.Minute, func(w *commandstest.Answers) { w.Price.Stale = true }, Stale, Right},
	"a price of an hour": {61 * time.Minute, func(w *commandstest.Answers) { w.Price.Stale = true }, Stale, Right},
	"an old quote": {72 * time.Hour, func(w *commandstest.Answers) {
		w.Price.Value.CurrentUntil = w.Price.At
	}, Stale, Right},
	"no credit": {11 * time.Minute, func(w *commandstest.Answers) {
		w.Price.Why = &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: time.Hour}
	}, Stale, Right},
	"an old supply": {0, func(w *commandstest.Answers) {
		w.Supply.Stale, w.Supply.At = true, w.Supply.At.Add(-12*time.Minute)
	}, Right, Stale},
	"an old supply without a price": {0, func(w *commandstest.Answers) {
		w.Supply.Stale, w.Supply.At = true, w.Supply.At.Add(-time.Hour)
		w.PriceErr = market.Service.Fail(core.Unreachable, errors.New("down"))
	}, Outcome(fault.Unreachable), Stale},
	"both": {11 * time.Minute, func(w *commandstest.Answers) { w.Stale, w.StaleFor = true, 12*time.Minute }, Stale, Stale},
}

func TestOldAnswersAreHonest(t *testing.T) {
	fakes := fault.Start(t)
	quoted := fakes.World.Quote.LastUpdated
	for name, old := range olds {
		fakes.World.Quote.LastUpdated = quoted.Add(-old.quoted)
		checker := NewChecker(t, fakes)
		router := aged(fakes, old.change).Router(t)
		for _, line := range []string{"/price", "/price 7d", "/price 1500", "/price $100", "/supply"} {
			command, argument, _ := strings.Cut(line[1:], " ")
			lines := e2etest.Lines(commandstest.Ask(t, router, line))
			got, err := checker.Check(Question{Command: command, Argument: argument}, lines)
			if err != nil || got[fault.Price] != old.price || command == "supply" && got[fault.Supply] != old.supply {
				t.Errorf("%s: %s is answered by %q: %v, %v", name, line, lines, got, err)
			}
		}
	}
}

func TestAnOldAnswerIsNotHonestWithout(t *testing.T) {
	const price, worth = "HRLD $0.04173", "Market cap $25.55M · Volume 24h $1.23M"
	const silent, changes = "The price provider isn't answering", "1h ▼ 0.31% · 7d ▼ 12.50%"
	const supply, total = "612,345,679 HRLD circulating", "Total 987,654,321 · Staked 232.01M (23.5%) · " +
		"Market cap $25.55M · FDV $41.21M"
	const silentSupply = "The supply service isn't answering"
	for name, test := range map[string]struct {
		command string
		lines   []string
	}{
		"its age":                    {"price", []string{price, worth, silent}},
		"its age, with its time":     {"price", []string{price + " ▲ 2.72% (24h)", changes, worth, silent + " · TIME"}},
		"its true age":               {"price", []string{price + " (12 min old)", worth, silent}},
		"a reason":                   {"price", []string{price + " (40 min old)", worth}},
		"the true price":             {"price", []string{"HRLD $0.04174 (40 min old)", worth, silent}},
		"leaving out changes":        {"price", []string{price + " (40 min old)", "1h ▼ 0.31%", worth, silent}},
		"leaving out the change":     {"price", []string{price + " (40 min old) ▲ 2.72% (24h)", worth, silent}},
		"its age beside a chart":     {"price 7d", []string{price, "Cap $25.55M", silent}},
		"the price's true age":       {"supply", []string{supply + " (62%)", total, "at $0.04173, 12 min old · " + silent}},
		"the price's reason":         {"supply", []string{supply + " (62%)", total, "at $0.04173, 40 min old"}},
		"a supply old enough for it": {"supply", []string{supply + " (9 min old)", total, "at $0.04173 · " + silentSupply}},
	} {
		t.Run(name, func(t *testing.T) {
			fakes := fault.Start(t)
			fakes.World.Quote.LastUpdated = time.Now().Add(-40 * time.Minute)
			at := e2etest.Minute(fakes.World.Quote.LastUpdated)
			lines := strings.Split(strings.ReplaceAll(strings.Join(test.lines, "\n"), "TIME", at), "\n")
			command, argument, _ := strings.Cut(test.command, " ")
			if got, err := NewChecker(t, fakes).Check(Question{Command: command, Argument: argument}, lines); err == nil {
				t.Errorf("%q is taken for %v", lines, got)
			}
		})
	}
}
