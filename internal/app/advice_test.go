package app

import (
	"context"
	"errors"
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
		"did not answer within UPSTREAM_TIMEOUT: the cause|look at SUPPLY_URL": supply.Service.Fail(core.SlowAnswer, cause),
		"is rate-limiting us: the cause|look at SUPPLY_URL":                    supply.Service.Fail(core.Limited, cause),
		"the cause|look at SUPPLY_URL":                                         cause,
		"wrong|look at A":                                                      supply.Service.Fail(core.Denied, &config.WrongError{Problem: "wrong", Settings: "A"}),
		"wrong, set A":                                                         &config.WrongError{Problem: "wrong, set A"},
	} {
		if got := strings.Join(p.advice(err), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatProbesFoundOutInWords(t *testing.T) {
	hourAgo := time.Now().Add(-time.Hour - time.Minute)
	denied := partner.Service.Fail(core.Denied, errors.New("401"))
	text := func(details []string, _ error) string { return strings.Join(details, "|") }
	for name, test := range map[string]struct{ got, want string }{
		"partner":         {text(aboutPartner("https://h.example", 2*time.Second, nil), nil), "the signature is accepted"},
		"partner refuses": {text(aboutPartner("https://h.example", -3*time.Hour, denied), nil), "its clock is 3h0m0s behind this machine's"},
		"clock fast":      {text(aboutPartner("https://h.example", 9*time.Second, nil), nil), "the signature is accepted|its clock is 9s ahead of this machine's"},
		"an old quote": {text(aboutQuote(market.Listing{ID: "1", Symbol: "HRLD", Name: "Herald\x1b[31m\nDemo",
			Quote: core.Quote{Price: decimal.NewFromInt(1), LastUpdated: hourAgo, OldFrom: hourAgo}}, nil)),
			"HRLD (Herald[31m Demo), id 1, $1.000, 1 h ago|that price is old: is this the right token?"},
		"no supply":        {text(aboutSupply(core.Supply{Total: decimal.NewFromInt(-5)}, "MAT"), nil), ""},
		"pools, some gone": {text(aboutPools(staking.Found{Deployed: 20, Missing: 1}, nil)), "pools with code: 20, without: 1"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}
