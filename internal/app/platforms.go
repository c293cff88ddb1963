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

// servable is a platform that Herald can serve. It holds everything that package app knows about the platform. A
// community is a Telegram group or a Discord server, and a badge is a tag or a role there.
type servable struct {
	name         chat.Platform
	tokenSetting string // the name of the setting, such as "DISCORD_BOT_TOKEN"
	// tokenSource says where an operator gets a token.
	tokenSource string
	// token is the value of tokenSetting. If it is not set, the platform is off.
	token secret.Value
	// idInToken returns the bot's ID, which is a number. If the token has an unknown form, idInToken returns any text
	// that is not a number. It is nil if the platform's tokens do not contain the bot's ID.
	idInToken func(token string) string
	// communityID is a regular expression for a community's ID. It is "" if the platform has no communities.
	communityID string
	// communityWords describes a community in an error, after "with the ID of".
	communityWords string
	// badgeSetting is the setting that lists badges. It is "" if the platform has no badges.
	badgeSetting string
	badges       []chat.Badge // the value of badgeSetting
	// connect makes the platform's adapter.
	connect func(*Config, connectionParts, *retryLog) connection
}

// platforms returns every platform, including those that are off. Settings come from c.
func (c *Config) platforms() []servable {
	return []servable{
		{
			name:           telegram.Platform,
			tokenSetting:   telegram.TokenSetting,
			tokenSource:    "@BotFather, https://t.me/BotFather",
			token:          c.Telegram.Token,
			idInToken:      idInTelegramToken,
			communityID:    `-[1-9][0-9]{0,18}`,
			communityWords: "a group, which is negative",
			badgeSetting:   "STAKER_TAGS",
			badges:         c.Telegram.StakerTags,
			connect:        newTelegram,
		},
		{
			name:           discord.Platform,
			tokenSetting:   discord.TokenSetting,
			tokenSource:    "https://discord.com/developers/applications",
			token:          c.Discord.Token,
			idInToken:      idInDiscordToken,
			communityID:    `[1-9][0-9]{0,19}`,
			communityWords: "a server",
			badgeSetting:   "STAKER_ROLES",
			badges:         c.Discord.StakerRoles,
			connect:        newDiscord,
		},
	}
}

// TokenSettings returns the setting of each platform's token.
func TokenSettings() map[chat.Platform]string {
	settings := map[chat.Platform]string{}
	for _, p := range new(Config).platforms() {
		settings[p.name] = p.tokenSetting
	}
	return settings
}

// ofEachPlatform calls text for each platform, without any settings, and returns the texts that are not empty.
func ofEachPlatform(text func(servable) string) (all []string) {
	for _, p := range new(Config).platforms() {
		if t := text(p); t != "" {
			all = append(all, t)
		}
	}
	return all
}

// connection is the adapter of a platform whose token is set.
type connection struct {
	adapter adapter
	// webhook takes the updates that the platform posts to the URL path webhookPath. It is nil if the platform posts
	// none.
	webhook     http.Handler
	webhookPath string
	// title, url and settings are fields of the platform's probe, for `bot check`.
	title, url, settings string
	// askRole asks the platform for a user's role. It is nil if every Request contains the sender's role.
	askRole router.AskRole
}

// adapter is what package app uses of a platform's adapter.
type adapter interface {
	platform.Adapter
	chat.BadgeGiver
	// InFlight returns the number of updates that are being answered.
	InFlight() int
	// Check asks the platform whether the settings work, and whether the commands are registered there. It blocks
	// meanwhile. It returns details for `bot check`, and the result of Rights.
	Check(ctx context.Context, commands chat.Commands, entries ...platform.Entry) ([]string, []platform.Right, error)
	// Rights asks the platform whether the bot may do what the settings require, and whether it is in the communities
	// of entries. It blocks meanwhile.
	Rights(ctx context.Context, entries ...platform.Entry) []platform.Right
}

// connectionParts are the parts of a Bot that its adapters use.
type connectionParts struct {
	state *state
	// status returns the price for Discord's member list. It is nil if none is shown.
	status  func(context.Context) string
	joins   *platform.JoinLog // the outcomes of join requests
	moves   *platform.Moves   // groups whose ID has changed
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
		Retried:        retries.on(telegram.Platform),
		Joins:          with.joins,
		Moves:          with.moves,
		ModeratorChats: communitiesOn(telegram.Platform, cfg.ModeratorChats),
		LanguageChats:  communitiesOn(telegram.Platform, cfg.languageChats()),
		Links:          cfg.links(),
	})
	c := connection{
		adapter:  a,
		title:    "Telegram",
		url:      cfg.Telegram.APIURL,
		settings: telegram.TokenSetting + " and TELEGRAM_API_URL",
		askRole:  a.Role,
	}
	if cfg.Telegram.WebhookPath != "" {
		c.webhook = a
		c.webhookPath = cfg.Telegram.WebhookPath
	}
	return c
}

// newDiscord makes Discord's adapter. If it uses the gateway, the metrics include the gateway's latency.
func newDiscord(cfg *Config, with connectionParts, retries *retryLog) connection {
	a := discord.New(discord.Config{
		Settings:  cfg.Discord,
		Dedup:     with.state.claims,
		Status:    with.status,
		Log:       with.log,
		Count:     with.metrics.Events(string(discord.Platform)),
		Connected: logConnected(with.log, discord.Platform),
		Retried:   retries.on(discord.Platform),
	})
	c := connection{
		adapter:  a,
		title:    "Discord",
		url:      cfg.Discord.APIURL,
		settings: discord.TokenSetting + " and DISCORD_API_URL",
	}
	if cfg.Discord.PublicKey != nil {
		c.webhook = a
		c.webhookPath = "/discord/interactions"
	} else {
		with.metrics.ExportHeartbeat(a.HeartbeatLatency)
	}
	return c
}

// badgesOf returns each platform's adapter, which gives and removes its badges.
func badgesOf(connections []connection) map[chat.Platform]chat.BadgeGiver {
	all := map[chat.Platform]chat.BadgeGiver{}
	for _, c := range connections {
		all[c.adapter.Platform()] = c.adapter
	}
	return all
}

// rolesOf returns the askRole of each platform that has one.
func rolesOf(connections []connection) map[chat.Platform]router.AskRole {
	all := map[chat.Platform]router.AskRole{}
	for _, c := range connections {
		if c.askRole != nil {
			all[c.adapter.Platform()] = c.askRole
		}
	}
	return all
}

// handler is the platform.Handler of the adapters.
type handler struct {
	*router.Router
	members *members.Members
}

// Seen implements platform.Handler.
func (h handler) Seen(user chat.User, community string, badges []string) {
	h.members.Seen(user, community, badges)
}

func (b *Bot) handler() platform.Handler { return handler{Router: b.Router, members: b.members} }

// probe returns the platform's probe, for `bot check`. Its details are the adapter's details, and then the lines about
// each right, including the entries of MODERATOR_CHATS and CHAT_LANGUAGE. It fails if the adapter's Check fails or a
// right has a Problem.
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

// languageChats returns the communities that ChatLanguages names, sorted.
func (c *Config) languageChats() []string { return slices.Sorted(maps.Keys(c.ChatLanguages)) }

// communitiesOn returns the IDs of the communities that are on the platform. For example, it returns "5" for Discord
// and the communities "telegram:-6" and "discord:5".
func communitiesOn(p chat.Platform, communities []string) (ids []string) {
	for _, name := range communities {
		id, isHere := strings.CutPrefix(name, string(p)+":")
		if isHere {
			ids = append(ids, id)
		}
	}
	return ids
}

// entriesOf returns an entry of the setting for each community ID.
func entriesOf(setting string, ids []string) (entries []platform.Entry) {
	for _, id := range ids {
		entries = append(entries, platform.Entry{Setting: setting, ID: id})
	}
	return entries
}

// logConnected returns a function that logs that a platform is connected. name is the bot's name there.
func logConnected(log *slog.Logger, p chat.Platform) func(name string) {
	return func(name string) { log.Info("platform connected", "platform", p, "name", name) }
}

// retryLog logs calls that failed and are about to be retried: at most one a minute for each platform. Calls that could
// not connect are logged at most once a minute for all platforms together. Without a network they fail every few
// seconds, and do not count against a platform's limit.
type retryLog struct {
	log    *slog.Logger
	limits *ratelimit.Memory
}

func newRetryLog(log *slog.Logger) *retryLog {
	return &retryLog{log: log, limits: ratelimit.NewMemory()}
}

// on returns a function that logs a failed call of a platform.
func (l *retryLog) on(p chat.Platform) func(error) {
	return func(err error) {
		key := string(p)
		couldNotConnect := transport.NeverSent(err)
		if couldNotConnect {
			key = "connections of all platforms"
		}
		if l.limits.Allow(ratelimit.Limit{Key: key, Burst: 1, Every: time.Minute}) {
			l.log.Warn("a call failed, trying again; bot check says what can be reached", "platform", p, "err", err)
		}
	}
}
