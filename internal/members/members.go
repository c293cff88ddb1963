// Package members saves addresses for people who ask for it, checks the stakes of these addresses regularly, and gives
// and removes badges accordingly: roles on Discord, tags on Telegram.
//
// A Row holds everything that is saved about a user. A check of their wallet changes the row by a pure function of each
// badge (decide). The next call to the platform follows from the row alone (next). One function makes calls (settle):
// it marks the badge as unsure in the row, makes the call, writes the result into the row, and starts again.
//
//	press ─┬─> check ─> decide ─> the row is saved ─> settle ─> the platform
//	tick ──┘                                           ^
//	forget, a command in a community ──────────────────┘
//
//	row.go        the saved row
//	tiers.go      the badges that the settings name
//	decide.go     the rule that removes a badge
//	next.go       which call comes next, and the row after it
//	settle.go     makes the calls
//	cycle.go      the tick: count, check the rows that are due, settle
//	check.go      reads stakes, and proves whose wallets they are
//	census.go     counts, and the fuse that holds badges when too many would be lost
//	release.go    how an operator overrides the fuse
//	press.go      save, forget, refresh, and commands in a community
//	community.go  rate, pause and refusals of one server or group
//	status.go     what moderators see of a community, and all rows for an operator
//	saved.go      what commands show of a user's row; lost.go: why a badge was lost
//	rows.go       loads and changes rows; formats.go, former.go: the formats of rows
//
// A badge is removed in one place, settling.call. Before that, next has returned its removal, because two checks at
// least an hour apart missed its amount, the user asked to be forgotten, or the settings no longer name it; and the
// fuse does not hold it.
//
// Every row exists because its user pressed a button. A community's refusals, pauses and fuse affect no other
// community. The package imports no platform and no service: adapters implement chat.BadgeGiver, and package app passes
// them in.
package members

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/ratelimit"
)

// Config is what Members work with. Every field is required but those of the store, and Stakes and Accounts. The
// methods All and Release need only Settings, Platforms without Adapters, Chain, Pools, Log, and those of the store.
type Config struct {
	Settings
	// Bucket opens the values of one kind; nil: no address can be saved.
	Bucket func(name string) Store
	// Former has the values of format 1; nil: there are none. FormerIsShared says that other bots may have values there.
	Former         Store
	FormerIsShared bool
	// Platforms has each platform that the bot knows.
	Platforms map[chat.Platform]Platform
	// Claims let one replica at a time settle a user.
	Claims  claim.Claims
	Limiter ratelimit.Limiter
	// Symbol is the token's symbol.
	Symbol string
	// Chain and Pools are the chain and the pools that Stakes reads.
	Chain string
	Pools []core.Pool
	// Stakes returns an answer for each wallet, in order. It blocks until all are read or failed, or ctx is done.
	// Stakes and Accounts are nil if the services that they ask are off. Then no row is checked, but /forget still works.
	Stakes   func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake]
	Accounts query.Source[core.Identity, core.Account]
	// Language is the language of notices in private chats.
	Language chat.Language
	// Count counts an event of docs/metrics.md. It must not block.
	Count func(event string)
	Log   *slog.Logger
}

// Platform is what Members know of a platform.
type Platform struct {
	// Bot is the bot's ID there. Rows belong to one bot. It is "" if the bot has no token: nothing is saved then.
	Bot string
	// Configured are the badges that the settings name, sorted by community and then by ascending amount.
	Configured []chat.Badge
	// Adapter gives and removes badges; nil: the platform is off in this process.
	Adapter chat.BadgeGiver
}

// Settings are what an operator chooses.
type Settings struct {
	// Every is how often the stake of a saved address is checked, at least 10 minutes.
	Every time.Duration
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Members", Name: "RECHECK_EVERY", Default: "6h", Example: "1h",
			Comment: "How often the stake of a saved address is checked again: 10m to 366 days.",
			Set:     config.Field(&s.Every, config.DurationBetween(10*time.Minute, 366*24*time.Hour)),
		},
	}
}

// Members saves addresses, and gives and removes badges. It is safe for concurrent use.
type Members struct {
	Config
	platforms map[chat.Platform]*platform

	mu      sync.Mutex
	running context.Context // of Run; nil: it does not run
	working sync.WaitGroup
}

// platform is a platform whose users' rows are checked.
type platform struct {
	name    chat.Platform
	bot     string
	config  *Config
	adapter chat.BadgeGiver // nil: the platform is off in this process
	tiers   tiers
	// rows and releases are nil if nothing can be saved, or the platform's token is not set.
	rows     *rows
	releases Store
	latest   *latest

	// warned is set once it is logged that rows cannot be read or written. A tick that can read them clears it.
	warned atomic.Bool
	// lastUnreadable is how many unreadable values the latest tick found. Only ticks use it.
	lastUnreadable int

	communitiesMu sync.Mutex
	communities   map[string]*community // by ID
}

// New returns Members. It contacts nobody.
func New(c Config) *Members {
	m := &Members{Config: c, platforms: map[chat.Platform]*platform{}}
	for name, of := range c.Platforms {
		m.platforms[name] = newPlatform(&m.Config, name, of)
	}
	return m
}

func newPlatform(c *Config, name chat.Platform, of Platform) *platform {
	p := &platform{
		name:        name,
		bot:         of.Bot,
		config:      c,
		adapter:     of.Adapter,
		tiers:       newTiers(c.Chain, c.Pools, of.Configured, c.Settings),
		latest:      &latest{known: map[uint64]bool{}},
		communities: map[string]*community{},
	}
	if c.Bucket == nil || p.bot == "" {
		return p
	}
	owner := string(name) + "-" + p.bot
	p.releases = c.Bucket("releases/" + owner)
	p.rows = &rows{platform: name, store: c.Bucket("members/" + owner), tiers: p.tiers, latest: p.latest}
	if c.Former != nil {
		p.rows.former = &former{
			platform: name,
			bot:      p.bot,
			store:    c.Former,
			shared:   c.FormerIsShared,
			namesAny: p.tiers.namesAny,
			tryClaim: c.tryClaim,
			release:  func(key string) { c.Claims.Release(key) },
		}
	}
	return p
}

// of returns the platform of a user, or nil if no row of theirs can be saved.
func (m *Members) of(user chat.User) *platform {
	p := m.platforms[user.Platform]
	if p == nil || p.rows == nil || checkUser(user) != nil {
		return nil
	}
	return p
}

// saving returns the platforms whose rows can be saved, by name.
func (m *Members) saving() (all []*platform) {
	for _, name := range slices.Sorted(maps.Keys(m.platforms)) {
		p := m.platforms[name]
		if p.rows != nil {
			all = append(all, p)
		}
	}
	return all
}

// on returns the platforms whose rows can be saved and that are on in this process.
func (m *Members) on() []*platform {
	return slices.DeleteFunc(m.saving(), func(p *platform) bool { return p.adapter == nil })
}

// background calls f in a goroutine, with the context of Run. It does nothing unless Run runs.
func (m *Members) background(f func(context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx := m.running
	if ctx != nil {
		m.working.Go(func() {
			m.guard(func() { f(ctx) })
		})
	}
}

// setRunning lets background work, with this context, until endRunning.
func (m *Members) setRunning(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = ctx
}

func (m *Members) endRunning() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = nil
}

// key returns the key of a limit that all communities of the platform's bot share.
func (p *platform) key(what string) string {
	return "members " + string(p.name) + " " + p.bot + " " + what
}

// communitiesFor returns the IDs of the communities that the settings name, and of those where the row has a badge.
func (p *platform) communitiesFor(r Row) []string {
	ids := p.tiers.communities()
	for _, h := range r.Badges {
		if !slices.Contains(ids, h.Community) {
			ids = append(ids, h.Community)
		}
	}
	return ids
}

// communitiesOf returns communities by their IDs.
func (p *platform) communitiesOf(ids []string) (all []*community) {
	for _, id := range ids {
		all = append(all, p.community(id))
	}
	return all
}

// Enabled reports whether addresses can be saved at all.
func (m *Members) Enabled() bool { return m.Bucket != nil }

// RecheckEvery returns how often the stake of a saved address is checked.
func (m *Members) RecheckEvery() time.Duration { return m.Every }

// Badge is a badge as people see it.
type Badge struct {
	chat.Badge
	// Name and CommunityName are "" while they are not known.
	Name, CommunityName chat.Untrusted
}

// Group returns the name of the badge's community, or words for it while the name is not known: an ID would tell a
// member nothing.
func (b Badge) Group() chat.Value {
	if b.CommunityName == "" {
		return chat.Say("group.unnamed")
	}
	return b.CommunityName
}

// badgeOf returns a badge as people see it. The settings need not name it.
func (p *platform) badgeOf(community, id string) Badge {
	shown := Badge{Badge: chat.Badge{Community: community, ID: id}}
	if b, configured := p.tiers.find(community, id); configured {
		shown.Badge = b.Badge
	}
	if p.adapter != nil {
		shown.CommunityName = p.adapter.CommunityName(community)
		name := string(p.adapter.BadgeName(community, id))
		shown.Name = chat.Untrusted(strings.TrimPrefix(name, "@")) // It pings nobody.
	}
	return shown
}

// badgeOf returns a badge of the community.
func (c *community) badgeOf(id string) Badge { return c.platform.badgeOf(c.id, id) }

// ConfiguredBadges returns the badges that the settings name in a community, by ascending amount. If community is "",
// it returns those of all communities of the platform.
func (m *Members) ConfiguredBadges(name chat.Platform, community string) (all []Badge) {
	p := m.platforms[name]
	if p == nil || p.adapter == nil {
		return nil
	}
	for _, b := range p.tiers.all {
		if community == "" || b.Community == community {
			all = append(all, p.badgeOf(b.Community, b.ID))
		}
	}
	return all
}

// CommunityName returns the name of a community, or "" while it is not known.
func (m *Members) CommunityName(name chat.Platform, community string) chat.Untrusted {
	if p := m.platforms[name]; p != nil && p.adapter != nil {
		return p.adapter.CommunityName(community)
	}
	return ""
}
