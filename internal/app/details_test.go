package app

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
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
		{what: "partner API", where: "api.example.org", took: 212 * time.Millisecond, lines: []string{"the signature is accepted", "agreed"}},
		{what: "price provider", where: "pro-api.example.com", took: 12400 * time.Millisecond, failed: true,
			lines: []string{"refuses the credentials", "look at PRICE_API_KEY"}},
		{what: "platform", failed: true, lines: []string{"no platform is on"}},
	}
	const want = `WHAT            WHERE                RESULT  TOOK      ANSWER
partner API     api.example.org      ok      212 ms    the signature is accepted
                                                       agreed
price provider  pro-api.example.com  FAIL    12400 ms  refuses the credentials
                                                       look at PRICE_API_KEY
platform        -                    FAIL    -         no platform is on

2 of 3 checks failed.
`
	if got := checkTable(rows); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestWhatProbesSayIsRedactedAndOfOneLine(t *testing.T) {
	bot := newBot(t, startSandbox(t), "PRICE_API_KEY=a-key-that-nobody-may-see")
	defer bot.Close()
	said := "with\na-key-that-nobody-may-see\x1b[2J"
	bot.services[0].probe = func(context.Context) ([]string, error) { return []string{said}, errors.New(said) }
	var table strings.Builder
	_ = bot.Check(t.Context(), &table)
	if strings.Count(table.String(), "with [redacted][2J\n") != 2 {
		t.Errorf("the table is\n%s", &table)
	}
}

func TestAdviceNamesTheReasonAndTheSettings(t *testing.T) {
	p := probe{title: "supply host", settings: "SUPPLY_URL"}
	cause := errors.New("the cause")
	for want, err := range map[string]error{
		"does not answer within UPSTREAM_TIMEOUT: the cause|look at SUPPLY_URL": supply.Service.Fail(core.SlowAnswer, cause),
		"is rate-limiting us: the cause|look at SUPPLY_URL":                     supply.Service.Fail(core.Limited, cause),
		"the cause|look at SUPPLY_URL":                                          cause,
		"wrong|look at A":                                                       supply.Service.Fail(core.Denied, &config.WrongError{Problem: "wrong", Settings: "A"}),
		"wrong, set A":                                                          &config.WrongError{Problem: "wrong, set A"},
	} {
		if got := strings.Join(p.advice(err), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatProbesFoundOutInWords(t *testing.T) {
	number := decimal.RequireFromString
	hourAgo := time.Now().Add(-time.Hour - time.Minute)
	denied := partner.Service.Fail(core.Denied, errors.New("401"))
	text := func(details []string, _ error) string { return strings.Join(details, "|") }
	for name, test := range map[string]struct{ got, want string }{
		"partner":         {text(aboutPartner(2*time.Second, nil)), "the signature is accepted"},
		"partner refuses": {text(aboutPartner(-3*time.Hour, denied)), "its clock is 3h0m0s behind this machine's"},
		"clock fast":      {text(aboutPartner(9*time.Second, nil)), "the signature is accepted|its clock is 9s ahead of this machine's"},
		"quote": {text(aboutQuote(market.Listing{ID: "31415", Symbol: "HRLD", Name: "Herald\x1b[31m\nDemo",
			Quote: core.Quote{Price: number("0.041728"), LastUpdated: hourAgo}}, nil)), "HRLD, id 31415, $0.04173, 1 h ago|the provider calls it Herald[31m Demo"},
		"old quote": {text(aboutQuote(market.Listing{Quote: core.Quote{Price: number("1"), LastUpdated: hourAgo, OldFrom: hourAgo}}, nil)),
			", id , $1.000, 1 h ago|that price is old: is it the token that you mean?"},
		"no quote":         {text(aboutQuote(market.Listing{}, denied)), ""},
		"supply":           {text(aboutSupply(core.Supply{Total: number("100000000"), Circulating: number("8712345.678")}, "MAT"), nil), "100M MAT in total|8,712,345.678 MAT circulate, 8.71%"},
		"too many":         {text(aboutSupply(core.Supply{Total: number("1"), Circulating: number("2")}, "MAT"), nil), "1 MAT in total|2 MAT circulate"},
		"no supply":        {text(aboutSupply(core.Supply{Total: number("-5")}, "MAT"), nil), ""},
		"pools":            {text(aboutPools(staking.Found{ChainID: big.NewInt(698), Block: 12345678, BlockTime: hourAgo, Deployed: 1234, Way: "so are they read"}, nil)), "chain 698|newest block 12,345,678, 1 h ago|pools with code: 1234, without: 0|so are they read"},
		"pools, some gone": {text(aboutPools(staking.Found{Deployed: 20, Missing: make([]core.Pool, 1)}, nil)), "pools with code: 20, without: 1"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}
