package app

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/members"
	"herald/internal/ops"
	"herald/internal/platform"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/secret"
	"herald/internal/transport"
)

// servable is a platform that Herald can serve.
type servable struct {
	name         chat.Platform
	tokenSetting string
	token        secret.Value // not set: the platform is off
	connect      func(*Config, connectionParts, *retryLog) connection
}

// platforms returns every platform, also those that are off.
func (c *Config) platforms() []servable {
	return []servable{
		{name: telegram.Platform, tokenSetting: telegram.TokenSetting, token: c.Telegram.Token, connect: newTelegram},
		{name: discord.Platform, tokenSetting: discord.TokenSetting, token: c.Discord.Token, connect: newDiscord},
	}
}

// connection is the adapter of a platform whose token is set.
type connection struct {
	adapter adapter
	// webhookPath is the URL path to which the platform posts updates; empty: it posts none.
	webhookPath string
	// title, url and settings are shown by `bot check` beside what the platform answers.
	title, url, settings string
	// askRole asks for a user's role; nil: a Request says it.
	askRole router.AskRole
}

// adapter is what package app uses of a platform's adapter.
type adapter interface {
	platform.Adapter
	chat.BadgeGiver
	http.Handler
	InFlight() int
	// Check asks the platform about the settings, and whether it has the commands. It returns the details for `bot
	// check`, and what Rights returns.
	Check(ctx context.Context, commands chat.Commands, entries ...platform.Entry) ([]string, []platform.Right, error)
	// Rights returns whether the bot may do what the settings ask for, and whether it is in the communities of entries.
	Rights(ctx context.Context, entries ...platform.Entry) []platform.Right
}

// connectionParts are what adapters work with.
type connectionParts struct {
	state *state
	// status returns the price for Discord's member list; nil if none is shown.
	status  func(context.Context) string
	joins   *platform.JoinLog
	moves   *platform.Moves
	metrics *ops.Metrics
	log     *slog.Logger
}

// newConnections makes the adapters of the platforms whose tokens are set.
func newConnections(cfg *Config, with connectionParts) (all []connection) {
	retries := newRetryLog(with.log)
	for _, p := range cfg.platforms() {
		if p.token.IsSet() {
			all = append(all, p.connect(cfg, with, retries))
		}
	}
	for _, c := range all {
		with.metrics.ExportPlatform(c.adapter, c.adapter.InFlight)
	}
	return all
}

func newTelegram(cfg *Config, with connectionParts, retries *retryLog) connection {
	a := telegram.New(telegram.Config{
		Settings:       cfg.Telegram,
		Dedup:          with.state.claims,
		Limiter:        with.state.limiter,
		CommandTimeout: cfg.Limits.CommandTimeout,
		Log:            with.log,
		Count:          with.metrics.Events(string(telegram.Platform)),
		Connected:      logConnected(with.log, telegram.Platform),
		Retried:        retries.of(telegram.Platform),
		Joins:          with.joins,
		Moves:          with.moves,
		ModeratorChats: communitiesOn(telegram.Platform, cfg.ModeratorChats),
		LanguageChats:  communitiesOn(telegram.Platform, cfg.languageChats()),
		Links:          cfg.links(),
	})
	return connection{
		adapter:     a,
		webhookPath: cfg.Telegram.WebhookPath,
		title:       "Telegram",
		url:         cfg.Telegram.APIURL,
		settings:    telegram.TokenSetting + " and TELEGRAM_API_URL",
		askRole:     a.Role,
	}
}

// newDiscord makes Discord's adapter. Without a webhook, the metrics have the latency of its gateway.
func newDiscord(cfg *Config, with connectionParts, retries *retryLog) connection {
	a := discord.New(discord.Config{
		Settings:  cfg.Discord,
		Dedup:     with.state.claims,
		Status:    with.status,
		Log:       with.log,
		Count:     with.metrics.Events(string(discord.Platform)),
		Connected: logConnected(with.log, discord.Platform),
		Retried:   retries.of(discord.Platform),
	})
	c := connection{
		adapter:  a,
		title:    "Discord",
		url:      cfg.Discord.APIURL,
		settings: discord.TokenSetting + " and DISCORD_API_URL",
	}
	if cfg.Discord.PublicKey != nil {
		c.webhookPath = "/discord/interactions"
	} else {
		with.metrics.ExportHeartbeat(a.HeartbeatLatency)
	}
	return c
}

// badgesOf returns what gives each platform's badges.
func badgesOf(connections []connection) map[chat.Platform]chat.BadgeGiver {
	all := map[chat.Platform]chat.BadgeGiver{}
	for _, c := range connections {
		all[c.adapter.Platform()] = c.adapter
	}
	return all
}

// rolesOf returns what asks each platform for a user's role.
func rolesOf(connections []connection) map[chat.Platform]router.AskRole {
	all := map[chat.Platform]router.AskRole{}
	for _, c := range connections {
		if c.askRole != nil {
			all[c.adapter.Platform()] = c.askRole
		}
	}
	return all
}

// handler is what the adapters pass requests to.
type handler struct {
	*router.Router
	members *members.Members
}

// Seen implements platform.Handler.
func (h handler) Seen(user chat.User, community string, badges []string) {
	h.members.Seen(user, community, badges)
}

func (b *Bot) handler() platform.Handler { return handler{Router: b.Router, members: b.members} }

// probe returns the probe of a platform. It calls the adapter's Check, including for the platform's entries of
// MODERATOR_CHATS and CHAT_LANGUAGE, and returns its details and then the lines of each right. It fails if Check fails
// or a right has a Problem.
func (b *Bot) probe(c connection) probe {
	ask := func(ctx context.Context) ([]string, error) {
		p := c.adapter.Platform()
		entries := slices.Concat(b.cfg.moderatorEntries(p), b.cfg.languageEntries(p))
		details, rights, err := c.adapter.Check(ctx, b.Router.Commands(), entries...)
		for _, r := range rights {
			details = append(details, r.Lines()...)
			if r.Problem != "" && err == nil {
				err = &config.WrongError{Problem: r.Setting + " does not work yet: see above"}
			}
		}
		return details, err
	}
	return probe{title: c.title, url: c.url, settings: c.settings, ask: ask}
}

// moderatorEntries returns a platform's entries of MODERATOR_CHATS.
func (c *Config) moderatorEntries(p chat.Platform) []platform.Entry {
	return entriesOf("MODERATOR_CHATS", communitiesOn(p, c.ModeratorChats))
}

// languageEntries returns a platform's entries of CHAT_LANGUAGE.
func (c *Config) languageEntries(p chat.Platform) []platform.Entry {
	return entriesOf("CHAT_LANGUAGE", communitiesOn(p, c.languageChats()))
}

// languageChats returns the communities of ChatLanguages, sorted.
func (c *Config) languageChats() []string { return slices.Sorted(maps.Keys(c.ChatLanguages)) }

// communitiesOn returns the IDs of a platform's communities among chats, which are named as in MODERATOR_CHATS.
func communitiesOn(p chat.Platform, chats []string) (ids []string) {
	for _, entry := range chats {
		id, isHere := strings.CutPrefix(entry, string(p)+":")
		if isHere {
			ids = append(ids, id)
		}
	}
	return ids
}

func entriesOf(setting string, ids []string) (entries []platform.Entry) {
	for _, id := range ids {
		entries = append(entries, platform.Entry{Setting: setting, ID: id})
	}
	return entries
}

// logConnected returns a function that logs that a platform is connected, with the bot's name there.
func logConnected(log *slog.Logger, p chat.Platform) func(name string) {
	return func(name string) { log.Info("platform connected", "platform", p, "name", name) }
}

// retryLog logs failed calls that are about to be made again: at most one a minute for each platform. Connections
// that were never made count as one, for all platforms together: a call that fails every few seconds would otherwise
// keep all others out of the log.
type retryLog struct {
	log    *slog.Logger
	limits *ratelimit.Memory
}

func newRetryLog(log *slog.Logger) *retryLog {
	return &retryLog{log: log, limits: ratelimit.NewMemory()}
}

// of returns a function that logs a failed call of a platform.
func (l *retryLog) of(p chat.Platform) func(error) {
	return func(err error) {
		limit := ratelimit.Limit{Key: string(p), Burst: 1, Every: time.Minute}
		if transport.NeverSent(err) {
			limit.Key = "" // One for all platforms.
		}
		if l.limits.Allow(limit) {
			l.log.Warn("a call failed, trying again; bot check says what can be reached", "platform", p, "err", err)
		}
	}
}
