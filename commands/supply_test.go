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

// withTotal returns Answers in which all wallets have so much staked, read so long before
// Noon. The total supply is 1,000,000,000.
func withTotal(tokens string, age time.Duration) *commandstest.Answers {
	w := commandstest.Healthy()
	at := commandstest.Noon.Add(-age)
	w.Total = query.Snapshot[core.Stake]{At: at, FreshUntil: at.Add(time.Hour), Value: core.Stake{
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
	if !reply.Checked.Equal(w.Total.At) || !reply.Source.FreshUntil.Equal(w.Total.FreshUntil) || !reply.Source.AsOf.Time.Equal(w.Price.Value.LastUpdated) {
		t.Errorf("checked %v, fresh until %v, as of %v", reply.Checked, reply.Source.FreshUntil, reply.Source.AsOf)
	}
	w.Supply.Stale = true
	if reply, _ = run(w, t, "supply", 0, nil); !reply.Checked.IsZero() || !reply.Source.FreshUntil.IsZero() || !strings.Contains(texts(reply), "Staked") || reply.Tone != chat.Warning {
		t.Errorf("beside an old supply: checked %v, fresh until %v\n%s", reply.Checked, reply.Source.FreshUntil, texts(reply))
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
			began = time.Now()
			if late > 0 {
				_, err = run(w, t, "supply", 0, nil)
			}
			if took := time.Since(began); err == nil || took > 0 {
				t.Errorf("without a supply: %v after %v", err, took)
			}
		})
	}
}

// The supply is in base units, or only its total is.
func TestADoubtfulSupplyIsShownAsSuchWhateverThePrice(t *testing.T) {
	const units = 1_000_000_000_000_000_000
	for name, test := range map[string]struct {
		circulating, total int64 // times what the provider counts
		title, text        string
	}{
		"both":          {units, units, "supply.doubtful", "supply.doubt"},
		"the total":     {1, units, "supply.total_doubtful", "supply.total_doubt"},
		"a right total": {units, 1, "supply.doubtful", "supply.doubt"},
	} {
		for _, doubtfulPrice := range []bool{false, true} {
			w := commandstest.Healthy()
			q, s := w.Price.Value, &w.Supply.Value
			q.Circulating, q.Total = decimal.NewNullDecimal(s.Circulating), decimal.NewNullDecimal(s.Total)
			if doubtfulPrice {
				w.Doubt("891", commandstest.Noon)
			}
			s.Circulating = s.Circulating.Mul(decimal.NewFromInt(test.circulating))
			s.Total = s.Total.Mul(decimal.NewFromInt(test.total))
			reply := commandstest.Ask(t, w.Router(t), "/supply")
			if reply.Title.Key != test.title || reply.Text.Key != test.text || reply.Tone != chat.Warning {
				t.Errorf("%s, price doubtful: %t: %s, %s", name, doubtfulPrice, reply.Title.Key, reply.Text.Key)
			}
			if card := fmt.Sprint(words.Print(reply)); strings.Contains(card, "$") {
				t.Errorf("%s: it is worth something: %s", name, card)
			}
		}
	}
}
