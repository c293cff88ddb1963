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
	"herald/internal/query"
	"herald/internal/words"
)

// withTotal returns Answers in which all wallets together stake some tokens, as read at a time. The total supply is
// 1,000,000,000.
func withTotal(tokens string, at time.Time) *commandstest.Answers {
	w := commandstest.Healthy()
	w.Total = query.Snapshot[core.Stake]{
		At:         at,
		FreshUntil: at.Add(time.Hour),
		Value: core.Stake{
			BlockTime: at,
			Checked:   21,
			Staked:    []core.PoolAmount{{Amount: number(tokens)}},
		},
	}
	return w
}

// checkTotal checks what /supply says about the tokens that all wallets have staked. The reply must contain staked or,
// if staked is empty, must not mention a stake. In either case it must not lack anything else.
func checkTotal(t *testing.T, name string, w *commandstest.Answers, staked string) {
	t.Helper()
	reply, err := run(t, allCommands(w), "supply", nil)
	said := spaced(texts(reply))
	if strings.Contains(said, "Staked") != (staked != "") || !strings.Contains(said, staked) {
		t.Errorf("%s: want %q in\n%s", name, staked, said)
	}
	if !strings.Contains(said, "FDV") {
		t.Errorf("%s: the worth of the supply is missing:\n%s", name, said)
	}
	if err != nil {
		t.Errorf("%s: a stake that is not mentioned counts as missing: %v", name, err)
	}
}

func TestSupplyTellsWhatAllWalletsStake(t *testing.T) {
	for _, test := range []struct {
		name  string
		total string
		want  string
	}{
		{"a part", "244123456.7", "Staked 244.12M (24.4%)"},
		{"none", "0", "Staked 0 (0%)"},
		{"more than circulates", "500000000", "Staked 500M (50%)"},
		{"all there is", "1000000000", "Staked 1B (100%)"},
	} {
		checkTotal(t, test.name, withTotal(test.total, commandstest.Noon), test.want)
	}
}

func TestSupplyDoesNotMentionAStakeThatIsWrongOrUnknown(t *testing.T) {
	const notMentioned = ""
	checkTotal(t, "more than there is", withTotal("1000000000.1", commandstest.Noon), notMentioned)

	poolUnread := withTotal("5", commandstest.Noon)
	poolUnread.Total.Value.Failed = unreadPool()
	checkTotal(t, "a pool is unread", poolUnread, notMentioned)

	noAnswer := withTotal("5", commandstest.Noon)
	noAnswer.TotalErr = chainSlow
	checkTotal(t, "the chain does not answer", noAnswer, notMentioned)

	cannotSay := withTotal("5", commandstest.Noon)
	cannotSay.Total.Value.Checked = 0
	checkTotal(t, "the pools cannot say it", cannotSay, notMentioned)
}

func TestTheStakeIsShownBesideNoPrice(t *testing.T) {
	w := withTotal("500000000", commandstest.Noon)
	w.PriceErr = priceDown
	reply, err := run(t, allCommands(w), "supply", nil)
	if said := spaced(texts(reply)); !strings.Contains(said, "Staked 500M (50%)") || err == nil {
		t.Errorf("%v beside %s", err, said)
	}
}

func TestASupplyIsAsOldAsItsStake(t *testing.T) {
	w := withTotal("5", commandstest.Noon.Add(-time.Minute))
	w.Supply.FreshUntil = commandstest.Noon.Add(2 * time.Hour)
	w.Price.FreshUntil = commandstest.Noon.Add(2 * time.Hour)
	reply, _ := run(t, allCommands(w), "supply", nil)
	if !reply.Checked.Equal(w.Total.At) || !reply.Source.FreshUntil.Equal(w.Total.FreshUntil) {
		t.Errorf("checked %v, fresh until %v", reply.Checked, reply.Source.FreshUntil)
	}
	if !reply.Source.AsOf.Time.Equal(w.Price.Value.LastUpdated) {
		t.Errorf("as of %v", reply.Source.AsOf)
	}
}

func TestAnOldSupplyHasNoTimeBesideItsStake(t *testing.T) {
	w := withTotal("5", commandstest.Noon.Add(-time.Minute))
	w.Supply.Stale = true
	reply, _ := run(t, allCommands(w), "supply", nil)
	if !reply.Checked.IsZero() || !reply.Source.FreshUntil.IsZero() {
		t.Errorf("checked %v, fresh until %v", reply.Checked, reply.Source.FreshUntil)
	}
	if !strings.Contains(texts(reply), "Staked") || reply.Tone != chat.Warning {
		t.Errorf("without the stake or a warning:\n%s", texts(reply))
	}
}

func TestSupplyWaitsForTheStakeASecondAtMost(t *testing.T) {
	for late, hasStake := range map[time.Duration]bool{900 * time.Millisecond: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			w := withTotal("5", commandstest.Noon)
			w.TotalLate = late
			began := time.Now()
			reply, err := run(t, allCommands(w), "supply", nil)
			took := time.Since(began)
			if err != nil || took > time.Second || strings.Contains(texts(reply), "Staked") != hasStake {
				t.Errorf("a stake after %v: after %v, %v:\n%s", late, took, err, texts(reply))
			}
		})
	}
}

func TestAMissingSupplyDoesNotWaitForTheStake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTotal("5", commandstest.Noon)
		w.TotalLate = 900 * time.Millisecond
		w.SupplyErr = priceDown
		began := time.Now()
		_, err := run(t, allCommands(w), "supply", nil)
		if took := time.Since(began); err == nil || took > 0 {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// The supply is in base units, or only its total is.
func TestADoubtfulSupplyIsShownAsSuchWhateverThePrice(t *testing.T) {
	const units = 1_000_000_000_000_000_000
	for _, test := range []struct {
		name        string
		circulating int64 // times what the price provider counts
		total       int64 // times what the price provider counts
		title       string
		text        string
	}{
		{
			name:        "both",
			circulating: units,
			total:       units,
			title:       "supply.doubtful",
			text:        "supply.doubt",
		},
		{
			name:        "the total",
			circulating: 1,
			total:       units,
			title:       "supply.total_doubtful",
			text:        "supply.total_doubt",
		},
		{
			name:        "the circulating supply",
			circulating: units,
			total:       1,
			title:       "supply.doubtful",
			text:        "supply.doubt",
		},
	} {
		for _, doubtfulPrice := range []bool{false, true} {
			w := commandstest.Healthy()
			quote := w.Price.Value
			tokens := &w.Supply.Value
			quote.Circulating = decimal.NewNullDecimal(tokens.Circulating)
			quote.Total = decimal.NewNullDecimal(tokens.Total)
			if doubtfulPrice {
				w.Doubt("891", commandstest.Noon)
			}
			tokens.Circulating = tokens.Circulating.Mul(decimal.NewFromInt(test.circulating))
			tokens.Total = tokens.Total.Mul(decimal.NewFromInt(test.total))

			reply := commandstest.Ask(t, w.Router(t), "/supply")

			if reply.Title.Key != test.title || reply.Text.Key != test.text || reply.Tone != chat.Warning {
				t.Errorf("%s, price doubtful: %t: %s, %s", test.name, doubtfulPrice, reply.Title.Key, reply.Text.Key)
			}
			if card := fmt.Sprint(words.Print(reply)); strings.Contains(card, "$") {
				t.Errorf("%s: it is worth something: %s", test.name, card)
			}
		}
	}
}

func TestAnotherMarketCapIsShownFromATenthOn(t *testing.T) {
	for providersCap, isShown := range map[string]bool{
		"1100":   false,
		"1101.2": true,
		"909.99": false,
		"900":    true,
		"899":    true,
		"1000":   false,
	} {
		w := commandstest.Healthy()
		w.Supply.Value = core.Supply{Total: number("2000"), Circulating: number("1001")}
		w.Price.Value.Price = number("1")
		w.Price.Value.MarketCap = known(providersCap)
		said := texts(commandstest.Ask(t, w.Router(t), "/supply"))
		if strings.Contains(said, "CoinMarketCap shows a market cap of") != isShown {
			t.Errorf("%s beside 1001: %s", providersCap, said)
		}
	}
}
