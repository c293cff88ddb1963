package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

func TestCheckTable(t *testing.T) {
	rows := []checkRow{
		{what: "partner API", where: "api.example.org", took: 212 * time.Millisecond, learned: []string{"the signature is accepted", "agreed"}},
		{what: "price provider", where: "pro-api.example.com", took: 12400 * time.Millisecond, wrong: []string{"refuses the credentials", "look at PRICE_API_KEY"}},
		{what: "platform", wrong: []string{"no platform is on"}},
	}
	const want = `WHAT            WHERE                RESULT  TOOK      ANSWER
partner API     api.example.org      ok       212 ms   the signature is accepted
                                                       agreed
price provider  pro-api.example.com  WRONG   12400 ms
    refuses the credentials
    look at PRICE_API_KEY
platform        -                    WRONG   -
    no platform is on

2 of 3 need a look.
`
	if got := checkTable(rows); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestWhatProbesSayIsRedactedAndOfOneLine(t *testing.T) {
	bot := newBot(t, startSandbox(t), "PRICE_API_KEY=a-key-that-nobody-may-see")
	defer bot.Close()
	said := "with\na-key-that-nobody-may-see\x1b[2J"
	bot.probes = []probe{{title: "a service", ask: func(context.Context) ([]string, error) { return []string{said}, errors.New(said) }}}
	var table strings.Builder
	_ = bot.Check(t.Context(), &table)
	if strings.Count(table.String(), "with [redacted][2J\n") != 2 {
		t.Errorf("the table is\n%s", &table)
	}
}

func TestAdviceNamesTheReasonAndTheSettings(t *testing.T) {
	p := serviceProbe(supply.Service, "", nil)
	cause := errors.New("the cause")
	for want, err := range map[string]error{
		"does not answer in time: the cause|look at SUPPLY_URL and UPSTREAM_TIMEOUT": &core.Error{Service: supply.Service, Reason: core.SlowAnswer, Err: cause},
		"wants to be asked less: the cause|look at SUPPLY_URL":                       &core.Error{Service: supply.Service, Reason: core.Limited, Err: cause},
		"the cause|look at SUPPLY_URL":                                               cause,
		"wrong|look at A":                                                            &config.WrongError{Problem: "wrong", Settings: "A"},
		"wrong, set A":                                                               &config.WrongError{Problem: "wrong, set A"},
	} {
		if got := strings.Join(p.advice(err), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatProbesLearnedInWords(t *testing.T) {
	number := decimal.RequireFromString
	hourAgo := time.Now().Add(-time.Hour - time.Minute)
	for name, test := range map[string]struct{ got, want []string }{
		"partner":         {aboutPartner(partner.Clocks{Known: true}, true), []string{"the signature is accepted", "its clock and this machine's agree"}},
		"partner refuses": {aboutPartner(partner.Clocks{Known: true, Ahead: -3 * time.Hour}, false), []string{"the dates of its answers and this machine's clock are 3h0m0s apart"}},
		"clock slow":      {aboutPartner(partner.Clocks{Known: true, Ahead: 9 * time.Second, Allowed: true}, false), []string{"this machine's clock is 9s behind the service's, which is allowed for"}},
		"clock fast":      {aboutPartner(partner.Clocks{Known: true, Ahead: -10 * time.Minute, Allowed: true}, false), []string{"this machine's clock is 10m0s ahead of the service's, which is allowed for"}},
		"quote": {aboutQuote(market.Listing{ID: "31415", Symbol: "HRLD", Name: "Herald\x1b[31m\nDemo",
			Quote: core.Quote{Price: number("0.041728"), LastUpdated: hourAgo}}),
			[]string{"HRLD, id 31415, $0.04173, 1 h ago", "the provider calls it Herald[31m Demo"}},
		"supply":           {aboutSupply(core.Supply{Total: number("100000000"), Circulating: number("8712345.678")}, "MAT"), []string{"100M MAT in total", "8,712,345.678 MAT circulate, 8.71%"}},
		"no supply":        {aboutSupply(core.Supply{Total: number("-5")}, "MAT"), nil},
		"pools":            {aboutPools(staking.Found{ChainID: big.NewInt(698), Block: big.NewInt(12345678), BlockTime: hourAgo, Deployed: 1234, Multicall: "so are they read"}), []string{"chain 698", "newest block 12,345,678, 1 h ago", "pools with code: 1,234, without: none", "so are they read"}},
		"pools, some gone": {aboutPools(staking.Found{Deployed: 20, Missing: make([]core.Pool, 1)}), []string{"pools with code: 20, without: 1"}},
		"huge block":       {aboutPools(staking.Found{Block: new(big.Int).Lsh(big.NewInt(1), 64)}), []string{"newest block 18446744073709551616"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}

func TestAnAgeOfAQuoteThatIsDoubtful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for age, want := range map[time.Duration]string{
			0: "", 24 * time.Hour: "", 24*time.Hour + 1: "is it the token", -5 * time.Minute: "", -5*time.Minute - 1: "clock",
		} {
			said := fmt.Sprint(aboutQuote(market.Listing{Quote: core.Quote{LastUpdated: time.Now().Add(-age)}}))
			if doubtful := strings.Contains(said, "that price"); doubtful != (want != "") || !strings.Contains(said, want) {
				t.Errorf("%v: %s", age, said)
			}
		}
		if said := fmt.Sprint(aboutQuote(market.Listing{})); strings.Contains(said, "that price") {
			t.Errorf("not dated: %s", said)
		}
	})
}
