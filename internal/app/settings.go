package app

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/members"
	"herald/internal/ops"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/secret"
	"herald/internal/store"
)

// Config holds every setting of a Bot.
type Config struct {
	// EnvFile is the file that settings were read from. It is "" if they all came from the environment.
	EnvFile  string
	Telegram telegram.Settings
	Discord  discord.Settings
	Services
	Members members.Settings
	Store   store.Settings
	Ops     ops.Settings
	Limits  Limits

	// Answers holds what replies mention. Load copies its Symbol, ChainID and JoinChats from the settings of Market,
	// Staking and Telegram.
	Answers commands.Options
	// Language is the language of public answers, except in the communities of ChatLanguages.
	Language chat.Language
	// ChatLanguages has the language of each community that CHAT_LANGUAGE names. Its keys have a form such as
	// "discord:123".
	ChatLanguages map[string]chat.Language

	// StaleFor is how long past its TTL an answer may be shown while its service fails. If it is 0, none is shown.
	StaleFor time.Duration

	// Operators are the users who may ask about others in every chat.
	Operators []chat.User
	// ModeratorChats are the communities whose moderators may ask about others there, such as "discord:123". The entry
	// router.EveryChat stands for all communities.
	ModeratorChats []string

	LogLevel slog.Level
	LogJSON  bool
}

// Limits limits calls and commands.
type Limits struct {
	UpstreamTimeout time.Duration // of one call to a service; above 0
	CommandTimeout  time.Duration // of one command; above 0
	UserPerMinute   int           // commands of one user; 0 means no limit
	ChatPerMinute   int           // commands in one chat; 0 means no limit
}

// Purpose is what settings are read for.
type Purpose bool

const (
	// ToServe is for a bot that serves platforms: Load requires the token of at least one.
	ToServe Purpose = true
	// ToLook is for commands such as bot check: Load does not require a token.
	ToLook Purpose = false
)

// Load reads the settings from environ, which has the form of os.Environ, and from the file envFile, unless envFile is
// "". If a setting is in both, the value in environ counts. The error is or wraps a config.Errors.
func Load(environ []string, envFile string, purpose Purpose) (*Config, error) {
	given, mistakes := config.Collect(environ, envFile)
	if given == nil { // The file cannot be read.
		return nil, mistakes
	}
	c := &Config{EnvFile: envFile}
	hasToken := slices.ContainsFunc(c.platforms(), func(p servable) bool { return given.Has(p.tokenSetting) })
	if purpose == ToServe && !hasToken {
		tokens := ofEachPlatform(func(p servable) string { return p.tokenSetting })
		mistakes = append(mistakes, strings.Join(tokens, ", ")+": neither is set, so there is no platform to serve; "+
			"for example "+telegram.TokenSetting+"=123456789:AAEexample-of-a-token_from-BotFather")
	}
	mistakes = append(mistakes, given.Fill(c.Table())...)
	mistakes = append(mistakes, c.missingServices(given)...)
	if len(mistakes) > 0 {
		return nil, fmt.Errorf(invalidSettings, len(mistakes), mistakes)
	}
	c.Answers.Symbol = c.Market.Symbol
	c.Answers.ChainID = c.Staking.ChainID
	c.Answers.JoinChats = map[string]chat.Requirement{}
	for group, required := range c.Telegram.JoinChats {
		c.Answers.JoinChats[fmt.Sprintf("%s:%d", telegram.Platform, group)] = required
	}
	return c, nil
}

// invalidSettings is the format of Load's error. Its arguments are the number of mistakes, and a config.Errors.
const invalidSettings = "Settings that are wrong or missing: %d. Correct them in the environment or in the file " +
	"given with --env-file (copy config.example.env, which explains each), or try `bot demo`, which needs none.\n%w"

// links returns the settings that become links in answers.
func (c *Config) links() []telegram.Link {
	return []telegram.Link{
		{Setting: "EXPLORER_URL", URL: c.Answers.ExplorerURL},
		{Setting: "REGISTER_URL", URL: c.Answers.RegisterURL},
		{Setting: "STAKE_URL", URL: c.Answers.StakeURL},
	}
}

// Secrets returns the values that logs and tables must not show.
func (c *Config) Secrets() []string { return secret.Of(*c) }

// Table declares every setting, in the order of config.example.env.
func (c *Config) Table() []config.Setting {
	return slices.Concat(
		c.Telegram.Table(),
		c.Discord.Table(),
		c.Services.table(),
		c.Members.Table(),
		c.Store.Table(),
		c.Ops.Table(),
		c.answersTable(),
		c.limitsTable(),
		c.rightsTable(),
		c.logTable(),
	)
}

// The tables below have the settings that belong to no other package.

func (c *Config) answersTable() []config.Setting {
	return []config.Setting{
		{
			Heading: "Answers",
			Name:    "SERVICE_NAME",
			Default: defaultServiceName,
			Example: "Example Passport",
			Set:     config.Field(&c.Answers.ServiceName, parseServiceName),
			Comment: "Name of the service that members are registered with, as in \"registered with Example Passport\". " +
				"The default is translated.",
		},
		{
			Name:    "EXPLORER_URL",
			Example: "https://etherscan.io",
			Set:     config.Field(&c.Answers.ExplorerURL, config.BaseURLWithout("/address")),
			Comment: "Block explorer; wallets link to EXPLORER_URL/address/0x... Unset: no links.",
		},
		{
			Name:    "REGISTER_URL",
			Example: "https://passport.example.org/register",
			Set:     config.Field(&c.Answers.RegisterURL, config.PageURL),
			Comment: "Page to register with the service: a button under \"not registered\". Unset: no button.",
		},
		{
			Name:    "STAKE_URL",
			Example: "https://stake.example.org",
			Set:     config.Field(&c.Answers.StakeURL, config.PageURL),
			Comment: "Page to stake: a button under \"not staked\". Unset: no button.",
		},
		{
			Name:    "CHAT_LANGUAGE",
			Default: string(chat.English),
			Example: "es,telegram:-1001234567890:tr,discord:123456789012345678:vi",
			Set:     c.setLanguages,
			Comment: "Language of what a whole chat reads: " + strings.Join(languageNames(), ", ") +
				". Further entries are for one group or server each. See docs/operating.md.",
		},
	}
}

// defaultServiceName is the default of SERVICE_NAME.
const defaultServiceName = "the service"

// parseServiceName returns the name that replies show. It returns "" for defaultServiceName: replies then use words in
// the reader's language.
func parseServiceName(value string) (string, error) {
	if value == defaultServiceName {
		return "", nil
	}
	const maxLength = 40 // characters
	if string(chat.NewUntrusted(value, maxLength)) != value {
		return "", errors.New("must be one line of at most 40 visible characters, without @ and ://")
	}
	return value, nil
}

func (c *Config) limitsTable() []config.Setting {
	perMinute := config.IntBetween(0, 10_000)
	return []config.Setting{
		{
			Heading: "Limits",
			Name:    "UPSTREAM_TIMEOUT",
			Default: "5s",
			Set:     config.Field(&c.Limits.UpstreamTimeout, config.Duration),
			Comment: "How long one call to a service may take, not counting a retry. No call lasts longer than COMMAND_TIMEOUT.",
		},
		{
			Name:    "COMMAND_TIMEOUT",
			Default: "20s",
			Set:     config.Field(&c.Limits.CommandTimeout, config.DurationBetween(time.Millisecond, 14*time.Minute)),
			Comment: "How long one command may take, from its arrival to its answer. " +
				"At most 14m: Discord takes an answer for 15 minutes.",
		},
		{
			Name:    "STALE_FOR",
			Default: "1h",
			Set:     config.Field(&c.StaleFor, config.DurationOrZero),
			Comment: "How long past its TTL the last good price or supply may still be shown, with its age, " +
				"while its service is failing. 0s: never.",
		},
		{
			Name:    "RATE_LIMIT_USER",
			Default: "20",
			Set:     config.Field(&c.Limits.UserPerMinute, perMinute),
			Comment: "Commands of one user: this many at once, and the same number again spread over each minute. 0: no limit.",
		},
		{
			Name:    "RATE_LIMIT_CHAT",
			Default: "120",
			Set:     config.Field(&c.Limits.ChatPerMinute, perMinute),
			Comment: "Commands in one chat, likewise. 0: no limit.",
		},
	}
}

func (c *Config) rightsTable() []config.Setting {
	return []config.Setting{
		{
			Heading: "Rights",
			Name:    "OPERATORS",
			Example: "telegram:123456789,discord:123456789012345678",
			Set:     config.Field(&c.Operators, config.ListOf(parseOperator)),
			Comment: "IDs of the users who may ask about others in every chat. Unset: nobody.",
		},
		{
			Name:    "MODERATOR_CHATS",
			Example: "telegram:-1001234567890,discord:123456789012345678",
			Set:     config.Field(&c.ModeratorChats, config.ListOf(checkModeratorChat)),
			Comment: "IDs of the groups and servers whose moderators may ask about others there. *: " +
				"every chat, so that anybody may (docs/operating.md). Unset: none.",
		},
	}
}

func (c *Config) logTable() []config.Setting {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	return []config.Setting{
		{
			Heading: "Log",
			Name:    "LOG_LEVEL",
			Default: "info",
			Example: "debug",
			Comment: "debug, info, warn or error.",
			Set:     config.Field(&c.LogLevel, config.OneOf([]string{"debug", "info", "warn", "error"}, levels)),
		},
		{
			Name:    "LOG_FORMAT",
			Default: "text",
			Example: "json",
			Comment: "text or json.",
			Set:     config.Field(&c.LogJSON, config.OneOf([]string{"text", "json"}, []bool{false, true})),
		},
	}
}
