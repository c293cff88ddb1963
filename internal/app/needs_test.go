package app

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

// priceOnly are the settings of a bot whose only service is the price provider.
var priceOnly = []string{"TELEGRAM_BOT_TOKEN=1:a", "TOKEN_SYMBOL=ETH", "PRICE_API_KEY=a-key"}

func TestThreeSettingsAreEnoughForAPrice(t *testing.T) {
	c, err := Load(priceOnly, "", ToServe)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Market.IsOn() || c.Supply.IsOn() || c.Staking.IsOn() || c.Partner.IsOn() {
		t.Errorf("another service than the price is on: %+v", c.Services)
	}
	if c.Market.URL != "https://pro-api.coinmarketcap.com" {
		t.Errorf("the price is asked at %s", c.Market.URL)
	}
}

func TestAnotherPriceProviderNeedsNoKey(t *testing.T) {
	c, err := Load([]string{"TOKEN_SYMBOL=ETH", "PRICE_API_URL=https://prices.example.org"}, "", ToLook)
	if err != nil {
		t.Fatal(err)
	}
	if c.Market.URL != "https://prices.example.org" {
		t.Errorf("the price is asked at %q", c.Market.URL)
	}
}

// requireMistakes fails the test unless there is one mistake for each element of want, in order. The mistake must begin
// with that text, and give an example.
func requireMistakes(t *testing.T, mistakes config.Errors, want []string) {
	t.Helper()
	if len(mistakes) != len(want) {
		t.Errorf("want %d mistakes that begin with %q, got %q", len(want), want, mistakes)
		return
	}
	for i, line := range mistakes {
		if !strings.HasPrefix(line, want[i]) || !strings.Contains(line, "for example ") {
			t.Errorf("want an example, and %q first, got %q", want[i], line)
		}
	}
}

func TestABotNeedsAService(t *testing.T) {
	_, err := Load([]string{"TOKEN_SYMBOL=ETH"}, "", ToLook)
	requireMistakes(t, mistakesOf(t, err), []string{
		"PRICE_API_KEY, SUPPLY_URL, EVM_RPC_URL, PARTNER_BASE_URL: none is set",
	})
}

func TestTheSettingsOfAServiceNeedEachOther(t *testing.T) {
	for _, test := range []struct {
		environ []string
		want    []string // the beginning of each mistake
	}{
		{
			environ: []string{"TOKEN_SYMBOL=ETH", "PARTNER_BASE_URL=https://p.example.org", "PARTNER_APP_ID=app"},
			want:    []string{"PARTNER_SECRET_KEY: is needed by PARTNER_BASE_URL and PARTNER_APP_ID but not set"},
		},
		{
			environ: []string{"TOKEN_SYMBOL=ETH", "EVM_RPC_URL=https://rpc.example.org", "EVM_CHAIN_ID=1"},
			want:    []string{"STAKING_POOLS: is needed by EVM_RPC_URL and EVM_CHAIN_ID but not set"},
		},
		{
			environ: []string{"TOKEN_SYMBOL=ETH", "EVM_CHAIN_ID=1"},
			want: []string{
				"EVM_RPC_URL: is needed by EVM_CHAIN_ID but not set",
				"STAKING_POOLS: is needed by EVM_CHAIN_ID but not set",
			},
		},
	} {
		_, err := Load(test.environ, "", ToLook)
		requireMistakes(t, mistakesOf(t, err), test.want)
	}
}

func TestAMissingServiceIsNamedBesideWhatNeedsIt(t *testing.T) {
	const (
		partner = "set PARTNER_BASE_URL, PARTNER_APP_ID and PARTNER_SECRET_KEY"
		pools   = "set EVM_RPC_URL, EVM_CHAIN_ID and STAKING_POOLS"
	)
	store := "DATA_DIR=" + t.TempDir()
	for _, test := range []struct {
		environ []string
		want    []string // the beginning of each mistake
	}{
		{
			environ: append(priceOnly, "JOIN_CHATS=telegram:-1:registered"),
			want:    []string{"JOIN_CHATS: needs a service that is not set; " + partner},
		},
		{
			environ: append(priceOnly, "JOIN_CHATS=telegram:-1:staker"),
			want: []string{
				"JOIN_CHATS: needs a service that is not set; " + partner,
				"JOIN_CHATS: needs a service that is not set; " + pools,
			},
		},
		{
			environ: append(priceOnly, store, "STAKER_TAGS=telegram:-1:Staker"),
			want: []string{
				"STAKER_TAGS: needs a service that is not set; " + partner,
				"STAKER_TAGS: needs a service that is not set; " + pools,
			},
		},
		{
			environ: append(priceOnly, store, "DISCORD_BOT_TOKEN=a.b.c", "STAKER_ROLES=discord:1:2"),
			want: []string{
				"STAKER_ROLES: needs a service that is not set; " + partner,
				"STAKER_ROLES: needs a service that is not set; " + pools,
			},
		},
		{
			environ: []string{
				"TOKEN_SYMBOL=ETH",
				"SUPPLY_URL=https://s.example.org",
				"DISCORD_BOT_TOKEN=a.b.c",
				"DISCORD_PRESENCE=price",
			},
			want: []string{"DISCORD_PRESENCE: needs a service that is not set; set PRICE_API_KEY or PRICE_API_URL"},
		},
	} {
		_, err := Load(test.environ, "", ToLook)
		requireMistakes(t, mistakesOf(t, err), test.want)
	}
}

func TestAServiceIsNamedWhereASettingOfTheFileNeedsIt(t *testing.T) {
	file := configtest.File(t, strings.Join(priceOnly, "\n")+"\nJOIN_CHATS=telegram:-1:registered\n")
	_, err := Load(nil, file, ToLook)
	requireMistakes(t, mistakesOf(t, err), []string{file + ":4: JOIN_CHATS: needs a service"})
}

func TestModeratorsWithoutAPartnerAreWarnedOf(t *testing.T) {
	for setting, wantWarning := range map[string]bool{
		"OPERATORS=telegram:1":        true,
		"MODERATOR_CHATS=telegram:-1": true,
		"LOG_LEVEL=info":              false,
	} {
		cfg := mustLoad(t, append(priceOnly, setting), "")
		var log bytes.Buffer
		bot := mustNew(t, cfg, slog.New(slog.NewTextHandler(&log, nil)))
		bot.logWarnings(t.Context())
		bot.Close()
		if got := strings.Contains(log.String(), "PARTNER_BASE_URL"); got != wantWarning {
			t.Errorf("%s: warned %t, want %t", setting, got, wantWarning)
		}
	}
}

// Without the partner API, the bot cannot find addresses in Redis. It must not report that there are none.
func TestWithoutAPartnerNoAddressIsKeptInRedis(t *testing.T) {
	cfg := mustLoad(t, append(priceOnly, "REDIS_URL=redis://"+miniredis.RunT(t).Addr()), "")
	bot := mustNew(t, cfg, slog.New(slog.DiscardHandler))
	defer bot.Close()
	if bot.members.Enabled() {
		t.Error("addresses can be saved")
	}
	if _, known := bot.Router.Config.Commands.Find("forget"); known {
		t.Error("there is a /forget, which would find nothing")
	}
	err := ListMembers(t.Context(), cfg, slog.New(slog.DiscardHandler), io.Discard)
	if !errors.Is(err, errNoPartner) {
		t.Errorf("bot members says %v", err)
	}
}

func TestKeysInRedisDependOnASecret(t *testing.T) {
	withToken := func(token string) string {
		return mustLoad(t, append(priceOnly, "TELEGRAM_BOT_TOKEN="+token), "").saltSecret()
	}
	if withToken("1:a") == withToken("1:b") {
		t.Error("without the partner API, keys do not depend on the token")
	}
	withPartner := settingsWith("TELEGRAM_BOT_TOKEN=1:a", "PARTNER_SECRET_KEY=the-key")
	if got := mustLoad(t, withPartner, "").saltSecret(); got != "the-key" {
		t.Error("with the partner API, keys depend on something else than its key")
	}
}
