package commands_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// withTotal returns Answers in which all wallets have so much staked, read so long before
// Noon. The total supply is 1,000,000,000.
func withTotal(tokens string, age time.Duration) *commandstest.Answers {
	w := commandstest.Healthy()
	at := commandstest.Noon.Add(-age)
	w.Total = core.Snapshot[core.Stake]{At: at, FreshUntil: at.Add(time.Hour), Value: core.Stake{
		BlockTime: at, Checked: 21, Staked: []core.PoolAmount{{Amount: known(tokens).Decimal}}}}
	return w
}

func TestSupplyTellsTheWholeStakeOrNothingOfIt(t *testing.T) {
	for name, test := range map[string]struct {
		total  string
		change func(*commandstest.Answers)
		want   string // "" shows no line
	}{
		"a part":                    {"244123456.7", func(*commandstest.Answers) {}, "Staked 244.12M (24.4%)"},
		"none":                      {"0", func(*commandstest.Answers) {}, "Staked 0 (0%)"},
		"all there is":              {"1000000000", func(*commandstest.Answers) {}, "Staked 1B (100%)"},
		"more than there is":        {"1000000000.1", func(*commandstest.Answers) {}, ""},
		"more than circulates":      {"500000000", func(*commandstest.Answers) {}, "Staked 500M (50%)"},
		"beside no price":           {"500000000", func(w *commandstest.Answers) { w.PriceErr = failure }, "Staked 500M (50%)"},
		"a pool is unread":          {"5", func(w *commandstest.Answers) { w.Total.Value.Failed = unreadPool() }, ""},
		"the chain does not answer": {"5", func(w *commandstest.Answers) { w.TotalErr = failure }, ""},
		"nobody asks":               {"5", func(w *commandstest.Answers) { w.Total.Value.Checked = 0 }, ""},
	} {
		w := withTotal(test.total, 0)
		test.change(w)
		reply, err := run(w, t, "supply", 0, nil)
		said := strings.ReplaceAll(texts(reply), "\u00a0", " ")
		if strings.Contains(said, "Staked") != (test.want != "") || !strings.Contains(said, test.want) || !strings.Contains(said, "FDV") && w.PriceErr == nil {
			t.Errorf("%s: want %q in\n%s", name, test.want, said)
		}
		// What is not spoken of is not missing.
		if (err != nil) != (w.PriceErr != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheStakeIsAPartOfTheSupplysAge(t *testing.T) {
	w := withTotal("5", time.Minute)
	w.Supply.FreshUntil, w.Price.FreshUntil = commandstest.Noon.Add(2*time.Hour), commandstest.Noon.Add(2*time.Hour)
	reply, _ := run(w, t, "supply", 0, nil)
	if !reply.Checked.Equal(w.Total.At) || !reply.FreshUntil.Equal(w.Total.FreshUntil) || !reply.AsOf.Equal(commandstest.Noon) {
		t.Errorf("checked %v, fresh until %v, as of %v", reply.Checked, reply.FreshUntil, reply.AsOf)
	}
	w.Supply.Stale = true
	if reply, _ = run(w, t, "supply", 0, nil); !reply.Checked.IsZero() || !reply.FreshUntil.IsZero() || !strings.Contains(texts(reply), "Staked") || reply.Tone != chat.Warning {
		t.Errorf("beside an old supply: checked %v, fresh until %v\n%s", reply.Checked, reply.FreshUntil, texts(reply))
	}
}

func TestSupplyWaitsForTheStakeASecondAtMost(t *testing.T) {
	for late, shown := range map[time.Duration]bool{900 * time.Millisecond: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			w := withTotal("5", 0)
			w.TotalLate = late
			began := time.Now()
			reply, err := run(w, t, "supply", 0, nil)
			if took := time.Since(began); err != nil || took > time.Second || strings.Contains(texts(reply), "Staked") != shown {
				t.Errorf("after %v, %v:\n%s", took, err, texts(reply))
			}
			w.SupplyErr = failure
			if began = time.Now(); late > 0 {
				_, err = run(w, t, "supply", 0, nil)
			}
			if took := time.Since(began); err == nil || took > 0 {
				t.Errorf("without a supply: %v after %v", err, took)
			}
		})
	}
}

// A warning stands where something is wrong: an old price at what it makes of a supply, and an
// old supply in the first line.
func TestSupplyWarnsAtWhatIsOld(t *testing.T) {
	const fresh, cap = "98,765,432 TKN circulating (9.9%)", "Market cap $1.22M  ·  FDV $12.35M"
	for name, test := range map[string]struct {
		change              func(*commandstest.Answers)
		headline, cap, last string
	}{
		"all is well":    {func(*commandstest.Answers) {}, fresh, cap, "at $0.01235 · CoinMarketCap · 2 min ago"},
		"price provider": {func(w *commandstest.Answers) { w.Price.Stale = true }, fresh, cap, "at $0.01235 · The price provider isn't answering · 2 min ago"},
		"supply host":    {func(w *commandstest.Answers) { w.Supply.Stale = true }, fresh, cap, "at $0.01235 · The supply service isn't answering · 2 min ago"},
		"both": {func(w *commandstest.Answers) { w.Price.Stale, w.Supply.Stale = true, true }, fresh, cap,
			"at $0.01235 · The supply service isn't answering · The price provider isn't answering · 2 min ago"},
		"an old price": {func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.Value.LastUpdated = true, commandstest.Noon.Add(-20*time.Minute)
		}, fresh, "⚠️ " + cap, "at $0.01235, 22 min old · The price provider isn't answering"},
		"an old quote": {func(w *commandstest.Answers) { w.Price.Value.OldFrom = commandstest.Noon }, fresh, "⚠️ " + cap,
			"at $0.01235, 2 min old · The price provider has no newer price"},
		"an old supply": {func(w *commandstest.Answers) {
			w.Supply.Stale, w.Supply.At = true, commandstest.Noon.Add(-8*time.Minute)
		},
			"98,765,432 TKN circulating (10 min old)", cap, "at $0.01235 · The supply service isn't answering"},
		"a share that is not 0": {func(w *commandstest.Answers) { w.Supply.Value.Circulating = known("1").Decimal }, "1 TKN circulating (< 0.1%)", "Market cap $0.01  ·  FDV $12.35M",
			"at $0.01235 · CoinMarketCap · 2 min ago"},
	} {
		atNoon(t, func(t *testing.T) {
			w := commandstest.Healthy()
			// An old price makes no other market cap.
			w.Price.Value.MarketCap = core.Quote{}.MarketCap
			if test.change(w); strings.HasPrefix(test.cap, "⚠️") {
				w.Price.Value.MarketCap = known("5")
			}
			card := words.Print(commandstest.Ask(t, w.Router(t), "/supply"))
			if len(card.Notes) > 0 {
				t.Errorf("%s: %q", name, card.Notes)
			}
			headline := strings.TrimSpace(spaced(card.Title.String() + " " + card.Subtitle.String()))
			cap := spaced(card.Sections[1].Fields[0].Value.String())
			if last := spaced(card.Footer.String()); headline != test.headline || cap != test.cap || last != test.last || (card.Tone == chat.Warning) != (headline != fresh && name == "an old supply") {
				t.Errorf("%s: tone %d, %q, %q, %q", name, card.Tone, headline, cap, last)
			}
		})
	}
}
