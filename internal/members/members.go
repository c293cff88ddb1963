// Package members saves addresses for people who ask for it, checks the stakes of these
// addresses again and again, and has badges follow: roles on Discord, tags on Telegram.
//
//	press ─┬─> check ─> decide(row, check) ─┬─> save ─> settle(user)
//	cycle ─┘   (range)   (pure, a table)    │   (row)   (the platform follows the row)
//	forget ─────────────────────────────────┘
//
//	row.go       a saved address, and the badges that were given with it
//	decide.go    when a level rises and falls: pure functions of rows and checks
//	rows.go      all rows, in shards of a Store
//	settle.go    the one loop that gives and removes, and which call comes next
//	community.go how often one community may be called
//	fuse.go      when too many would lose a badge of a community
//	cycle.go     each row checked once in Every, a 64th of all rows at a time
//	returned.go  who came back to a community
//	members.go   what commands ask, and status.go what people see
//
// A row exists because its person pressed a button. A community's refusals, pauses and losses
// affect no other community.
//
// The package imports no platform and no service: adapters implement chat.Badges, and package
// app passes them in.
package members

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/ratelimit"
)

// Config is what Members work with. Every field but Store is required. The methods All and Release
// need only Settings, Store, Badges, Chain, Pools, Count and Log.
type Config struct {
	Settings
	// Store keeps the rows; nil: no address can be saved.
	Store Store
	// Badges are those that the settings name, by platform, sorted by community and then by
	// ascending amount.
	Badges map[chat.Platform][]chat.Badge
	// Claims let one replica at a time check a row, and settle a user.
	Claims  chat.Dedup
	Limiter ratelimit.Limiter
	// Bot tells this bot's limits from those of other bots in the same Limiter.
	Bot string
	// Symbol is the token's.
	Symbol string
	// Chain and Pools are those that Stakes reads.
	Chain string
	Pools []core.Pool
	// Stakes returns an answer for each wallet, in order. It blocks until all are read or
	// failed, or ctx is done.
	Stakes   func(ctx context.Context, wallets []common.Address) []core.Answer[core.Stake]
	Accounts core.Source[core.Identity, core.Account]
	// Language is that of notices in private chats.
	Language chat.Language
	// Count is called with an event of docs/metrics.md. It must not block.
	Count func(event string)
	Log   *slog.Logger
}

// Settings are what an operator chooses.
type Settings struct {
	// Every is how often the stake of a saved address is checked, at least 10 minutes.
	Every time.Duration
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{Heading: "Members", Name: "RECHECK_EVERY", Default: "6h", Example: "1h",
			Comment: "How often the stake of a saved address is checked again: 10m to 366 days.",
			Set:     config.Field(&s.Every, config.DurationBetween(10*time.Minute, 366*24*time.Hour))},
	}
}

// Members saves addresses, and gives and removes badges. It is safe for concurrent use.
type Members struct {
	Config
	rows      *rows
	platforms map[chat.Platform]*platform
}

// platform is a platform whose users' rows are checked.
type platform struct {
	levels
	chat.Badges // nil: the platform is off in this process
	config      *Config
	name        chat.Platform

	communitiesMu sync.Mutex
	communities   map[string]*community // by ID
}

// New returns Members. It contacts nobody.
func New(c Config) *Members {
	m := &Members{Config: c, platforms: map[chat.Platform]*platform{}}
	m.rows = &rows{Config: &m.Config, countRows: m.countRows, total: tallies{}}
	for _, name := range platforms {
		m.platforms[name] = &platform{
			config: &m.Config, name: name, levels: newLevels(c.Chain, c.Pools, c.Badges[name], c.Every), communities: map[string]*community{},
		}
	}
	return m
}

// Use sets the Badges through which Members gives and removes on a platform. It must be called before
// Run.
func (m *Members) Use(name chat.Platform, b chat.Badges) { m.platforms[name].Badges = b }

// on returns the platforms that are on in this process.
func (m *Members) on() (all []*platform) {
	for _, name := range platforms {
		if p := m.platforms[name]; p.Badges != nil {
			all = append(all, p)
		}
	}
	return all
}

// named returns the IDs of the communities that the settings name, in order.
func (p *platform) named() (ids []string) {
	for _, b := range p.badges {
		ids = append(ids, b.Community)
	}
	return slices.Compact(ids)
}

// Enabled reports whether addresses can be saved at all.
func (m *Members) Enabled() bool { return m.Store != nil }

// RecheckEvery returns how often the stake of a saved address is checked.
func (m *Members) RecheckEvery() time.Duration { return m.Every }

// Badge is a badge as people see it.
type Badge struct {
	chat.Badge
	// Name and CommunityName are "" while they are not known.
	Name, CommunityName chat.Untrusted
}

// Group returns the name of the badge's community, or words that stand for it while the name is not
// known. An ID would tell a member nothing.
func (b Badge) Group() chat.Value {
	if b.CommunityName == "" {
		return chat.Say("group.unnamed")
	}
	return b.CommunityName
}

// badgeOf returns a badge, also one that the settings do not name.
func (p *platform) badgeOf(community, id string) Badge {
	b, _ := p.badge(community, id)
	shown := Badge{Badge: b}
	if p.Badges != nil {
		shown.CommunityName = p.CommunityName(community)
		shown.Name = chat.Untrusted(strings.TrimPrefix(string(p.BadgeName(community, id)), "@")) // It pings nobody.
	}
	return shown
}

// Badges returns the badges of a community, or with "" of the platform, by ascending amount.
func (m *Members) Badges(name chat.Platform, community string) (all []Badge) {
	p := m.platforms[name]
	if p == nil || p.Badges == nil {
		return nil
	}
	for _, b := range p.badges {
		if community == "" || b.Community == community {
			all = append(all, p.badgeOf(b.Community, b.ID))
		}
	}
	return all
}

// CommunityName returns the name of a community, or "" while it is not known.
func (m *Members) CommunityName(name chat.Platform, community string) chat.Untrusted {
	if p := m.platforms[name]; p != nil && p.Badges != nil {
		return p.CommunityName(community)
	}
	return ""
}

// offerTime bounds how long a card waits for the badges that it offers.
const offerTime = 2 * time.Second

// Offer returns the badges that Save would give a user with this stake: in the community here,
// where they are or are just let in, and in each other one that they are in. It asks each whether
// they are in it, once a minute, and blocks for offerTime at most. A community that does not answer
// counts as one that they are in: nobody is given a badge that they did not read of.
func (m *Members) Offer(ctx context.Context, user chat.User, here string, stake core.Stake) []Badge {
	p := m.platforms[user.Platform]
	if !m.Enabled() || checkUser(user) != nil || p.Badges == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	found := finding{least: p.finding(stake, nil).least, most: p.highest()}
	row := p.decide(Row{User: user, Wallet: common.Address{1}}, found, time.Now())
	return inEach(m, p.concerned(row), func(c *community) (offered []Badge) {
		ids := p.wanted(row, c.id)
		if len(ids) == 0 {
			return nil
		}
		if _, err := c.has(ctx, user.ID); absent(err, c.id == here) {
			return nil
		}
		if p.OneEach() {
			ids = ids[len(ids)-1:]
		}
		for _, id := range ids {
			offered = append(offered, p.badgeOf(c.id, id))
		}
		return offered
	})
}

// inEach returns what f returns for each community, in order. It calls f for all at once, and
// blocks until all calls have returned.
func inEach[T any](m *Members, communities []*community, f func(*community) []T) []T {
	found := make([][]T, len(communities))
	var calling sync.WaitGroup
	for i, c := range communities {
		calling.Go(func() {
			m.guard(func() { found[i] = f(c) })
		})
	}
	calling.Wait()
	return slices.Concat(found...)
}

// Save saves the wallet of a user, which the caller has just seen to be theirs, in place of any
// other. It has their badges follow, and returns what became of these. It blocks for
// settleTime at most; what takes longer follows by itself. It fails if the row could not be
// written, and then gives nothing.
func (m *Members) Save(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]Change, error) {
	return m.saveWallet(ctx, user, wallet, stake, func(*Row) bool { return true })
}

// saveWallet is Save, but does nothing if replace returns false for the row, which may be nil.
func (m *Members) saveWallet(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake, replace func(*Row) bool) ([]Change, error) {
	if !m.Enabled() {
		return nil, ErrNotSaved
	}
	if err := checkUser(user); err != nil {
		return nil, err
	}
	p := m.platforms[user.Platform]
	c := p.finding(stake, nil)
	c.press = true
	saved := false
	row, err := m.rows.update(ctx, user, func(r *Row) *Row {
		now := time.Now()
		if saved = replace(r); !saved {
			return r
		}
		if r == nil {
			r = &Row{User: user}
		}
		if r.Forgotten() { // Badges that wait for their removal give no level.
			r.List = p.listHash
		}
		if r.Wallet != wallet { // What was found of another wallet says nothing of this one.
			r.SavedAt, r.Block, r.Lost = timeOf(now), Time{}, nil
		}
		if r.Lost != nil && r.Lost.Disowned {
			r.Lost = nil
		}
		r.Wallet, r.ProvenAt = wallet, timeOf(now)
		r.dropAbsent()
		return new(p.decide(*r, c, now))
	})
	if err != nil || !saved {
		return nil, err
	}
	m.Count("address_saved")
	return m.settleAll(ctx, p, *row), nil
}

// settleTime bounds how long a person waits for calls.
const settleTime = 10 * time.Second

// settleAll settles a row in every community at once, for a person who waits. It has what is
// left follow.
func (m *Members) settleAll(ctx context.Context, p *platform, r Row) []Change {
	if p.Badges == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return inEach(m, p.concerned(r), func(c *community) []Change {
		changes := m.settle(ctx, c, r.User, byPerson)
		if n := len(changes); n > 0 && (changes[n-1].Later || changes[n-1].Problem == chat.BadgeFailed) {
			c.enqueue(task{user: r.User})
		}
		return changes
	})
}

// Forgotten is what Forget did.
type Forgotten struct {
	// Wallet is the address that was deleted; zero: none was saved.
	Wallet  common.Address
	Changes []Change
}

// Forget deletes the address and the times that are saved of a user at once, and the rest once
// their badges are removed. It blocks for settleTime at most. It fails if the row could not be
// written.
func (m *Members) Forget(ctx context.Context, user chat.User) (f Forgotten, err error) {
	if !m.Enabled() || checkUser(user) != nil {
		return f, nil
	}
	row, err := m.rows.update(ctx, user, func(r *Row) *Row {
		if r == nil {
			return nil
		}
		f.Wallet = r.Wallet
		if r.forget(); len(r.Given) == 0 {
			return nil
		}
		return r
	})
	if err != nil {
		return f, err
	}
	if row != nil || f.Wallet != (common.Address{}) {
		m.Count("address_deleted")
	}
	if row != nil {
		f.Changes = m.settleAll(ctx, m.platforms[user.Platform], *row)
	}
	return f, nil
}
