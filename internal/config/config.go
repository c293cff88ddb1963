// Package config reads Herald's settings from the environment, an env file and
// files that hold secrets, and tells everything that is wrong with them at
// once.
//
// It contacts nothing: what it accepts is right in form, not known to work.
// All there is to know about a setting (name, default, form, comment) stands
// in one table, settings.go, from which the reading, the mistakes and
// config.example.env derive.
package config

import (
	"crypto/ed25519"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// Config is what Herald runs with. URLs have no trailing slash. A field whose
// setting is off has its zero value.
type Config struct {
	Telegram  Telegram
	Discord   Discord
	Partner   Partner
	Price     Price
	Token     Token
	SupplyURL string
	Chain     Chain
	Cache     Cache
	RedisURL  Secret // unset: all state is in this process
	Limits    Limits
	// Operators may use moderators' forms everywhere.
	Operators []chat.User
	// HTTPAddr is host:port for health, metrics and webhooks; empty is none.
	HTTPAddr string
	Log      Log
}

// Telegram is on if Token is set.
type Telegram struct {
	Token  Secret
	APIURL string
	// WebhookURL empty is long polling.
	WebhookURL string
	// WebhookPath is the path of WebhookURL.
	WebhookPath   string
	WebhookSecret Secret
	Pacing        bool
}

// Discord is on if Token is set.
type Discord struct {
	Token         Secret
	ApplicationID string // empty: to be asked from Discord
	APIURL        string // scheme and host alone
	// PublicKey nil is the gateway; set, interactions arrive by HTTP.
	PublicKey ed25519.PublicKey
	GuildID   string // empty: commands are global
}

// Partner is the partner API.
type Partner struct {
	URL       string
	AppID     string
	SecretKey Secret
	// NotFoundCodes are the codes, as text, that mean "no such user".
	NotFoundCodes []string
}

// Price is the price provider and how the token is named there.
type Price struct {
	URL    string
	APIKey Secret // unset: none is sent
	// By is the query parameter that names the token: "id", "slug" or
	// "symbol". Token is its value.
	By    string
	Token string
}

// Token is how amounts are shown.
type Token struct {
	Symbol   string
	Decimals int // of staked amounts, 0 to 77
}

// Chain is the chain with the staking pools.
type Chain struct {
	RPCURL string // may carry a key anywhere but in its host
	ID     uint64
	Pools  []core.Pool // at least one, none twice
	// StakeMethod and PendingMethod are of the form name(address).
	// PendingMethod empty is none.
	StakeMethod   string
	PendingMethod string
	// Multicall nil is a JSON-RPC batch.
	Multicall *common.Address
}

// Cache is how long answers are good and how many are kept. All are above
// zero but StaleFor, which may be zero.
type Cache struct {
	PriceTTL  time.Duration
	SupplyTTL time.Duration
	StakeTTL  time.Duration
	ExistsTTL time.Duration
	LoginsTTL time.Duration
	StaleFor  time.Duration
	MaxItems  int
}

// Limits are time limits and commands a minute, all above zero.
type Limits struct {
	UpstreamTimeout time.Duration
	CommandTimeout  time.Duration
	UserPerMinute   int
	ChatPerMinute   int
}

// Log is how to log.
type Log struct {
	Level slog.Level
	JSON  bool
}
