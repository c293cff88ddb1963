package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/config/configtest"
)

// writeThousand follows what is wrong with a number that has a separator. Only the example comes after it.
const writeThousand = "; write 1000 instead of 1,000"

// refused lists values that a setting refuses, by what the error says. No error may repeat canary. cmd/bot tests the
// errors of missing values.
var refused = []struct {
	setting string
	message string // part of the error
	values  []string
}{
	{
		setting: "TELEGRAM_BOT_TOKEN",
		message: "@BotFather",
		values:  []string{canary, "1:" + canary + "/x", ":" + canary, "a1:" + canary, "1:" + canary + " b"},
	},
	{
		setting: "TELEGRAM_API_URL",
		message: "URL",
		values:  []string{canary, "ftp://" + canary, "https://", "//host", "https://ho st"},
	},
	{
		setting: "TELEGRAM_API_URL",
		message: "no user, query or fragment",
		values:  []string{"https://u:" + canary + "@host", "https://host?" + canary, "https://h#" + canary},
	},
	{
		setting: "TELEGRAM_API_URL",
		message: "port",
		values:  []string{"https://h:99999"},
	},
	{
		setting: "TELEGRAM_PACING",
		message: "one of on, off",
		values:  []string{canary, "ON", "true"},
	},
	{
		setting: "TELEGRAM_WEBHOOK_SECRET",
		message: "1 to 256",
		values:  []string{canary + " b", canary + "é", strings.Repeat("a", 257)},
	},
	{
		setting: "TELEGRAM_WEBHOOK_URL",
		message: "must",
		values: []string{
			canary,
			"http://host/" + canary,
			"https://host/healthz",
			"https://host/readyz",
			"https://host/metrics",
			"https://host/discord/interactions",
			"https://host/%6Detrics",
			"https://host/{" + canary + "}",
			"https://host/a//b",
			"https://host/a/../b",
			"https://host/a/",
			"https://host/?" + canary,
		},
	},
	{
		setting: "JOIN_CHATS",
		message: "telegram:ID:staker or telegram:ID:staker:AMOUNT",
		values: []string{
			canary,
			"telegram:-1",
			"telegram:-1:" + canary,
			"telegram:123:registered",
			"discord:123:registered",
			"telegram:@group:staker",
			"telegram:-0:staker",
			"telegram:-9999999999999999999:staker",
			"telegram:-1:registered,telegram:-2",
			"telegram:-1:registered:5",
		},
	},
	{
		setting: "JOIN_CHATS",
		message: "entry 2 must have after its third colon an amount of tokens above 0",
		values: []string{
			"telegram:-1:staker:5,telegram:-2:staker:0",
			"telegram:-1:staker telegram:-2:staker:" + canary,
		},
	},
	{
		setting: "JOIN_CHATS",
		message: "entry 3 names the group of entry 2 again; keep one of the two",
		values: []string{
			"telegram:-2:staker,telegram:-1:staker:5,telegram:-1:staker:7",
			"telegram:-2:staker,telegram:-1:registered,telegram:-1:staker",
		},
	},
	{
		setting: "STAKER_TAGS",
		message: "telegram:ID:TAG or telegram:ID:TAG:AMOUNT",
		values:  []string{canary, "telegram:-1:", "telegram:-1", "telegram:1:Staker", "discord:1:Staker"},
	},
	{
		setting: "STAKER_TAGS",
		message: "must have after its third colon an amount",
		values:  []string{"telegram:-1:a telegram:-2:b", "telegram:-1:a:b", "telegram:-1:a:5:6"},
	},
	{
		setting: "STAKER_TAGS",
		message: "entry 2 must have a tag of 1 to 16 letters",
		values: []string{
			"telegram:-1:a,telegram:-1:0123456789abcdefg",
			"telegram:-1:a,telegram:-1::5",
			"telegram:-1:a,telegram:-1: :5",
			"telegram:-1:a,telegram:-1:🐳",
			"telegram:-1:a,telegram:-1:1\uFE0F\u20E3",
			"telegram:-1:a,telegram:-1:🇹🇷",
			"telegram:-1:a,telegram:-1:a\u200db",
			"telegram:-1:a,telegram:-1:©",
			"telegram:-1:a,telegram:-1:ℹ",
		},
	},
	{
		setting: "STAKER_TAGS",
		message: "must have each tag of a group once, and each with an amount of its own: see entries 1 and 2",
		values: []string{
			"telegram:-1:a,telegram:-1:b",
			"telegram:-1:a:5,telegram:-1:b:5.0",
			"telegram:-1:a:5,telegram:-1:a:6",
		},
	},
	{
		setting: "DISCORD_BOT_TOKEN",
		message: "visible",
		values:  []string{"Bot " + canary, canary + "é"},
	},
	{
		setting: "DISCORD_API_URL",
		message: "without a path",
		values:  []string{"https://host/" + canary},
	},
	{
		setting: "DISCORD_PUBLIC_KEY",
		message: "64 hexadecimal digits",
		values:  []string{canary, "ab", strings.Repeat("zz", 32), strings.Repeat("ab", 33)},
	},
	{
		setting: "STAKER_ROLES",
		message: "discord:ID:ID or discord:ID:ID:AMOUNT",
		values:  []string{canary, "discord:1", "telegram:1:2", "discord:0:2", "discord:1:x"},
	},
	{
		setting: "STAKER_ROLES",
		message: "entry 2 must be a role of some members: the one with the server's ID is @everyone",
		values:  []string{"discord:1:2,discord:1:1"},
	},
	{
		setting: "STAKER_ROLES",
		message: "entry 3 names the role of entry 1 again; keep one of the two",
		values:  []string{"discord:1:2,discord:1:3,discord:1:2", "discord:1:2:5,discord:3:2,discord:1:2:6"},
	},
	{
		setting: "STAKER_ROLES",
		message: "entry 3 must have after its third colon an amount",
		values:  []string{"discord:1:3,discord:3:2:1 discord:1:2:0"},
	},
	{
		setting: "PARTNER_BASE_URL",
		message: "/api/v1/partner, which is appended",
		values:  []string{"https://host/api/v1/partner", "https://h/gate/api/v1/partner/user/exists"},
	},
	{
		setting: "PARTNER_NOT_FOUND_CODES",
		message: "entry",
		values:  []string{"1,0", "00", "-0", "<" + canary + ">"},
	},
	{
		setting: "PRICE_API_URL",
		message: "/v1/cryptocurrency, which is appended",
		values:  []string{"https://host/v1/cryptocurrency/quotes/latest"},
	},
	{
		setting: "PRICE_TOKEN_ID",
		message: "number",
		values:  []string{canary, "0", "1,2"},
	},
	{
		setting: "TOKEN_SYMBOL",
		message: "20 visible",
		values: []string{
			"\u05d0\u05d1",
			"ETH\u0627",
			"A B",
			"A\u202eB",
			"A\u200fB",
			"\xff",
			strings.Repeat("A", 21),
		},
	},
	{
		setting: "TOKEN_SYMBOL",
		message: "without $",
		values:  []string{"$ETH", "$"},
	},
	{
		setting: "PRICE_MONTHLY_CREDITS",
		message: "whole number",
		values:  []string{canary, "-1", "1e4", "10,000", "1000000000"},
	},
	{
		setting: "MAX_PRICE_AGE",
		message: "off",
		values:  []string{"0s", "3600", canary},
	},
	{
		setting: "PRICE_TTL",
		message: "from 1ms to 8760h",
		values:  []string{"30", canary, "0s", "-1s", "9000h"},
	},
	{
		setting: "RECHECK_EVERY",
		message: "from 10m to 8784h, with its unit",
		values:  []string{"30", "7d", "9m59s", "8785h"},
	},
	{
		setting: "SUPPLY_URL",
		message: "which is appended",
		values:  []string{"https://host/total-supply", "https://host/v1/circulating-supply/"},
	},
	{
		setting: "EVM_RPC_URL",
		message: "URL",
		values:  []string{"ipc:///" + canary, "stdio://" + canary, "/" + canary},
	},
	{
		setting: "EVM_CHAIN_ID",
		message: "whole number",
		values:  []string{"0", "-1", "0x1", canary},
	},
	{
		setting: "STAKING_METHOD",
		message: "name(address)",
		values:  []string{canary, "f(uint256)", "f (address)", "f(address)x", "(address)"},
	},
	{
		setting: "STAKING_CLAIM_BLOCKS",
		message: "from 0 to 1099511627776",
		values:  []string{canary, "-1", "1099511627777", "18446744073709551616", "1e6", "1.5"},
	},
	{
		setting: "STAKING_TOTAL_METHOD",
		message: "name(), without arguments",
		values:  []string{canary, "totalStake(address)", "totalStake", "totalStake( )", "()"},
	},
	{
		setting: "MULTICALL_ADDRESS",
		message: "off",
		values:  []string{canary, "0xcA11bde05977b3631167028862bE2a173976cA11"}, // a wrong checksum
	},
	{
		setting: "MULTICALL_ADDRESS",
		message: "one of STAKING_POOLS",
		values:  []string{"0x52908400098527886E0F7030069857D2E4169EE7"},
	},
	{
		setting: "MAX_BLOCK_AGE",
		message: "off",
		values:  []string{canary, "0s", "-1m", "600", "never"},
	},
	{
		setting: "TOKEN_DECIMALS",
		message: "from 0 to 77",
		values:  []string{canary, "-1", "78", "1.5"},
	},
	{
		setting: "REDIS_URL",
		message: "redis",
		values:  []string{"http://" + canary, canary, "redis://"},
	},
	{
		setting: "REDIS_URL",
		message: "Redis client",
		values: []string{
			"redis://host/" + canary,
			"redis://host?" + canary + "=1",
			"redis://" + canary + "?pool_size=0",
		},
	},
	{
		setting: "REDIS_URL",
		message: "from 1ms to 1s, with its unit",
		values: []string{
			"redis://" + canary + "?read_timeout=100",
			"redis://h?read_timeout=0",
			"redis://h?read_timeout=-1",
			"redis://h?read_timeout=100us",
			"redis://h?read_timeout=2s",
			"redis://h?read_timeout=1s&read_timeout=9",
		},
	},
	{
		setting: "HTTP_ADDR",
		message: "host:port or off",
		values:  []string{canary, "8080", "host:port", ":70000", "http://host:80"},
	},
	{
		setting: "SERVICE_NAME",
		message: "one line",
		values: []string{
			strings.Repeat("x", 41),
			"two\nlines",
			"two  spaces",
			"@everyone",
			"https://example.org",
			"\xff",
		},
	},
	{
		setting: "EXPLORER_URL",
		message: "URL",
		values: []string{
			canary,
			"etherscan.io",
			"javascript://x/%0aalert(1)",
			"https://example.org/\u202ea",
		},
	},
	{
		setting: "EXPLORER_URL",
		message: "/address, which is appended",
		values:  []string{"https://example.org/address", "https://example.org/address/"},
	},
	{
		setting: "REGISTER_URL",
		message: "URL",
		values: []string{
			canary,
			"passport.example.org",
			"javascript:alert(1)",
			"javascript://x/%0aalert(1)",
			"tg://x",
			"https://h/\u202ea",
		},
	},
	{
		setting: "REGISTER_URL",
		message: "user",
		values:  []string{"https://u:" + canary + "@host"},
	},
	{
		setting: "STAKE_URL",
		message: "512",
		values:  []string{"https://h/" + strings.Repeat("a", 503)},
	},
	{
		setting: "CHAT_LANGUAGE",
		message: strings.Trim(strings.ReplaceAll(fmt.Sprint(chat.Languages()), " ", ", "), "[]"),
		values: []string{
			canary,
			"EN",
			"es-419",
			"xx",
			"telegram:-1:xx",
			"telegram:-1:",
			"tr,discord:5:" + canary,
			"en,telegram:-1:TR",
		},
	},
	{
		setting: "CHAT_LANGUAGE",
		message: "entry 2 must be a language, or telegram:ID:LANGUAGE with the ID of a group, which is negative, " +
			"or discord:ID:LANGUAGE",
		values: []string{
			"en,telegram:123:tr",
			"en,telegram:-1",
			"en,telegram:-0:tr",
			"en,telegram:@" + canary + ":tr",
			"en,discord:-1:tr",
			"en,discord:1",
			"en,slack:1:tr",
			"en,-1001234567890:tr",
			"en,:tr",
			"en,*:tr",
			"en,telegram:-1:tr:es",
		},
	},
	{
		setting: "CHAT_LANGUAGE",
		message: "entry 3 names the chat of entry 1 again; keep one of the two",
		values: []string{
			"telegram:-1:tr,en,telegram:-1:es",
			"discord:1:tr discord:2:tr discord:1:tr",
		},
	},
	{
		setting: "CHAT_LANGUAGE",
		message: "entry 3 is a second default language, after entry 2; keep one of the two",
		values: []string{
			"telegram:-1:tr,en,es",
			"discord:1:tr,es,es",
		},
	},
	{
		setting: "STALE_FOR",
		message: "from 0s to 8760h",
		values:  []string{"-1s", canary},
	},
	{
		setting: "COMMAND_TIMEOUT",
		message: "from 1ms to 14m",
		values:  []string{"0s", "15m"},
	},
	{
		setting: "RATE_LIMIT_USER",
		message: "whole number",
		values:  []string{"-1", canary},
	},
	{
		setting: "OPERATORS",
		message: "entry",
		values:  []string{canary, "telegram:ann", "slack:1", "telegram:1,discord:"},
	},
	{
		setting: "JOIN_CHATS",
		message: writeThousand,
		values:  []string{"telegram:-1:staker:1,000", "telegram:-1:staker:1,000,telegram:-2:registered"},
	},
	{
		setting: "STAKER_TAGS",
		message: writeThousand,
		values: []string{
			"telegram:-1:Staker:1,000",
			"telegram:-1:Staker:1 000",
			"telegram:-1:a,telegram:-1:Big staker:10,000.5",
		},
	},
	{
		setting: "STAKER_ROLES",
		message: writeThousand,
		values:  []string{"discord:1:2:1,000", "discord:1:3 discord:1:2:1_000"},
	},
	{
		setting: "PRICE_TOKEN_ID",
		message: writeThousand,
		values:  []string{"1,027"},
	},
	{
		setting: "PRICE_MONTHLY_CREDITS",
		message: writeThousand,
		values:  []string{"10,000", "10.000"},
	},
	{
		setting: "EVM_CHAIN_ID",
		message: writeThousand,
		values:  []string{"42,161", "42 161"},
	},
	{
		setting: "STAKING_CLAIM_BLOCKS",
		message: writeThousand,
		values:  []string{"302,400", "302'400"},
	},
	{
		setting: "TOKEN_DECIMALS",
		message: writeThousand,
		values:  []string{"1,000"},
	},
	{
		setting: "RATE_LIMIT_USER",
		message: writeThousand,
		values:  []string{"1,000"},
	},
	{
		setting: "RATE_LIMIT_CHAT",
		message: writeThousand,
		values:  []string{"1_000"},
	},
	{
		setting: "MODERATOR_CHATS",
		message: "entry",
		values: []string{
			canary,
			"telegram:123",
			"telegram:-0",
			"discord:-1",
			"discord:0x1",
			"telegram:-1001234567890,discord:",
			"slack:1",
			"telegram:@group",
			"-1001234567890",
		},
	},
}

func TestInvalidValuesAreRefused(t *testing.T) {
	for _, r := range refused {
		configtest.Refuses(t, settings, r.setting, r.message, r.values...)
	}
}

// Here, the platform of the setting may be off, and settings that it needs may be missing.
func TestInvalidValuesAreReportedEvenIfOthersAreMissing(t *testing.T) {
	for _, r := range refused {
		for _, value := range r.values {
			mistakes := configtest.Try(settings, r.setting+"="+value)
			reported := slices.ContainsFunc(mistakes, func(line string) bool {
				return strings.HasPrefix(line, r.setting+": ") && strings.Contains(line, r.message)
			})
			if !reported {
				t.Errorf("%s=%s is not reported: %q", r.setting, value, mistakes)
			}
		}
	}
}
