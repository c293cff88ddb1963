package app

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	"herald/internal/core"
	"herald/internal/ops"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/secret"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

// settings is the table of a Config that nobody reads.
var settings = new(Config).table()

// with returns an environment with the required settings alone, changed by NAME=value
// strings.
func with(changes ...string) []string { return configtest.Environ(settings, changes...) }

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

func mistakesOf(t *testing.T, err error) config.Errors {
	t.Helper()
	var mistakes config.Errors
	if err != nil && !errors.As(err, &mistakes) {
		t.Fatalf("the error is no Errors: %v", err)
	}
	return mistakes
}

func TestLoadFillsInDefaults(t *testing.T) {
	c := mustLoad(t, with(), "")
	multicall := common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")
	want := &Config{
		Telegram: telegram.Settings{APIURL: "https://api.telegram.org", Pacing: true},
		Discord:  discord.Settings{APIURL: "https://discord.com"},
		Services: Services{
			Partner: partner.Settings{URL: "https://partner.example.org", AppID: "my-app-id",
				SecretKey: secret.New("the-key-that-came-with-the-app-id"), ExistsTTL: time.Minute, LoginsTTL: time.Minute},
			Market: market.Settings{URL: "https://pro-api.coinmarketcap.com", By: "symbol", Token: "ETH", Symbol: "ETH", MonthlyCredits: 10000, TTL: 30 * time.Second,
				MaxPriceAge: time.Hour},
			Supply: supply.Settings{URL: "https://supply.example.org/token", TTL: 5 * time.Minute},
			Staking: staking.Settings{
				RPCURL: secret.New("https://rpc.example.org/v1/my-key"), ChainID: 1,
				Pools:  []core.Pool{{Address: common.HexToAddress("0x52908400098527886E0F7030069857D2E4169EE7")}},
				Method: "currentStake(address)", Multicall: &multicall, MaxBlockAge: 10 * time.Minute, Decimals: 18, TTL: time.Minute,
			},
		},
		Answers: Answers{ServiceName: "the service", Language: chat.English},
		Ops:     ops.Settings{Addr: "127.0.0.1:8080"},
		Cache:   Cache{StaleFor: time.Hour, MaxItems: 100000},
		Limits:  Limits{UpstreamTimeout: 5 * time.Second, CommandTimeout: 20 * time.Second, UserPerMinute: 20, ChatPerMinute: 120},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

// everySetting returns an environment in which each setting has its example.
func everySetting() []string {
	var environ []string
	for _, s := range settings {
		environ = append(environ, s.Name+"="+cmp.Or(s.Example, s.Default))
	}
	return environ
}

func TestLoadReadsEverySetting(t *testing.T) {
	c := mustLoad(t, everySetting(), "")
	var check func(name string, v reflect.Value)
	check = func(name string, v reflect.Value) {
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[secret.Value]() {
			for i := range v.NumField() {
				check(name+"."+v.Type().Field(i).Name, v.Field(i))
			}
			return
		}
		// The examples turn Multicall and Discord's presence off.
		if v.IsZero() != slices.Contains([]string{"Config.Services.Staking.Multicall", "Config.Discord.Presence"}, name) {
			t.Errorf("%s is %v", name, v)
		}
	}
	check("Config", reflect.ValueOf(*c))
	want := Rights{
		Operators:      []chat.User{{Platform: "telegram", ID: "123456789"}, {Platform: "discord", ID: "123456789012345678"}},
		ModeratorChats: []string{"telegram:-1001234567890", "discord:123456789012345678"},
	}
	if !reflect.DeepEqual(c.Rights, want) {
		t.Errorf("the rights are %v", c.Rights)
	}
}

func TestEverySecretCanComeFromAFile(t *testing.T) {
	for _, s := range settings {
		if !s.Secret {
			continue
		}
		c := mustLoad(t, with(s.Name+"=", s.Name+"_FILE="+write(t, s.Example+"\r\n")), "")
		if !slices.Contains(c.Secrets(), s.Example) {
			t.Errorf("%s_FILE was not read, or Secrets lacks its value", s.Name)
		}
	}
}

func TestServingNeedsAPlatform(t *testing.T) {
	_, err := LoadToServe(with(), "")
	if mistakes := mistakesOf(t, err); len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], "TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN: neither is set") {
		t.Errorf("with no token: %v", err)
	}
	for _, token := range []string{"TELEGRAM_BOT_TOKEN=1:a", "DISCORD_BOT_TOKEN_FILE=" + write(t, "a.b.c")} {
		if _, err := LoadToServe(with(token), ""); err != nil {
			t.Errorf("with one token: %v", err)
		}
	}
}

func TestSettingsRefuseOtherForms(t *testing.T) {
	const canary = configtest.Canary
	configtest.Refuses(t, settings, "SERVICE_NAME", "one line", strings.Repeat("x", 41), "two\nlines", "two  spaces", "@everyone",
		"https://example.org", "a\u202eb", "\xff")
	configtest.Refuses(t, settings, "EXPLORER_URL", "URL", canary, "ftp://example.org", "etherscan.io", "javascript://x/%0aalert(1)", "https://")
	configtest.Refuses(t, settings, "EXPLORER_URL", "query", "https://example.org/?a=", "https://example.org/#address", "https://me@example.org")
	configtest.Refuses(t, settings, "EXPLORER_URL", "/address, which is appended", "https://example.org/address", "https://example.org/address/")
	configtest.Refuses(t, settings, "EXPLORER_URL", "visible", "https://example.org/\u202ea", "https://example.org/a b")
	configtest.Refuses(t, settings, "EXPLORER_URL", "461", "https://example.org/"+strings.Repeat("x", 442))
	configtest.Refuses(t, settings, "CHAT_LANGUAGE", "en, es, zh, ru, tr, vi", canary, "EN", "es-419", "xx")
	for _, name := range []string{"STALE_FOR", "UPSTREAM_TIMEOUT", "COMMAND_TIMEOUT"} {
		configtest.Refuses(t, settings, name, "duration", "-1s", canary)
	}
	for _, name := range []string{"CACHE_MAX_ITEMS", "RATE_LIMIT_USER", "RATE_LIMIT_CHAT"} {
		configtest.Refuses(t, settings, name, "whole number", "-1", canary)
	}
	configtest.Refuses(t, settings, "OPERATORS", "entry", canary, "telegram:ann", "slack:1", "telegram:1,discord:")
	configtest.Refuses(t, settings, "MODERATOR_CHATS", "entry", canary, "telegram:123", "telegram:-0", "discord:-1", "discord:0x1",
		"telegram:-1001234567890,discord:", "slack:1", "telegram:@group", "-1001234567890")
	configtest.Refuses(t, settings, "LOG_LEVEL", "debug, info, warn, error", canary)
	configtest.Refuses(t, settings, "LOG_FORMAT", "text, json", canary)
}

func TestSettingsAcceptTheirBounds(t *testing.T) {
	explorer := "https://explorer.example.org/" + strings.Repeat("x", 461-len("https://explorer.example.org/"))
	name := strings.Repeat("é", 40)
	c := mustLoad(t, with("SERVICE_NAME="+name, "EXPLORER_URL="+explorer+"/", "CHAT_LANGUAGE=vi",
		"RATE_LIMIT_USER=0", "RATE_LIMIT_CHAT=0", "MODERATOR_CHATS=*"), "")
	if want := (Answers{ServiceName: name, ExplorerURL: explorer, Language: chat.Vietnamese}); c.Answers != want {
		t.Errorf("got %+v, want %+v", c.Answers, want)
	}
	if c.Limits.UserPerMinute != 0 || c.Limits.ChatPerMinute != 0 || !slices.Equal(c.Rights.ModeratorChats, []string{chat.EveryChat}) {
		t.Errorf("limits %+v, moderators' chats %v", c.Limits, c.Rights.ModeratorChats)
	}
}

func TestContradictionsBetweenPackages(t *testing.T) {
	const key = "DISCORD_PUBLIC_KEY=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
	const webhook = "TELEGRAM_WEBHOOK_URL=https://bot.example.org/telegram"
	secretFile := "TELEGRAM_BOT_TOKEN_FILE=" + write(t, "1:a")
	for _, test := range []struct {
		what    string
		environ []string
		name    string
		told    string
	}{
		{"webhook without its secret", with("TELEGRAM_BOT_TOKEN=1:a", webhook), "TELEGRAM_WEBHOOK_SECRET", "needed by TELEGRAM_WEBHOOK_URL"},
		{"what only Discord uses, without Discord", with("DISCORD_APPLICATION_ID=1", "DISCORD_GUILD_ID=2"), "DISCORD_BOT_TOKEN", "needed by DISCORD_APPLICATION_ID and DISCORD_GUILD_ID"},
		{"webhook without HTTP", with("TELEGRAM_BOT_TOKEN=1:a", webhook, "TELEGRAM_WEBHOOK_SECRET=a", "HTTP_ADDR=off"), "HTTP_ADDR", "needed by TELEGRAM_WEBHOOK_URL"},
		{"public key without HTTP", with("DISCORD_BOT_TOKEN=a", key, "HTTP_ADDR=off"), "HTTP_ADDR", "needed by DISCORD_PUBLIC_KEY"},
	} {
		t.Run(test.what, func(t *testing.T) {
			_, err := Load(test.environ, "")
			configtest.OneMistake(t, settings, mistakesOf(t, err), test.name, test.told)
		})
	}
	if _, err := Load(with(secretFile, webhook, "TELEGRAM_WEBHOOK_SECRET=a"), ""); err != nil {
		t.Errorf("a token by file does not count as one: %v", err)
	}
	noContradiction := with("HTTP_ADDR=off", "PRICE_TOKEN_ID=1", "PRICE_TOKEN_SLUG=a", "OPERATORS=telegram:1", "MODERATOR_CHATS=discord:1")
	if _, err := Load(noContradiction, ""); err != nil {
		t.Errorf("no contradiction, yet: %v", err)
	}
}

func TestTheTableOfSettingsIsInOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.Name] {
			t.Errorf("%s stands in the table twice", s.Name)
		}
		seen[s.Name] = true
		if s.Comment == "" || s.Example == "" && s.Default == "" || s.Required && s.Default != "" {
			t.Errorf("%s lacks a comment or an example, or is required and has a default", s.Name)
		}
	}
	for _, s := range settings {
		for _, name := range s.Needs {
			if !seen[name] {
				t.Errorf("%s needs %s, which is no setting", s.Name, name)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	for i, s := range settings {
		f.Add(uint(i), cmp.Or(s.Example, s.Default))
		f.Add(uint(i), "https://user:pass@host:1/%zz?a=%")
	}
	f.Fuzz(func(t *testing.T, i uint, value string) {
		s := settings[i%uint(len(settings))]
		if strings.HasPrefix(strings.TrimSpace(value), "@") {
			return // names a file of this machine
		}
		c, err := LoadToServe(with("TELEGRAM_BOT_TOKEN=1:a", "DISCORD_BOT_TOKEN=b", s.Name+"="+value), "")
		if (c == nil) == (err == nil) {
			t.Fatal("neither settings nor mistakes, or both")
		}
		for _, line := range mistakesOf(t, err) {
			if strings.Contains(line, "\n") || !strings.Contains(line, "example") {
				t.Errorf("told as %q", line)
			}
		}
		if c != nil {
			c.Secrets()
		}
	})
}
