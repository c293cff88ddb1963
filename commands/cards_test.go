package commands_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/words"
)

// spaced returns text with ordinary spaces.
func spaced(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

func TestWhenTheNextClaimIsStandsBesideTheUnstaking(t *testing.T) {
	for name, test := range map[string]struct {
		next, claimable string
		in              time.Duration // 0: unknown
		want            string
	}{
		"a part":                    {"500", "", 75 * time.Hour, "Unstaking 1,587.17 TKN (500 of it in about 3 days)"},
		"all of it":                 {"1587.17", "", 75 * time.Hour, "Unstaking 1,587.17 TKN (ready in about 3 days)"},
		"beside a claim":            {"500", "1000", 60 * time.Hour, "Ready to claim 1,000 TKN / Unstaking 1,587.17 TKN (500 of it in about 3 days)"},
		"unknown":                   {"500", "1000", 0, "Ready to claim 1,000 TKN / Unstaking 1,587.17 TKN"},
		"two days":                  {"500", "", 48 * time.Hour, "Unstaking 1,587.17 TKN (500 of it in about 2 days)"},
		"almost two days":           {"500", "", 47*time.Hour + 29*time.Minute, "Unstaking 1,587.17 TKN (500 of it in about 47 hours)"},
		"an hour":                   {"500", "", time.Hour, "Unstaking 1,587.17 TKN (500 of it in about 1 hour)"},
		"an hour and a bit":         {"500", "", 100 * time.Minute, "Unstaking 1,587.17 TKN (500 of it in about 2 hours)"},
		"within the hour":           {"500", "", time.Hour - time.Second, "Unstaking 1,587.17 TKN (500 of it in less than an hour)"},
		"since the reading":         {"500", "", -time.Minute, "Unstaking 1,587.17 TKN (500 of it in less than an hour)"},
		"a chain that stands still": {"500", "", 75 * time.Hour, "Unstaking 1,587.17 TKN"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := commandstest.Healthy()
			w.Stake.Unbonding = []core.PoolAmount{{Amount: known("500").Decimal}, {Amount: known("1087.17").Decimal}}
			w.Stake.NextWithdrawal.Amount = known(test.next).Decimal
			if test.in != 0 {
				w.Stake.NextWithdrawal.At = time.Now().Add(test.in)
			}
			if test.claimable != "" {
				w.Stake.Withdrawable = []core.PoolAmount{{Amount: known(test.claimable).Decimal}}
			}
			if name == "a chain that stands still" {
				w.Stake.BlockTime = time.Now().Add(-11 * time.Minute)
			}
			for _, line := range []string{staked, verify} {
				said := spaced(texts(commandstest.Ask(t, w.Router(t), line)))
				want := "\n | " + strings.ReplaceAll(test.want, " / ", "\n | ") + "\n"
				if !strings.Contains(said, want) || strings.Contains(said, "claim") != (test.claimable != "") {
					t.Errorf("%s: want %s in\n%s", name, test.want, said)
				}
			}
		})
	}
}

func TestAnotherMarketCapIsToldFromATenthOn(t *testing.T) {
	for marketCap, told := range map[string]bool{"1100": false, "1101.2": true, "909.99": false, "900": true, "899": true, "1000": false} {
		w := commandstest.Healthy()
		w.Supply.Value = core.Supply{Total: known("2000").Decimal, Circulating: known("1001").Decimal}
		w.Price.Value.Price, w.Price.Value.MarketCap = known("1").Decimal, known(marketCap)
		if said := texts(commandstest.Ask(t, w.Router(t), "/supply")); strings.Contains(said, "CoinMarketCap shows a market cap of") != told {
			t.Errorf("%s beside 1001: %s", marketCap, said)
		}
	}
}

func TestOfManyPoolsFiveAreShownAndTheOthersSum(t *testing.T) {
	for pools, sum := range map[int]string{5: "", 6: "", 7: "… and 2 more pools | 3 TKN", 60: "… and 55 more pools | 1,540 TKN"} {
		w := commandstest.Healthy()
		w.Stake.Staked = nil
		for i := range pools {
			w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{Pool: core.Pool{Name: fmt.Sprint("Pool ", i)}, Amount: known(fmt.Sprint(i + 1)).Decimal})
		}
		c := words.Print(commandstest.Ask(t, w.Router(t), "/staked "+commandstest.Wallet))
		largest, others, folded := spaced(c.Sections[0].Fields[0].Value.String()), c.Sections[1].Fields, len(c.Folded)
		if n := strings.Count(largest, "Pool"); sum == "" && (n != pools || folded > 0 || len(others) > 0) || sum != "" && (n != 5 || folded != pools-5) {
			t.Errorf("of %d: %s", pools, shown(c))
		}
		if first := fmt.Sprintf("Pool %d %d  ·  ", pools-1, pools); !strings.HasPrefix(largest, first) || !strings.Contains(spaced(shown(c)), sum) {
			t.Errorf("of %d: %s", pools, shown(c))
		}
		// However much is cut, the sum stands.
		cut := c.Fit(1000, func(f words.Field) int { return 20 + len(f.Name.String()+f.Value.String()) })
		if sum != "" && !strings.Contains(spaced(shown(cut)), sum) {
			t.Errorf("cut: %s", shown(cut))
		}
	}
}

func known(s string) decimal.NullDecimal { return decimal.NewNullDecimal(decimal.RequireFromString(s)) }

func TestHeadlineColorAndFirstChangeAreOfThePeriod(t *testing.T) {
	none := core.Quote{}.Change7d
	for name, test := range map[string]struct {
		line     string
		change   func(*commandstest.Answers)
		headline string
		tone     chat.Tone
		below    string
	}{
		"a day":                    {"/price 24h", func(w *commandstest.Answers) { w.Chart.Change = w.Price.Value.Change24h }, "TKN $0.01235 ▼ 3.50% (24h)", chat.Falling, "1h ▲ 0.13%  ·  7d 0.00%  ·  Cap $1.23M  ·  Vol $999.50"},
		"next to nothing":          {"/price 7d", func(w *commandstest.Answers) { w.Chart.Change.Decimal = w.Chart.Change.Decimal.Shift(-4) }, "TKN $0.01235 0.00% (7d)", chat.Neutral, "1h ▲ 0.13%  ·  24h ▼ 3.50%  ·  Cap $1.23M  ·  Vol $999.50"},
		"nobody knows":             {"/price 30d", func(w *commandstest.Answers) { w.Chart.Change = none }, "TKN $0.01235", chat.Neutral, "1h ▲ 0.13%  ·  24h ▼ 3.50%  ·  7d 0.00%  ·  Cap $1.23M  ·  Vol $999.50"},
		"no picture":               {"/price 7d", func(w *commandstest.Answers) { w.ChartErr, w.Chart = failure, core.Chart{} }, "TKN $0.01235 0.00% (7d)", chat.Neutral, "1h ▲ 0.13%  ·  24h ▼ 3.50%"},
		"no picture and no number": {"/price 30d", func(w *commandstest.Answers) { w.ChartErr, w.Chart = failure, core.Chart{} }, "TKN $0.01235 ▼ 3.50% (24h)", chat.Falling, "1h ▲ 0.13%  ·  7d 0.00%"},
	} {
		w := commandstest.Healthy()
		test.change(w)
		reply := commandstest.Ask(t, w.Router(t), test.line)
		card := words.Print(reply)
		below := strings.ReplaceAll(card.Sections[0].Fields[0].Value.String(), "\u00a0", " ")
		if got := strings.TrimSpace(card.Title.String() + " " + card.Subtitle.String()); got != test.headline || card.Tone != test.tone || below != test.below {
			t.Errorf("%s: %q, tone %d, below it %q", name, got, card.Tone, below)
		}
	}
}

// An old price is one whose provider has no newer one, or which is ten minutes old though there
// should be a newer one.
func TestAnOldPriceTellsItsAgeFirstAndNoChanges(t *testing.T) {
	share := &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: 44*time.Minute + time.Second}
	for name, test := range map[string]struct {
		age    time.Duration
		change func(w *commandstest.Answers)
		shown  string // of the age; "": the price is not old
		source string // the last line
	}{
		"current":                {47 * time.Second, func(*commandstest.Answers) {}, "", "CoinMarketCap · 47 s ago"},
		"an unchanged quote":     {73 * time.Hour, func(w *commandstest.Answers) { w.Price.Value.CurrentUntil = w.Price.Value.LastUpdated.Add(time.Hour) }, "3 days old", "The price provider has no newer price"},
		"silence of seconds":     {47 * time.Second, func(w *commandstest.Answers) { w.Price.Stale = true }, "", "The price provider isn't answering · 47 s ago"},
		"silence just under":     {10*time.Minute - time.Second, func(w *commandstest.Answers) { w.Price.Stale = true }, "", "The price provider isn't answering · 9 min ago"},
		"silence of ten minutes": {10 * time.Minute, func(w *commandstest.Answers) { w.Price.Stale = true }, "10 min old", "The price provider isn't answering"},
		"silence of hours":       {73 * time.Hour, func(w *commandstest.Answers) { w.Price.Stale = true }, "3 days old", "The price provider isn't answering"},
		"a limit": {time.Minute, func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.Why = true, market.Service.Fail(core.Limited, nil)
		}, "", "The price provider is limiting my requests · 1 min ago"},
		"a wrong key": {time.Minute, func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.Why = true, market.Service.Fail(core.Denied, nil)
		}, "", "The price provider refuses my requests · 1 min ago"},
		"our share, a while":      {9 * time.Minute, func(w *commandstest.Answers) { w.Price.Why = share }, "", "CoinMarketCap · 9 min ago"},
		"our share, ten minutes":  {10 * time.Minute, func(w *commandstest.Answers) { w.Price.Why = share }, "10 min old", "I've used my share of price requests. Next request 2026-06-30 12:46 UTC"},
		"no newer quote, no time": {time.Minute, func(w *commandstest.Answers) { w.Price.Value.LastUpdated, w.Price.Stale = time.Time{}, true }, "", "The price provider isn't answering · 1 min ago"},
		"silence before the operator's bound": {10 * time.Minute, func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.Value.CurrentUntil = true, w.Price.Value.LastUpdated.Add(time.Hour)
		}, "10 min old", "The price provider isn't answering"},
		"old by the operator's bound": {3 * time.Minute, func(w *commandstest.Answers) { w.Price.Value.CurrentUntil = w.Price.Value.LastUpdated.Add(time.Minute) }, "3 min old", "The price provider has no newer price"},
	} {
		atNoon(t, func(t *testing.T) {
			w := commandstest.Healthy()
			w.Price.Value.LastUpdated = time.Now().Add(-test.age)
			test.change(w)
			for line, title := range map[string]string{"/price": "TKN $0.01235", "/price 7d": "TKN $0.01235", "/price 1500": "1,500 TKN ≈ $18.52"} {
				w.Charted = nil
				reply := commandstest.Ask(t, w.Router(t), line)
				card := words.Print(reply)
				all, old := spaced(shown(card)), test.shown != ""
				if old {
					title += " (" + test.shown + ")"
				}
				if (card.Tone == chat.Warning) != old || spaced(card.Title.String()) != title || old && !card.Subtitle.Empty() {
					t.Errorf("%s, %s: tone %d, %q %q", name, line, card.Tone, card.Title, card.Subtitle)
				}
				if strings.ContainsAny(all, "▲▼") == old || spaced(card.Footer.String()) != test.source || len(card.Notes) > 0 {
					t.Errorf("%s, %s:\n%s", name, line, all)
				}
				if card.Image != nil && (w.Charted[0].Old() != old || !strings.Contains(card.Image.Alt, test.shown)) {
					t.Errorf("%s: the picture is of an old quote: %t; it says %q", name, w.Charted[0].Old(), card.Image.Alt)
				}
				if told := words.Say(chat.English, reply.Unchanged().Text); told != "" && w.Price.Why == nil && !w.Price.Stale || told == "" && (w.Price.Why != nil || w.Price.Stale) {
					t.Errorf("%s: a refresh is told %q", name, told)
				}
			}
		})
	}
}

// The age of what is old is printed, so a refresh edits the card when that changes.
func TestAnOldCardIsEditedWhenItsAgeChanges(t *testing.T) {
	oldPrice := func(w *commandstest.Answers) { w.Price.Stale, w.Price.Value.LastUpdated = true, time.Now() }
	oldSupply := func(w *commandstest.Answers) { w.Supply.Stale, w.Supply.At = true, time.Now() }
	for name, test := range map[string]struct {
		line string
		old  func(*commandstest.Answers)
	}{
		"a price": {"/price", oldPrice}, "an amount": {"/price 1500", oldPrice}, "a supply at an old price": {"/supply", oldPrice}, "an old supply": {"/supply", oldSupply},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, start := commandstest.Healthy(), time.Now()
			w.Supply.At, w.Price.At, w.Price.Value.LastUpdated = start, start, start
			test.old(w)
			last, shown := chat.Version{}, ""
			for time.Since(start) < 26*time.Hour {
				reply := commandstest.Ask(t, w.Router(t), test.line)
				card := words.Print(reply)
				said := card.Title.String() + card.Source.String()
				order := reply.Source.AsOf.Compare(last)
				if said != shown && (order == chat.Same || order == chat.Older) {
					t.Fatalf("%s, after %v: %q does not replace %q", name, time.Since(start), said, shown)
				}
				last, shown = reply.Source.AsOf, said
				time.Sleep(time.Minute)
			}
		})
	}
}

func TestARefreshIsToldWhenThereMayBeANewerPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for until, want := range map[time.Duration]string{
			0: "Nothing newer yet", time.Minute: "Nothing newer yet", 4*time.Minute + 10*time.Second: "Nothing newer yet. Next update in about 4 min",
		} {
			w := commandstest.Healthy()
			w.Price.FreshUntil = time.Now().Add(until)
			if got := words.Say(chat.English, commandstest.Ask(t, w.Router(t), "/price 7d").Unchanged().Title); got != want {
				t.Errorf("fresh for %v: %q, want %q", until, got, want)
			}
		}
	})
}

func TestTheNextRequestIsToldOnce(t *testing.T) {
	const next = "I've used my share of price requests. Next request 2026-06-30 12:46 UTC"
	atNoon(t, func(t *testing.T) {
		w := commandstest.Healthy()
		w.Price.Why = &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: 44*time.Minute + time.Second}
		w.Price.FreshUntil = time.Now().Add(time.Hour)
		told := commandstest.Ask(t, w.Router(t), "/price").Unchanged()
		if title, text := words.Say(chat.English, told.Title), words.Say(chat.English, told.Text); title != "Nothing newer yet" || spaced(text) != next {
			t.Errorf("a refresh: %q, %q", title, text)
		}
		w.PriceErr = w.Price.Why
		if got := spaced(texts(commandstest.Ask(t, w.Router(t), "/price"))); strings.Count(got, next+".\n") != 1 || strings.Contains(got, "Try again later") {
			t.Errorf("without a price: %s", got)
		}
	})
}
