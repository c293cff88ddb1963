package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	"herald/internal/router"
	"herald/internal/secret"
)

const canary = configtest.Canary

// settings is the table of every setting. It fills a Config that no test reads.
var settings = new(Config).Table()

// with returns an environment with the required settings alone, changed by NAME=value
// strings.
func with(changes ...string) []string { return configtest.Environ(settings, changes...) }

func mustLoad(t *testing.T, environ []string, envFile string) *Config {
	t.Helper()
	c, err := Load(environ, envFile, ToLook)
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

// everySetting returns an environment in which each setting has its example.
func everySetting() []string {
	var environ []string
	for _, s := range settings {
		environ = append(environ, s.Name+"="+cmp.Or(s.Example, s.Default))
	}
	return append(environ, "TOKEN_LOGO=../pricechart/testdata/logo.png", "DATA_DIR="+os.TempDir())
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
		// There is no file. The examples turn Multicall and Discord's presence off, and bound the credits.
		unset := []string{"Config.EnvFile", "Config.Services.Staking.Multicall", "Config.Discord.Presence", "Config.Services.Market.Uncounted"}
		if v.IsZero() != slices.Contains(unset, name) {
			t.Errorf("%s is %v: the example of its setting must fill it, or unset in this test must name it", name, v)
		}
	}
	check("Config", reflect.ValueOf(*c))
	operators := []chat.User{{Platform: "telegram", ID: "123456789"}, {Platform: "discord", ID: "123456789012345678"}}
	chats := []string{"telegram:-1001234567890", "discord:123456789012345678"}
	if !slices.Equal(c.Operators, operators) || !slices.Equal(c.ModeratorChats, chats) {
		t.Errorf("the operators are %v, the moderators' chats %v", c.Operators, c.ModeratorChats)
	}
}

const thousand = "; write 1000 instead of 1,000"

// refused holds values that a setting refuses, and a part of the error. cmd/bot tests the
// errors of missing values.
var refused = []struct {
	name, told string
	values     []string
}{
	{"TELEGRAM_BOT_TOKEN", "@BotFather", []string{canary, "1:" + canary + "/x", ":" + canary, "a1:" + canary, "1:" + canary + " b"}},
	{"TELEGRAM_API_URL", "URL", []string{canary, "ftp://" + canary, "https://", "//host", "https://ho st"}},
	{"TELEGRAM_API_URL", "no user, query or fragment", []string{"https://u:" + canary + "@host", "https://host?" + canary, "https://h#" + canary}},
	{"TELEGRAM_API_URL", "port", []string{"https://h:99999"}},
	{"TELEGRAM_PACING", "one of on, off", []string{canary, "ON", "true"}},
	{"TELEGRAM_WEBHOOK_SECRET", "1 to 256", []string{canary + " b", canary + "é", strings.Repeat("a", 257)}},
	{"TELEGRAM_WEBHOOK_URL", "must", []string{canary, "http://host/" + canary, "https://host/healthz", "https://host/readyz",
		"https://host/metrics", "https://host/discord/interactions", "https://host/%6Detrics", "https://host/{" + canary + "}",
		"https://host/a//b", "https://host/a/../b", "https://host/a/", "https://host/?" + canary}},
	{"JOIN_CHATS", "telegram:ID:staker or telegram:ID:staker:AMOUNT", []string{canary, "telegram:-1", "telegram:-1:" + canary, "telegram:123:registered",
		"discord:123:registered", "telegram:@group:staker", "telegram:-0:staker", "telegram:-9999999999999999999:staker", "telegram:-1:registered,telegram:-2", "telegram:-1:registered:5"}},
	{"JOIN_CHATS", "entry 2 must have after its third colon an amount of tokens above 0", []string{"telegram:-1:staker:5,telegram:-2:staker:0", "telegram:-1:staker telegram:-2:staker:" + canary}},
	{"JOIN_CHATS", "entry 3 names the group of entry 2 again; keep one of the two", []string{"telegram:-2:staker,telegram:-1:staker:5,telegram:-1:staker:7", "telegram:-2:staker,telegram:-1:registered,telegram:-1:staker"}},
	{"STAKER_TAGS", "telegram:ID:TAG or telegram:ID:TAG:AMOUNT", []string{canary, "telegram:-1:", "telegram:-1", "telegram:1:Staker", "discord:1:Staker"}},
	{"STAKER_TAGS", "must have after its third colon an amount", []string{"telegram:-1:a telegram:-2:b", "telegram:-1:a:b", "telegram:-1:a:5:6"}},
	{"STAKER_TAGS", "entry 2 must have a tag of 1 to 16 letters", []string{"telegram:-1:a,telegram:-1:0123456789abcdefg", "telegram:-1:a,telegram:-1::5",
		"telegram:-1:a,telegram:-1: :5", "telegram:-1:a,telegram:-1:🐳", "telegram:-1:a,telegram:-1:1\uFE0F\u20E3", "telegram:-1:a,telegram:-1:🇹🇷",
		"telegram:-1:a,telegram:-1:a\u200db", "telegram:-1:a,telegram:-1:©", "telegram:-1:a,telegram:-1:ℹ"}},
	{"STAKER_TAGS", "must have each tag of a group once, and each with an amount of its own: see entries 1 and 2", []string{"telegram:-1:a,telegram:-1:b",
		"telegram:-1:a:5,telegram:-1:b:5.0", "telegram:-1:a:5,telegram:-1:a:6"}},
	{"DISCORD_BOT_TOKEN", "visible", []string{"Bot " + canary, canary + "é"}},
	{"DISCORD_API_URL", "without a path", []string{"https://host/" + canary}},
	{"DISCORD_PUBLIC_KEY", "64 hexadecimal digits", []string{canary, "ab", strings.Repeat("zz", 32), strings.Repeat("ab", 33)}},
	{"STAKER_ROLES", "discord:ID:ID or discord:ID:ID:AMOUNT", []string{canary, "discord:1", "telegram:1:2", "discord:0:2", "discord:1:x"}},
	{"STAKER_ROLES", "entry 2 must be a role of some members: the one with the server's ID is @everyone", []string{"discord:1:2,discord:1:1"}},
	{"STAKER_ROLES", "entry 3 names the role of entry 1 again; keep one of the two", []string{"discord:1:2,discord:1:3,discord:1:2", "discord:1:2:5,discord:3:2,discord:1:2:6"}},
	{"STAKER_ROLES", "entry 3 must have after its third colon an amount", []string{"discord:1:3,discord:3:2:1 discord:1:2:0"}},
	{"PARTNER_BASE_URL", "/api/v1/partner, which is appended", []string{"https://host/api/v1/partner", "https://h/gate/api/v1/partner/user/exists"}},
	{"PARTNER_NOT_FOUND_CODES", "entry", []string{"1,0", "00", "-0", "<" + canary + ">"}},
	{"PRICE_API_URL", "/v1/cryptocurrency, which is appended", []string{"https://host/v1/cryptocurrency/quotes/latest"}},
	{"PRICE_TOKEN_ID", "number", []string{canary, "0", "1,2"}},
	{"TOKEN_SYMBOL", "20 visible", []string{"\u05d0\u05d1", "ETH\u0627", "A B", "A\u202eB", "A\u200fB", "\xff", strings.Repeat("A", 21)}},
	{"TOKEN_SYMBOL", "without $", []string{"$ETH", "$"}},
	{"PRICE_MONTHLY_CREDITS", "whole number", []string{canary, "-1", "1e4", "10,000", "1000000000"}},
	{"MAX_PRICE_AGE", "off", []string{"0s", "3600", canary}},
	{"PRICE_TTL", "from 1ms to 8760h", []string{"30", canary, "0s", "-1s", "9000h"}},
	{"RECHECK_EVERY", "from 10m to 8784h, with its unit", []string{"30", "7d", "9m59s", "8785h"}},
	{"SUPPLY_URL", "which is appended", []string{"https://host/total-supply", "https://host/v1/circulating-supply/"}},
	{"EVM_RPC_URL", "URL", []string{"ipc:///" + canary, "stdio://" + canary, "/" + canary}},
	{"EVM_CHAIN_ID", "whole number", []string{"0", "-1", "0x1", canary}},
	{"STAKING_METHOD", "name(address)", []string{canary, "f(uint256)", "f (address)", "f(address)x", "(address)"}},
	{"STAKING_CLAIM_BLOCKS", "from 0 to 1099511627776", []string{canary, "-1", "1099511627777", "18446744073709551616", "1e6", "1.5"}},
	{"STAKING_TOTAL_METHOD", "name(), without arguments", []string{canary, "totalStake(address)", "totalStake", "totalStake( )", "()"}},
	{"MULTICALL_ADDRESS", "off", []string{canary, "0xcA11bde05977b3631167028862bE2a173976cA11"}},
	{"MULTICALL_ADDRESS", "one of STAKING_POOLS", []string{"0x52908400098527886E0F7030069857D2E4169EE7"}},
	{"MAX_BLOCK_AGE", "off", []string{canary, "0s", "-1m", "600", "never"}},
	{"TOKEN_DECIMALS", "from 0 to 77", []string{canary, "-1", "78", "1.5"}},
	{"REDIS_URL", "redis", []string{"http://" + canary, canary, "redis://"}},
	{"REDIS_URL", "Redis client", []string{"redis://host/" + canary, "redis://host?" + canary + "=1", "redis://" + canary + "?pool_size=0"}},
	{"REDIS_URL", "from 1ms to 1s, with its unit", []string{"redis://" + canary + "?read_timeout=100", "redis://h?read_timeout=0",
		"redis://h?read_timeout=-1", "redis://h?read_timeout=100us", "redis://h?read_timeout=2s", "redis://h?read_timeout=1s&read_timeout=9"}},
	{"HTTP_ADDR", "host:port or off", []string{canary, "8080", "host:port", ":70000", "http://host:80"}},
	{"SERVICE_NAME", "one line", []string{strings.Repeat("x", 41), "two\nlines", "two  spaces", "@everyone", "https://example.org", "\xff"}},
	{"EXPLORER_URL", "URL", []string{canary, "etherscan.io", "javascript://x/%0aalert(1)", "https://example.org/\u202ea"}},
	{"EXPLORER_URL", "/address, which is appended", []string{"https://example.org/address", "https://example.org/address/"}},
	{"REGISTER_URL", "URL", []string{canary, "passport.example.org", "javascript:alert(1)", "javascript://x/%0aalert(1)", "tg://x", "https://h/\u202ea"}},
	{"REGISTER_URL", "user", []string{"https://u:" + canary + "@host"}},
	{"STAKE_URL", "512", []string{"https://h/" + strings.Repeat("a", 503)}},
	{"CHAT_LANGUAGE", strings.Trim(strings.ReplaceAll(fmt.Sprint(chat.Languages()), " ", ", "), "[]"), []string{canary, "EN", "es-419", "xx",
		"telegram:-1:xx", "telegram:-1:", "tr,discord:5:" + canary, "en,telegram:-1:TR"}},
	{"CHAT_LANGUAGE", "entry 2 must be a language, or telegram:ID:LANGUAGE with the ID of a group, which is negative, or discord:ID:LANGUAGE",
		[]string{"en,telegram:123:tr", "en,telegram:-1", "en,telegram:-0:tr", "en,telegram:@" + canary + ":tr", "en,discord:-1:tr", "en,discord:1",
			"en,slack:1:tr", "en,-1001234567890:tr", "en,:tr", "en,*:tr", "en,telegram:-1:tr:es"}},
	{"CHAT_LANGUAGE", "entry 3 names the chat of entry 1 again; keep one of the two", []string{"telegram:-1:tr,en,telegram:-1:es", "discord:1:tr discord:2:tr discord:1:tr"}},
	{"CHAT_LANGUAGE", "entry 3 is a second default language, after entry 2; keep one of the two", []string{"telegram:-1:tr,en,es", "discord:1:tr,es,es"}},
	{"STALE_FOR", "from 0s to 8760h", []string{"-1s", canary}},
	{"COMMAND_TIMEOUT", "from 1ms to 14m", []string{"0s", "15m"}},
	{"RATE_LIMIT_USER", "whole number", []string{"-1", canary}},
	{"OPERATORS", "entry", []string{canary, "telegram:ann", "slack:1", "telegram:1,discord:"}},
	{"JOIN_CHATS", thousand, []string{"telegram:-1:staker:1,000", "telegram:-1:staker:1,000,telegram:-2:registered"}},
	{"STAKER_TAGS", thousand, []string{"telegram:-1:Staker:1,000", "telegram:-1:Staker:1 000",
		"telegram:-1:a,telegram:-1:Big staker:10,000.5"}},
	{"STAKER_ROLES", thousand, []string{"discord:1:2:1,000", "discord:1:3 discord:1:2:1_000"}},
	{"PRICE_TOKEN_ID", thousand, []string{"1,027"}},
	{"PRICE_MONTHLY_CREDITS", thousand, []string{"10,000", "10.000"}},
	{"EVM_CHAIN_ID", thousand, []string{"42,161", "42 161"}},
	{"STAKING_CLAIM_BLOCKS", thousand, []string{"302,400", "302'400"}},
	{"TOKEN_DECIMALS", thousand, []string{"1,000"}},
	{"RATE_LIMIT_USER", thousand, []string{"1,000"}},
	{"RATE_LIMIT_CHAT", thousand, []string{"1_000"}},
	{"MODERATOR_CHATS", "entry", []string{canary, "telegram:123", "telegram:-0", "discord:-1", "discord:0x1",
		"telegram:-1001234567890,discord:", "slack:1", "telegram:@group", "-1001234567890"}},
}

func TestSettingsRefuseOtherForms(t *testing.T) {
	for _, r := range refused {
		configtest.Refuses(t, settings, r.name, r.told, r.values...)
	}
}

// A setting of a platform that is off is told, too, and so is one that needs a store.
func TestAWrongSettingIsToldWhateverIsMissing(t *testing.T) {
	for _, r := range refused {
		for _, value := range r.values {
			told := slices.ContainsFunc(configtest.Try(settings, r.name+"="+value), func(line string) bool {
				return strings.HasPrefix(line, r.name+": ") && strings.Contains(line, r.told)
			})
			if !told {
				t.Errorf("%s=%s is not told", r.name, value)
			}
		}
	}
}

func TestSettingsAcceptTheirBounds(t *testing.T) {
	name, stake := strings.Repeat("é", 40), "https://h/"+strings.Repeat("a", 502)
	const symbol = "\u5e01🚀ABCDEF$H\u2764\ufe0f"
	c := mustLoad(t, with("SERVICE_NAME="+name, "EXPLORER_URL=https://address.example/addresses/", "RATE_LIMIT_USER=0", "RATE_LIMIT_CHAT=0",
		"COMMAND_TIMEOUT=14m", "MODERATOR_CHATS=*", "HTTP_ADDR=off", "TOKEN_SYMBOL="+symbol, "STAKE_URL="+stake, "REGISTER_URL=http://h?a#b"), "")
	for setting, read := range map[string][2]any{
		"SERVICE_NAME": {c.Answers.ServiceName, name}, "TOKEN_SYMBOL": {c.Market.Symbol, symbol}, "STAKE_URL": {c.Answers.StakeURL, stake},
		"REGISTER_URL": {c.Answers.RegisterURL, "http://h?a#b"}, "EXPLORER_URL": {c.Answers.ExplorerURL, "https://address.example/addresses"},
		"HTTP_ADDR": {c.Ops.Addr, ""}, "RATE_LIMIT_USER": {c.Limits.UserPerMinute, 0}, "RATE_LIMIT_CHAT": {c.Limits.ChatPerMinute, 0},
		"COMMAND_TIMEOUT": {c.Limits.CommandTimeout, 14 * time.Minute},
		"MODERATOR_CHATS": {strings.Join(c.ModeratorChats, " "), router.EveryChat}, "no SERVICE_NAME": {mustLoad(t, with(), "").Answers.ServiceName, ""},
	} {
		if read[0] != read[1] {
			t.Errorf("%s is read as %q, want %q", setting, read[0], read[1])
		}
	}
}

func TestChatLanguageTakesEntriesForChats(t *testing.T) {
	for value, want := range map[string]struct {
		language chat.Language
		chats    map[string]chat.Language
	}{
		"":                  {chat.English, map[string]chat.Language{}},
		"vi":                {chat.Vietnamese, map[string]chat.Language{}},
		"telegram:-1:tr":    {chat.English, map[string]chat.Language{"telegram:-1": chat.Turkish}},
		"telegram:-1:tr,es": {chat.Spanish, map[string]chat.Language{"telegram:-1": chat.Turkish}},
		"discord:1:ru , en": {chat.English, map[string]chat.Language{"discord:1": chat.Russian}},
		"discord:1:ru,discord:2:ru,zh,telegram:-1:en": {chat.Chinese, map[string]chat.Language{
			"discord:1": chat.Russian, "discord:2": chat.Russian, "telegram:-1": chat.English,
		}},
	} {
		c, err := Load(with("CHAT_LANGUAGE="+value), "", ToLook)
		switch {
		case (err != nil) != (want.chats == nil):
			t.Errorf("%q: %v", value, err)
		case err == nil && (c.Language != want.language || !maps.Equal(c.ChatLanguages, want.chats)):
			t.Errorf("%q is read as %q and %q, want %q and %q", value, c.Language, c.ChatLanguages, want.language, want.chats)
		}
	}
}

func TestEachInvalidEntryOfChatLanguageIsTold(t *testing.T) {
	told := configtest.Try(settings, "CHAT_LANGUAGE=xx,telegram:5:tr,discord:1:tr,discord:1:es,en,tr")
	wants := []string{"entry 1 must name one of", "entry 2 must be a language, or", "entry 4 names the chat of entry 3", "entry 6 is a second default"}
	if len(told) != len(wants) {
		t.Fatalf("%d lines, want %d: %q", len(told), len(wants), told)
	}
	for i, want := range wants {
		if !strings.HasPrefix(told[i], "CHAT_LANGUAGE: "+want) {
			t.Errorf("told %q, want %q", told[i], want)
		}
	}
}

func TestTheTableOfSettingsIsInOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.Name] || s.Set == nil || s.Comment == "" || s.Example == "" && s.Default == "" || s.Required && s.Default != "" {
			t.Errorf("%s is there twice, lacks Set, Comment, or both Example and Default, or is required and has a Default", s.Name)
		}
		seen[s.Name] = true
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
		c, err := Load(with("TELEGRAM_BOT_TOKEN=1:a", "DISCORD_BOT_TOKEN=b", s.Name+"="+value), "", ToServe)
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
