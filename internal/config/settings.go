package config

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// setting is all there is to know about one name.
type setting struct {
	name string
	// byDefault is the value when none is given; empty is none.
	byDefault string
	required  bool
	// secret settings can also be given by a file, as name_FILE.
	secret bool
	// example is a value of the right form that is nobody's.
	example string
	// heading begins a group in config.example.env, comment explains the
	// setting there.
	heading string
	comment string
	// set reads a value that is not empty.
	set func(*Config, string) error
	// conflict tells whether the given value, maybe empty, contradicts what
	// else is given; nil if it never can.
	conflict func(in input, value string) error
}

// Names that other settings depend on.
const (
	telegramToken = "TELEGRAM_BOT_TOKEN"
	webhookURL    = "TELEGRAM_WEBHOOK_URL"
	discordToken  = "DISCORD_BOT_TOKEN"
	discordKey    = "DISCORD_PUBLIC_KEY"
)

const (
	exampleTelegramToken = "123456789:AAEexample-of-a-token_from-BotFather"
	examplePool          = "0x52908400098527886E0F7030069857D2E4169EE7"
)

// needs is the conflict of a setting that means nothing without another.
func needs(other string) func(input, string) error {
	return func(in input, value string) error {
		if value != "" && !in.has(other) {
			return fmt.Errorf("is set, but %s is not", other)
		}
		return nil
	}
}

// settings is the table, in the order of config.example.env.
var settings = []setting{
	{
		heading: "Telegram", name: telegramToken, secret: true, example: exampleTelegramToken,
		comment: "Turns Telegram on. @BotFather gives the token.\nAt least one of TELEGRAM_BOT_TOKEN and DISCORD_BOT_TOKEN is needed.",
		set: into(func(c *Config) *Secret { return &c.Telegram.Token },
			hidden(matching(`[0-9]+:[A-Za-z0-9_-]+`, "a bot's number, a colon, and letters, digits, _ and -, as @BotFather gives it"))),
	},
	{
		name: "TELEGRAM_API_URL", byDefault: "https://api.telegram.org", example: "http://127.0.0.1:8081",
		comment: "The Bot API server. A self-hosted one works too.",
		set:     into(func(c *Config) *string { return &c.Telegram.APIURL }, baseURL),
	},
	{
		name: webhookURL, example: "https://bot.example.org/telegram",
		comment: "Public HTTPS URL at which Telegram delivers updates. Herald takes them on\nHTTP_ADDR at this URL's path; TLS is up to a proxy in front of it.\nUnset: long polling, which needs no public address.",
		set:     setWebhook, conflict: needs(telegramToken),
	},
	{
		name: "TELEGRAM_WEBHOOK_SECRET", secret: true, example: "a-long-random_text",
		comment: "Proves that a delivery comes from Telegram. Required with a webhook: 1 to 256\nof A-Z a-z 0-9 _ -, for example from `openssl rand -hex 32`.",
		set: into(func(c *Config) *Secret { return &c.Telegram.WebhookSecret },
			hidden(matching(`[A-Za-z0-9_-]{1,256}`, "1 to 256 of A-Z a-z 0-9 _ -"))),
		conflict: func(in input, value string) error {
			if value == "" && in.has(webhookURL) {
				return fmt.Errorf("is required with %s and not set", webhookURL)
			}
			return nil
		},
	},
	{
		name: "TELEGRAM_PACING", byDefault: "on", example: "on",
		comment: "on: sends keep to Telegram's published rates (1 message a second a chat, 20 a\nminute a group, 30 a second in all), and what cannot be said in time is said\nonce in few words. off: only Telegram's own refusals slow it down.",
		set:     into(func(c *Config) *bool { return &c.Telegram.Pacing }, onOff),
	},
	{
		heading: "Discord", name: discordToken, secret: true, example: "MTIzNDU2Nzg5MDEyMzQ1Njc4.example.of-a-bot-token",
		comment: "Turns Discord on. The Developer Portal gives the token on the page \"Bot\".",
		set:     into(func(c *Config) *Secret { return &c.Discord.Token }, hidden(visible)),
	},
	{
		name: "DISCORD_APPLICATION_ID", example: "123456789012345678",
		comment: "The application whose commands are registered. Unset: asked from Discord.",
		set:     into(func(c *Config) *string { return &c.Discord.ApplicationID }, snowflake),
	},
	{
		name: "DISCORD_API_URL", byDefault: "https://discord.com", example: "http://127.0.0.1:3000",
		comment: "Scheme and host of the REST API. A proxy for it works too; the gateway's\naddress is asked there.",
		set:     into(func(c *Config) *string { return &c.Discord.APIURL }, origin),
	},
	{
		name: discordKey, example: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		comment: "The application's public key, in hex. Set: interactions arrive by HTTP at\n/discord/interactions on HTTP_ADDR, and no gateway is opened. Unset: gateway,\nwhich needs no public address.",
		set:     into(func(c *Config) *ed25519.PublicKey { return &c.Discord.PublicKey }, publicKey), conflict: needs(discordToken),
	},
	{
		name: "DISCORD_GUILD_ID", example: "123456789012345678",
		comment: "Registers the commands in this guild only, at once. For development.\nUnset: everywhere.",
		set:     into(func(c *Config) *string { return &c.Discord.GuildID }, snowflake),
	},
	{
		heading: "Partner API", name: "PARTNER_BASE_URL", required: true, example: "https://partner.example.org",
		comment: "Where the partner API is; /api/v1/partner/... is appended.",
		set:     into(func(c *Config) *string { return &c.Partner.URL }, baseURL),
	},
	{
		name: "PARTNER_APP_ID", required: true, example: "my-app-id",
		comment: "The application ID that the partner gave you.",
		set:     into(func(c *Config) *string { return &c.Partner.AppID }, visible),
	},
	{
		name: "PARTNER_SECRET_KEY", required: true, secret: true, example: "the-key-that-came-with-the-app-id",
		comment: "The key that signs requests. It came with the application ID.",
		set:     into(func(c *Config) *Secret { return &c.Partner.SecretKey }, hidden(anyText)),
	},
	{
		name: "PARTNER_NOT_FOUND_CODES", example: "10004,10005",
		comment: "Response codes of the existence check that mean \"no such user\", separated by\ncommas. Every other code but 0 is an error and is answered \"could not be checked\".",
		set:     into(func(c *Config) *[]string { return &c.Partner.NotFoundCodes }, responseCodes),
	},
	{
		heading: "Price provider", name: "PRICE_API_URL", byDefault: "https://pro-api.coinmarketcap.com", example: "https://pro-api.coinmarketcap.com",
		comment: "Where the price provider is.",
		set:     into(func(c *Config) *string { return &c.Price.URL }, baseURL),
	},
	{
		name: "PRICE_API_KEY", secret: true, example: "01234567-89ab-cdef-0123-456789abcdef",
		comment: "Sent as X-CMC_PRO_API_KEY. Unset: none is sent.",
		set:     into(func(c *Config) *Secret { return &c.Price.APIKey }, hidden(visible)),
	},
	{
		name: "PRICE_TOKEN_ID", example: "1027",
		comment: "The token's number at the provider: the surest way to name it, as many coins\nshare a symbol. Unset: PRICE_TOKEN_SLUG is asked for.",
		set:     setPriceToken("id", matching(`[1-9][0-9]{0,11}`, "the provider's number of the token")),
	},
	{
		name: "PRICE_TOKEN_SLUG", example: "ethereum",
		comment: "The token's name in the provider's web addresses. Unset: TOKEN_SYMBOL is\nasked for.",
		set:     setPriceToken("slug", matching(`[A-Za-z0-9][A-Za-z0-9_.-]{0,99}`, "one name of letters, digits and -")),
	},
	{
		heading: "Token", name: "TOKEN_SYMBOL", required: true, example: "ETH",
		comment: "Shown after amounts.",
		set: func(c *Config, value string) error {
			if err := into(func(c *Config) *string { return &c.Token.Symbol }, symbol)(c, value); err != nil {
				return err
			}
			return setPriceToken("symbol", anyText)(c, value)
		},
	},
	{
		name: "TOKEN_DECIMALS", byDefault: "18", example: "18",
		comment: "Decimals of staked amounts: how many digits of a whole number on the chain\nstand behind the point.",
		// 77 is the most at which a uint256 can still hold one token.
		set: into(func(c *Config) *int { return &c.Token.Decimals }, whole(0, 77)),
	},
	{
		heading: "Supply", name: "SUPPLY_URL", required: true, example: "https://supply.example.org/token",
		comment: "Where the supply host is; /total-supply and /circulating-supply are appended.",
		set:     into(func(c *Config) *string { return &c.SupplyURL }, baseURL),
	},
	{
		heading: "Staking", name: "EVM_RPC_URL", required: true, example: "https://rpc.example.org/v1/my-key",
		comment: "JSON-RPC endpoint of the chain with the pools: http or https. A key in\nit is kept out of logs and answers.",
		set:     into(func(c *Config) *string { return &c.Chain.RPCURL }, rpcURL),
	},
	{
		name: "EVM_CHAIN_ID", required: true, example: "1",
		comment: "That chain's ID. An endpoint of another chain is refused.",
		set:     into(func(c *Config) *uint64 { return &c.Chain.ID }, chainID),
	},
	{
		name: "STAKING_POOLS", required: true, example: examplePool,
		comment: "The pools' addresses, separated by commas or white space; or @FILE, with one a\nline: the address and, if you like, a name. In the file, # at the start of a\nline or between white space begins a comment.",
		set:     into(func(c *Config) *[]core.Pool { return &c.Chain.Pools }, pools),
	},
	{
		name: "STAKING_METHOD", byDefault: "currentStake(address)", example: "currentStake(address)",
		comment: "View method of a pool that answers one wallet's stake as a uint256.",
		set:     into(func(c *Config) *string { return &c.Chain.StakeMethod }, method),
	},
	{
		name: "STAKING_PENDING_METHOD", example: "pendingUnstakes(address)",
		comment: "View method of a pool that answers what one wallet is withdrawing, as\n(uint256 amount,uint256 block)[]. Unset: withdrawals are not shown.",
		set:     into(func(c *Config) *string { return &c.Chain.PendingMethod }, method),
	},
	{
		name: "MULTICALL_ADDRESS", byDefault: "0xcA11bde05977b3631167028862bE2a173976CA11", example: "off",
		comment: "Multicall3 on that chain, which reads all pools in one call. off: a JSON-RPC\nbatch instead.",
		set:     into(func(c *Config) **common.Address { return &c.Chain.Multicall }, multicall),
	},
	{
		heading: "Freshness", name: "PRICE_TTL", byDefault: "30s", example: "30s",
		comment: "How long a price is fresh. Each refresh costs one credit at the provider; the\nfree plan has 10,000 a month, which 5m fits.",
		set:     into(func(c *Config) *time.Duration { return &c.Cache.PriceTTL }, positive),
	},
	{
		name: "SUPPLY_TTL", byDefault: "5m", example: "5m", comment: "How long supplies are fresh.",
		set: into(func(c *Config) *time.Duration { return &c.Cache.SupplyTTL }, positive),
	},
	{
		name: "STAKE_TTL", byDefault: "60s", example: "60s", comment: "How long a wallet's stake is fresh.",
		set: into(func(c *Config) *time.Duration { return &c.Cache.StakeTTL }, positive),
	},
	{
		name: "EXISTS_TTL", byDefault: "60s", example: "60s", comment: "How long an existence check is fresh.",
		set: into(func(c *Config) *time.Duration { return &c.Cache.ExistsTTL }, positive),
	},
	{
		name: "LOGINS_TTL", byDefault: "60s", example: "60s", comment: "How long a login history is fresh.",
		set: into(func(c *Config) *time.Duration { return &c.Cache.LoginsTTL }, positive),
	},
	{
		name: "STALE_FOR", byDefault: "1h", example: "1h",
		comment: "How long past its TTL the last good price or supply may still be shown, marked\nas old, while its source is failing. 0s: never.",
		set:     into(func(c *Config) *time.Duration { return &c.Cache.StaleFor }, atLeast(0)),
	},
	{
		name: "CACHE_MAX_ITEMS", byDefault: "100000", example: "100000", comment: "Bound on cached answers.",
		set: into(func(c *Config) *int { return &c.Cache.MaxItems }, whole(1, 100_000_000)),
	},
	{
		heading: "Several replicas", name: "REDIS_URL", secret: true, example: "redis://:password@redis.example.org:6379/0",
		comment: "State that several replicas share: which updates are answered, rate limits,\nprices and supplies. redis:// or, with TLS, rediss://. Unset: all of it is in\nthis process.",
		set:     into(func(c *Config) *Secret { return &c.RedisURL }, redisURL),
	},
	{
		heading: "Limits", name: "UPSTREAM_TIMEOUT", byDefault: "5s", example: "5s",
		comment: "One call to a service, retries apart.",
		set:     into(func(c *Config) *time.Duration { return &c.Limits.UpstreamTimeout }, positive),
	},
	{
		name: "COMMAND_TIMEOUT", byDefault: "20s", example: "20s",
		comment: "One command, from its arrival to its answer.",
		set:     into(func(c *Config) *time.Duration { return &c.Limits.CommandTimeout }, positive),
	},
	{
		name: "RATE_LIMIT_USER", byDefault: "20", example: "20", comment: "Commands a minute of one user.",
		set: into(func(c *Config) *int { return &c.Limits.UserPerMinute }, whole(1, 10_000)),
	},
	{
		name: "RATE_LIMIT_CHAT", byDefault: "120", example: "120", comment: "Commands a minute in one chat.",
		set: into(func(c *Config) *int { return &c.Limits.ChatPerMinute }, whole(1, 10_000)),
	},
	{
		name: "OPERATORS", example: "telegram:123456789,discord:123456789012345678",
		comment: "Who may use the moderators' forms everywhere, separated by commas or white\nspace.",
		set:     into(func(c *Config) *[]chat.User { return &c.Operators }, operators),
	},
	{
		heading: "Operation", name: "HTTP_ADDR", byDefault: "127.0.0.1:8080", example: "0.0.0.0:8080",
		comment: "Where /healthz, /readyz, /metrics and webhooks are served; off: nowhere. In a\ncontainer this must be 0.0.0.0:8080 to be reached from outside.",
		set:     into(func(c *Config) *string { return &c.HTTPAddr }, listenAddress),
		conflict: func(in input, value string) error {
			if value == off && in.has(webhookURL) {
				return fmt.Errorf("is off, but %s needs it", webhookURL)
			}
			if value == off && in.has(discordKey) {
				return fmt.Errorf("is off, but %s needs it", discordKey)
			}
			return nil
		},
	},
	{
		name: "LOG_LEVEL", byDefault: "info", example: "debug", comment: "debug, info, warn or error.",
		set: into(func(c *Config) *slog.Level { return &c.Log.Level }, logLevel),
	},
	{
		name: "LOG_FORMAT", byDefault: "text", example: "json", comment: "text or json.",
		set: into(func(c *Config) *bool { return &c.Log.JSON }, logFormat),
	},
}

var method = matching(`[A-Za-z_$][A-Za-z0-9_$]{0,127}\(address\)`, "of the form name(address)")

// setPriceToken names the token to the price provider unless a setting above
// did.
func setPriceToken(by string, parse func(string) (string, error)) func(*Config, string) error {
	return func(c *Config, value string) error {
		token, err := parse(value)
		if err == nil && c.Price.By == "" {
			c.Price.By, c.Price.Token = by, token
		}
		return err
	}
}
