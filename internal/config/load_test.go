package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// required is an environment with nothing but what must be set.
func required() map[string]string {
	vars := map[string]string{}
	for _, s := range settings {
		if s.required {
			vars[s.name] = s.example
		}
	}
	return vars
}

// with is the required environment changed by NAME=value strings.
func with(changes ...string) []string {
	vars := required()
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		vars[name] = value
	}
	return environ(vars)
}

func environ(vars map[string]string) []string {
	var lines []string
	for name, value := range vars {
		lines = append(lines, name+"="+value)
	}
	slices.Sort(lines)
	return lines
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, environ []string, envFile string) *Config {
	t.Helper()
	c, err := Load(environ, envFile)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

func mistakesOf(t *testing.T, err error) Mistakes {
	t.Helper()
	var mistakes Mistakes
	if err != nil && !errors.As(err, &mistakes) {
		t.Fatalf("the error is no Mistakes: %v", err)
	}
	return mistakes
}

func TestLoadFillsInDefaults(t *testing.T) {
	c := mustLoad(t, with(), "")
	multicall := common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")
	want := &Config{
		Telegram:  Telegram{APIURL: "https://api.telegram.org", Pacing: true},
		Discord:   Discord{APIURL: "https://discord.com"},
		Partner:   Partner{URL: "https://partner.example.org", AppID: "my-app-id", SecretKey: NewSecret("the-key-that-came-with-the-app-id")},
		Price:     Price{URL: "https://pro-api.coinmarketcap.com", By: "symbol", Token: "ETH"},
		Token:     Token{Symbol: "ETH", Decimals: 18},
		SupplyURL: "https://supply.example.org/token",
		Chain: Chain{
			RPCURL: "https://rpc.example.org/v1/my-key", ID: 1,
			Pools:       []core.Pool{{Address: common.HexToAddress(examplePool)}},
			StakeMethod: "currentStake(address)", Multicall: &multicall,
		},
		Cache: Cache{PriceTTL: 30 * time.Second, SupplyTTL: 5 * time.Minute, StakeTTL: time.Minute,
			ExistsTTL: time.Minute, LoginsTTL: time.Minute, StaleFor: time.Hour, MaxItems: 100000},
		Limits:   Limits{UpstreamTimeout: 5 * time.Second, CommandTimeout: 20 * time.Second, UserPerMinute: 20, ChatPerMinute: 120},
		HTTPAddr: "127.0.0.1:8080",
		Log:      Log{Level: slog.LevelInfo},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestLoadReadsEverySetting(t *testing.T) {
	vars := map[string]string{}
	for _, s := range settings {
		vars[s.name] = s.example
	}
	c := mustLoad(t, environ(vars), "")
	v := reflect.ValueOf(*c)
	for i := range v.NumField() {
		group := v.Field(i)
		if group.Kind() != reflect.Struct || group.Type() == reflect.TypeFor[Secret]() {
			if group.IsZero() {
				t.Errorf("%s is not set", v.Type().Field(i).Name)
			}
			continue
		}
		for j := range group.NumField() {
			name := v.Type().Field(i).Name + "." + group.Type().Field(j).Name
			// Its example turns it off.
			if group.Field(j).IsZero() != (name == "Chain.Multicall") {
				t.Errorf("%s is %v", name, group.Field(j))
			}
		}
	}
	wantOperators := []chat.User{{Platform: "telegram", ID: "123456789"}, {Platform: "discord", ID: "123456789012345678"}}
	if !slices.Equal(c.Operators, wantOperators) {
		t.Errorf("operators are %v", c.Operators)
	}
	if c.Telegram.WebhookPath != "/telegram" {
		t.Errorf("the webhook's path is %q", c.Telegram.WebhookPath)
	}
}

func TestPriceTokenIsTheFirstNamed(t *testing.T) {
	for _, test := range []struct {
		environ   []string
		by, token string
	}{
		{with("PRICE_TOKEN_ID=1027", "PRICE_TOKEN_SLUG=ethereum"), "id", "1027"},
		{with("PRICE_TOKEN_SLUG=ethereum"), "slug", "ethereum"},
		{with(), "symbol", "ETH"},
	} {
		if p := mustLoad(t, test.environ, "").Price; p.By != test.by || p.Token != test.token {
			t.Errorf("asked by %s %s, want %s %s", p.By, p.Token, test.by, test.token)
		}
	}
}

func TestURLsLoseTheirTrailingSlash(t *testing.T) {
	c := mustLoad(t, with("SUPPLY_URL=https://supply.example.org/v1/", "DISCORD_API_URL=http://127.0.0.1:9/"), "")
	if c.SupplyURL != "https://supply.example.org/v1" || c.Discord.APIURL != "http://127.0.0.1:9" {
		t.Errorf("got %s and %s", c.SupplyURL, c.Discord.APIURL)
	}
}

func TestValuesAreTrimmedAndEmptyOnesAreUnset(t *testing.T) {
	c := mustLoad(t, with("TOKEN_SYMBOL=  ABC\t", "PRICE_TTL= ", "REDIS_URL="), "")
	if c.Token.Symbol != "ABC" || c.Cache.PriceTTL != 30*time.Second || c.RedisURL.IsSet() {
		t.Errorf("got %q, %v, %v", c.Token.Symbol, c.Cache.PriceTTL, c.RedisURL)
	}
}

func TestEnvironmentWinsOverEnvFile(t *testing.T) {
	file := write(t, "LOG_LEVEL=debug\nLOG_FORMAT=json\nPARTNER_SECRET_KEY=from-the-env-file\n")
	secret := write(t, "from-a-secret-file\n")
	c := mustLoad(t, with("LOG_LEVEL=error", "LOG_FORMAT=", "PARTNER_SECRET_KEY=", "PARTNER_SECRET_KEY_FILE="+secret), file)
	if c.Log.Level != slog.LevelError {
		t.Errorf("level %v: the environment did not win", c.Log.Level)
	}
	if !c.Log.JSON {
		t.Error("an empty variable hid the env file's value")
	}
	if got := c.Partner.SecretKey.Reveal(); got != "from-a-secret-file" {
		t.Errorf("the key is %q", got)
	}
}

func TestEverySecretCanComeFromAFile(t *testing.T) {
	for _, s := range settings {
		if !s.secret {
			continue
		}
		vars := required()
		delete(vars, s.name)
		vars[s.name+"_FILE"] = write(t, s.example+"\r\n")
		c := mustLoad(t, environ(vars), "")
		if !slices.Contains(c.Secrets(), s.example) {
			t.Errorf("%s_FILE was not read, or Secrets lacks its value", s.name)
		}
	}
}

func TestOnlySecretsHaveAFileTwin(t *testing.T) {
	if c := mustLoad(t, with("LOG_LEVEL_FILE="+write(t, "debug")), ""); c.Log.Level != slog.LevelInfo {
		t.Error("LOG_LEVEL_FILE was read")
	}
}

func TestServingNeedsAPlatform(t *testing.T) {
	_, err := LoadToServe(with("LOG_LEVEL=loud"), "")
	mistakes := mistakesOf(t, err)
	if len(mistakes) != 2 {
		t.Fatalf("want two mistakes, got:\n%v", err)
	}
	for _, part := range []string{"TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN", "bot demo"} {
		if !strings.Contains(mistakes[0], part) {
			t.Errorf("%q does not name %s", mistakes[0], part)
		}
	}
	for _, token := range []string{"TELEGRAM_BOT_TOKEN=1:a", "DISCORD_BOT_TOKEN=a.b.c"} {
		if _, err := LoadToServe(with(token), ""); err != nil {
			t.Errorf("with one token: %v", err)
		}
	}
}

func TestSecretsHoldTheKeysWithinURLs(t *testing.T) {
	c := mustLoad(t, with("EVM_RPC_URL=https://userrrrr:passw%2Frd@rpc.example.org/v3/0123456789abcdef?apikey=fedcba9876543210"), "")
	for _, want := range []string{"userrrrr", "passw/rd", "0123456789abcdef", "fedcba9876543210"} {
		if !slices.Contains(c.Secrets(), want) {
			t.Errorf("Secrets lacks %s", want)
		}
	}
}
