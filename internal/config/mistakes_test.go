package config

import (
	"slices"
	"strings"
	"testing"
)

const canary = "CANARY"

func TestMistakes(t *testing.T) {
	long := strings.Repeat("a", 257)
	for _, test := range []struct {
		name   string
		values []string // each is wrong
		told   string
	}{
		{"TELEGRAM_BOT_TOKEN", []string{canary, "1:" + canary + "/x", ":" + canary, "a1:" + canary, "1:" + canary + " b"}, "@BotFather"},
		{"TELEGRAM_API_URL", []string{canary, "ftp://" + canary, "https://", "https://u:" + canary + "@host", "https://host?" + canary, "https://h:99999"}, ""},
		{"TELEGRAM_PACING", []string{canary, "ON", "true"}, "one of on, off"},
		{"DISCORD_BOT_TOKEN", []string{"Bot " + canary, canary + "é"}, "visible"},
		{"DISCORD_APPLICATION_ID", []string{canary, "0", "-1", "012"}, "numeric"},
		{"DISCORD_API_URL", []string{"https://host/" + canary}, "without a path"},
		{"DISCORD_GUILD_ID", []string{canary}, "numeric"},
		{"PARTNER_BASE_URL", []string{"", canary, "//host", "https://ho st"}, ""},
		{"PARTNER_APP_ID", []string{"", "a b"}, ""},
		{"PARTNER_SECRET_KEY", []string{""}, "required"},
		{"PARTNER_NOT_FOUND_CODES", []string{"1,0", "00", "-0", "<" + canary + ">"}, "entry"},
		{"PRICE_API_KEY", []string{"a b"}, "visible"},
		{"PRICE_TOKEN_ID", []string{canary, "0", "1,2"}, "number"},
		{"PRICE_TOKEN_SLUG", []string{canary + "&x", "a,b"}, "name"},
		{"TOKEN_SYMBOL", []string{"", "A B", "A\u202eB", "\xff", strings.Repeat("A", 21)}, ""},
		{"TOKEN_DECIMALS", []string{canary, "-1", "78", "1.5"}, "from 0 to 77"},
		{"SUPPLY_URL", []string{"", "host/" + canary}, ""},
		{"EVM_RPC_URL", []string{"", "ipc:///" + canary, "stdio://" + canary, "/" + canary}, ""},
		{"EVM_CHAIN_ID", []string{"", "0", "-1", "0x1", canary}, ""},
		{"STAKING_METHOD", []string{canary, "f(uint256)", "f (address)", "f(address)x", "(address)"}, "name(address)"},
		{"STAKING_PENDING_METHOD", []string{canary}, "name(address)"},
		{"MULTICALL_ADDRESS", []string{canary, "0x0000000000000000000000000000000000000000", "0xcA11bde05977b3631167028862bE2a173976cA11"}, "off"},
		{"PRICE_TTL", []string{"30", canary, "0s", "-1s", "9000h"}, "duration"},
		{"STALE_FOR", []string{"-1s"}, "duration"},
		{"CACHE_MAX_ITEMS", []string{"0", "-1", canary}, "whole number"},
		{"REDIS_URL", []string{"http://" + canary, canary, "redis://", "redis://host/" + canary, "redis://host?" + canary + "=1"}, ""},
		{"RATE_LIMIT_USER", []string{"0", canary}, "whole number"},
		{"OPERATORS", []string{canary, "telegram:ann", "slack:1", "telegram:1,discord:"}, "entry"},
		{"HTTP_ADDR", []string{canary, "8080", "host:port", ":70000", "http://host:80"}, "host:port or off"},
		{"LOG_LEVEL", []string{canary}, "debug, info, warn, error"},
		{"LOG_FORMAT", []string{canary}, "text, json"},
	} {
		for _, value := range test.values {
			_, err := Load(with(test.name+"="+value), "")
			checkOneMistake(t, err, test.name, test.told)
		}
	}
	webhook := []string{"TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_WEBHOOK_SECRET=a"}
	for _, url := range []string{canary, "http://host/" + canary, "https://host/healthz", "https://host/discord/interactions",
		"https://host/%6Detrics", "https://host/{" + canary + "}", "https://host/a//b", "https://host/a/../b", "https://host/a/", "https://host/?" + canary} {
		_, err := Load(with(append(webhook, "TELEGRAM_WEBHOOK_URL="+url)...), "")
		checkOneMistake(t, err, "TELEGRAM_WEBHOOK_URL", "must")
	}
	for _, secret := range []string{canary + " b", canary + "é", long} {
		_, err := Load(with("TELEGRAM_WEBHOOK_SECRET="+secret), "")
		checkOneMistake(t, err, "TELEGRAM_WEBHOOK_SECRET", "1 to 256")
	}
	for _, key := range []string{canary, "ab", strings.Repeat("zz", 32), strings.Repeat("ab", 33)} {
		_, err := Load(with("DISCORD_BOT_TOKEN=a", "DISCORD_PUBLIC_KEY="+key), "")
		checkOneMistake(t, err, "DISCORD_PUBLIC_KEY", "64 hexadecimal digits")
	}
}

func checkOneMistake(t *testing.T, err error, name, told string) {
	t.Helper()
	mistakes := mistakesOf(t, err)
	if len(mistakes) != 1 {
		t.Errorf("%s: want one mistake, got %d: %v", name, len(mistakes), err)
		return
	}
	line := mistakes[0]
	i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
	if !strings.HasPrefix(line, name+": ") || !strings.HasSuffix(line, "; for example "+name+"="+settings[i].example) || !strings.Contains(line, told) {
		t.Errorf("%s: the line lacks its name, its example or %q: %s", name, told, line)
	}
	if strings.Contains(line, canary) || strings.ContainsAny(line, "\n\x00") {
		t.Errorf("%s: the line repeats the value: %s", name, line)
	}
}

func TestContradictions(t *testing.T) {
	const key = "DISCORD_PUBLIC_KEY=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
	const webhook = "TELEGRAM_WEBHOOK_URL=https://bot.example.org/telegram"
	secretFile := "TELEGRAM_BOT_TOKEN_FILE=" + write(t, "1:a")
	for _, test := range []struct {
		what    string
		environ []string
		name    string
		told    string
	}{
		{"webhook without its secret", with("TELEGRAM_BOT_TOKEN=1:a", webhook), "TELEGRAM_WEBHOOK_SECRET", "required with TELEGRAM_WEBHOOK_URL"},
		{"webhook without Telegram", with(webhook, "TELEGRAM_WEBHOOK_SECRET=a"), "TELEGRAM_WEBHOOK_URL", "TELEGRAM_BOT_TOKEN is not"},
		{"public key without Discord", with(key), "DISCORD_PUBLIC_KEY", "DISCORD_BOT_TOKEN is not"},
		{"webhook without HTTP", with("TELEGRAM_BOT_TOKEN=1:a", webhook, "TELEGRAM_WEBHOOK_SECRET=a", "HTTP_ADDR=off"), "HTTP_ADDR", "TELEGRAM_WEBHOOK_URL needs it"},
		{"public key without HTTP", with("DISCORD_BOT_TOKEN=a", key, "HTTP_ADDR=off"), "HTTP_ADDR", "DISCORD_PUBLIC_KEY needs it"},
		{"a secret twice", with("TELEGRAM_BOT_TOKEN=1:"+canary, secretFile), "TELEGRAM_BOT_TOKEN", "TELEGRAM_BOT_TOKEN_FILE"},
	} {
		t.Run(test.what, func(t *testing.T) {
			_, err := Load(test.environ, "")
			checkOneMistake(t, err, test.name, test.told)
		})
	}
	if _, err := Load(with(secretFile, webhook, "TELEGRAM_WEBHOOK_SECRET=a"), ""); err != nil {
		t.Errorf("a token by file does not count as one: %v", err)
	}
	if _, err := Load(with("UPSTREAM_TIMEOUT=1m", "COMMAND_TIMEOUT=1s", "HTTP_ADDR=off"), ""); err != nil {
		t.Errorf("no contradiction, yet: %v", err)
	}
}

func TestSecretFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ path, told string }{
		{dir + "/" + canary, "cannot be opened"},
		{dir, "cannot be read"},
		{write(t, " \n"), "is empty"},
		{write(t, strings.Repeat(canary, 20000)), "larger than"},
	} {
		_, err := Load(with("PRICE_API_KEY_FILE="+test.path), "")
		checkOneMistake(t, err, "PRICE_API_KEY", test.told)
		if strings.Contains(err.Error(), dir) {
			t.Errorf("the path is repeated: %v", err)
		}
	}
}

func TestAllMistakesAreToldInOrder(t *testing.T) {
	file := write(t, "LOG_LEVEL=info\nwhat is this "+canary+"\n")
	_, err := LoadToServe([]string{"LOG_FORMAT=yaml", "PRICE_TTL=soon", "TELEGRAM_WEBHOOK_URL=" + canary}, file)
	var names []string
	for _, line := range mistakesOf(t, err) {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, name)
	}
	want := "--env-file|TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN|TELEGRAM_WEBHOOK_URL|TELEGRAM_WEBHOOK_URL|TELEGRAM_WEBHOOK_SECRET|" +
		"PARTNER_BASE_URL|PARTNER_APP_ID|PARTNER_SECRET_KEY|TOKEN_SYMBOL|SUPPLY_URL|EVM_RPC_URL|EVM_CHAIN_ID|STAKING_POOLS|PRICE_TTL|LOG_FORMAT"
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("a value is repeated: %v", err)
	}
}
