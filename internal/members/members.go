// Package members saves addresses for people who ask for it, checks the stakes of these addresses regularly, and gives
// and removes badges accordingly: roles on Discord, tags on Telegram.
//
// A Row holds everything that is saved about a user. A user saves their address by pressing a button: a press. It
// checks their stake. From then on, the bot checks the stake once in each cycle, at one of its ticks.
//
// decide returns the row after a check. next returns the next call to the platform, by the row and the settings alone.
// settle makes the calls: it marks the badge as unsure in the row, makes the call, writes the result into the row, and
// starts again.
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
//	cycle.go      the tick: counts the rows, checks those that are due, and settles their users
//	check.go      reads stakes, and proves whose wallets they are
//	census.go     the count of all rows, and the fuse
//	release.go    lets an operator release badges from the fuse
//	press.go      what users do: save an address, and /forget
//	giveback.go   gives badges that are missing, after /verify or a command in a community
//	community.go  rate, pause and refusals of one server or group
//	status.go     what moderators see of a community, and all rows for an operator
//	saved.go      what commands show of a user's row
//	lost.go       why a badge was lost
//	rows.go       loads and changes rows
//	formats.go    the formats of saved rows
//	former.go     rewrites the rows of format 1
//
// A badge is removed in one place, settling.call, and only if next returns its removal. The reason is one of three: two
// checks at least an hour apart missed its amount, the user asked to be forgotten, or the settings no longer name the
// badge. While too many users would lose a badge at once, the fuse of their community holds removals: see census.go.
//
// A community's refusals, pauses and fuse affect no other community. The package imports no platform and no service:
// adapters implement chat.BadgeGiver, and package app passes them in.
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

// Config is what Members work with. A field that may be nil says so. The methods All and Release use only Settings,
// Bucket, Former, FormerIsShared, Chain, Pools, Log, and Platforms, whose Adapters may be nil.
type Config struct {
	Settings
	// Bucket opens the part of the store with this name. If Bucket is nil, no address can be saved.
	Bucket func(name string) Store
	// Former has the rows that old versions saved, in format 1 (see formats.go). It is nil if there are none.
	// FormerIsShared says that other bots may have rows there.
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
	// Stakes returns an answer for each wallet, in order. It blocks until each is read or has failed, or ctx is done.
	Stakes func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake]
	// Accounts tells whose a wallet is. Stakes and Accounts are nil if the services that they ask are off. Then no row is
	// checked, but /forget still works.
	Accounts query.Source[core.Identity, core.Account]
	// Language is the language of notices in private chats.
	Language chat.Language
	// Count counts an event of docs/metrics.md. It must not block.
	Count func(event string)
	Log   *slog.Logger
}

// Platform is what Members know of a platform.
type Platform struct {
	// Bot is the ID of the bot to which the rows belong. It is "" if the bot has no token there. Then nothing is saved.
	Bot string
	// Configured are the badges that the settings name, sorted by community and then by ascending amount.
	Configured []chat.Badge
	// Adapter gives and removes badges. It is nil if the platform is off in this process.
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

	mu      sync.Mutex      // guards running
	running context.Context // of Run; nil while it does not run
	working sync.WaitGroup  // the goroutines of background
}

// platform is a platform with the rows of its users.
type platform struct {
	name    chat.Platform
	bot     string
	config  *Config
	adapter chat.BadgeGiver // nil if the platform is off in this process
	tiers   tiers           // the configured badges
	// rows are the rows of its users, and releases the badges that an operator has released from the fuse. Both are nil if
	// nothing can be saved, or the platform's token is not set.
	rows     *rows
	releases Store
	latest   *latestCensus

	// isWarned says that it was logged that rows cannot be read or written. A tick that can read them clears it.
	isWarned atomic.Bool
	// isRewritten says that no rows of an earlier format are left, and hasTicked that a tick has succeeded. Only ticks
	// use them.
	isRewritten, hasTicked bool
	// lastUnreadable is how many unreadable values the latest tick found. Only ticks use it.
	lastUnreadable int

	communitiesMu sync.Mutex
	communities   map[string]*community // by ID
}

// New returns Members. It contacts nobody.
func New(c Config) *Members {
	m := &Members{Config: c, platforms: map[chat.Platform]*platform{}}
	for name, given := range c.Platforms {
		m.platforms[name] = newPlatform(&m.Config, name, given)
	}
	return m
}

func newPlatform(c *Config, name chat.Platform, given Platform) *platform {
	p := &platform{
		name:        name,
		bot:         given.Bot,
		config:      c,
		adapter:     given.Adapter,
		tiers:       newTiers(c.Chain, c.Pools, given.Configured, c.Settings),
		latest:      &latestCensus{known: map[uint64]bool{}},
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
			isShared: c.FormerIsShared,
			namesAny: p.tiers.namesAny,
			tryClaim: c.tryClaim,
			release:  func(key string) { c.Claims.Release(key) },
		}
	}
	return p
}

// platformOf returns the platform of a user, or nil if no row of theirs can be saved.
func (m *Members) platformOf(user chat.User) *platform {
	p := m.platforms[user.Platform]
	if p == nil || p.rows == nil || checkUser(user) != nil {
		return nil
	}
	return p
}

// savingPlatforms returns the platforms whose rows can be saved, sorted by name.
func (m *Members) savingPlatforms() (all []*platform) {
	for _, name := range slices.Sorted(maps.Keys(m.platforms)) {
		p := m.platforms[name]
		if p.rows != nil {
			all = append(all, p)
		}
	}
	return all
}

// activePlatforms returns the platforms whose rows can be saved and that are on in this process.
func (m *Members) activePlatforms() []*platform {
	return slices.DeleteFunc(m.savingPlatforms(), func(p *platform) bool { return p.adapter == nil })
}

// background calls f in a goroutine, with the context of Run. While Run does not run, background does nothing.
func (m *Members) background(f func(context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx := m.running
	if ctx == nil {
		return
	}
	m.working.Go(func() {
		m.guard(func() { f(ctx) })
	})
}

// setRunning makes background call functions with this context, until endRunning.
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

// botLimitKey returns the key of a limit that all communities of the platform's bot share. Each community also has
// limits of its own: see limitKey.
func (p *platform) botLimitKey(what string) string {
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

// badgeIn returns a badge of a community as people see it. The settings need not name it.
func (p *platform) badgeIn(community, id string) Badge {
	shown := Badge{Badge: chat.Badge{Community: community, ID: id}}
	if b, configured := p.tiers.find(community, id); configured {
		shown.Badge = b.Badge
	}
	if p.adapter != nil {
		shown.CommunityName = p.adapter.CommunityName(community)
		name := string(p.adapter.BadgeName(community, id))
		shown.Name = chat.Untrusted(strings.TrimPrefix(name, "@")) // Without the "@", the name pings nobody.
	}
	return shown
}

// badgeOf returns a badge of the community as people see it.
func (c *community) badgeOf(id string) Badge { return c.platform.badgeIn(c.id, id) }

// ConfiguredBadges returns the badges that the settings name in a community, by ascending amount. If community is "",
// it returns those of all communities of the platform.
func (m *Members) ConfiguredBadges(name chat.Platform, community string) (all []Badge) {
	p := m.platforms[name]
	if p == nil || p.adapter == nil {
		return nil
	}
	for _, b := range p.tiers.all {
		if community == "" || b.Community == community {
			all = append(all, p.badgeIn(b.Community, b.ID))
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
