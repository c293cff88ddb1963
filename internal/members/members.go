// Package members keeps the wallets that people asked to keep, looks at their stakes again
// and again, and has those who stake wear a badge: a role on Discord, a tag on Telegram.
//
//	row.go       a kept wallet, in 57 bytes
//	rows.go      all rows, in shards of a store
//	rules.go     when a badge goes: pure functions of rows and of what was read
//	cycle.go     each row once in Every, a 64th of all rows at a time
//	badges.go    the calls to the platforms, and how often they may be made
//	members.go   what commands ask, and status.go what moderators and operators see
//
// A row exists because its person pressed a button. A badge goes after two complete "no", at
// least an hour apart by the chain's own clock; whatever could not be checked takes nothing.
// The platform is the truth of who wears a badge, and the rows are the truth of who may.
//
// The package imports no platform and no service: adapters implement chat.Badges, and package
// app passes them in.
package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
)

// Store keeps the rows. *store.Folder and *store.Redis implement it.
type Store interface {
	// Load is as in core.Store.
	Load(ctx context.Context, key string) ([]byte, error)
	// Swap saves value under key for ttl if old is saved there; an empty old stands for
	// nothing. It returns false if something else is saved, or if the outcome is not known. It
	// may return true though the disk is full.
	Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) bool
}

// Config is what Members work with. All fields but Store are required.
type Config struct {
	Settings
	// Store keeps the rows; nil: no wallet can be kept.
	Store Store
	// Claims have one of several replicas look at a row.
	Claims  chat.Dedup
	Limiter chat.Limiter
	// Bot tells this bot's limits from those of other bots in the same Limiter.
	Bot string
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
	// Every is how often a kept wallet is looked at, at least 10 minutes.
	Every time.Duration
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{Heading: "Members", Name: "RECHECK_EVERY", Default: "6h", Example: "1h",
			Comment: "How often the stake of a wallet that somebody asked to keep is looked at again; 10m at least. A role or a " +
				"tag goes after two looks that found no stake, at least an hour apart.",
			Set: config.Field(&s.Every, config.DurationBetween(10*time.Minute, 366*24*time.Hour))},
	}
}

// Members keeps wallets, and gives and takes badges. It is safe for concurrent use.
type Members struct {
	Config
	rows  *rows
	rules rules
	// returned holds users who may have come back to a community.
	returned chan returnee

	given, taken, unknown atomic.Int64

	// counted says that all rows were read once, and the missing ones counted.
	counted atomic.Bool
	// unread says that the last survey failed. Run alone uses it.
	unread bool

	mu     sync.Mutex
	badges map[chat.Platform]*badges
	// blown holds the platforms on which the last look held badges back.
	blown map[chat.Platform]bool
}

// maxReturned bounds the users who wait for Run to give them a badge. Others are dropped:
// their next command says again that they are back.
const maxReturned = 100

// New returns Members. It contacts nobody.
func New(c Config) *Members {
	r := rules{pools: poolsID(c.Chain, c.Pools), every: c.Every}
	return &Members{
		Config: c, rows: &rows{Store: c.Store, rules: r}, rules: r, badges: map[chat.Platform]*badges{},
		returned: make(chan returnee, maxReturned), blown: map[chat.Platform]bool{},
	}
}

// Use has Members give and take the badges of a platform. It must be called before Run.
func (m *Members) Use(p chat.Platform, b chat.Badges) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.badges[p] = newBadges(b, m.Config, p)
}

// on returns the badges of a platform, or nil.
func (m *Members) on(p chat.Platform) *badges {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.badges[p]
}

// Keeps reports whether wallets can be kept at all.
func (m *Members) Keeps() bool { return m.Store != nil }

// RecheckEvery returns how often a kept wallet is looked at.
func (m *Members) RecheckEvery() time.Duration { return m.Every }

// Badge returns how members see the badge that comes with a stake, such as "@Staker": that of
// the community or, if that has none, of the platform's first one. It returns "" if there is
// none, or its name is not known yet. It does not block.
func (m *Members) Badge(p chat.Platform, community string) chat.Untrusted {
	if !m.wears(p) {
		return ""
	}
	b := m.on(p)
	all := b.Communities()
	if !slices.Contains(all, community) {
		community = all[0]
	}
	return b.BadgeName(community)
}

// Kept returns the row of a user, or nil if there is none. A Forgotten row counts as none. It
// fails if the rows cannot be read, and blocks for a call to the Store.
func (m *Members) Kept(ctx context.Context, user chat.User) (*Row, error) {
	if !m.Keeps() || check(user) != nil {
		return nil, nil
	}
	row, err := m.rows.find(ctx, user)
	if row != nil && row.Forgotten {
		return nil, nil
	}
	return row, err
}

// Change is what became of a user's badge in one community.
type Change struct {
	Community string
	Badge     chat.Untrusted // as chat.Badges names it
	// Problem is why the badge was not given or taken; "": it was, or the user wore it, or
	// wore none, before.
	Problem chat.BadgeProblem
}

// ErrNotKept is the error of Keep and Forget for a row that could not be written.
var ErrNotKept = errors.New("the kept wallets cannot be written")

// Keep keeps the wallet of a user, which the caller has just seen to be theirs, in place of
// any other. If the stake is a Staker's, Keep gives the user each badge of their platform, and
// returns a Change for each community that they are in. It blocks for these calls. It fails
// if the row could not be written, and then gives nothing.
func (m *Members) Keep(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]Change, error) {
	if !m.Keeps() {
		return nil, ErrNotKept
	}
	if err := check(user); err != nil {
		return nil, err
	}
	stakes := stake.Outcome() == core.Staker
	err := m.rows.put(ctx, user, func(before *Row) Row { return m.kept(before, user, wallet, stakes) })
	if err != nil {
		return nil, err
	}
	m.Count("row_kept")
	if b := m.on(user.Platform); b != nil && stakes {
		return m.give(ctx, b, user, m.reason(stake)), nil
	}
	return nil, nil
}

// kept returns the row of a user who keeps a wallet; before is their present row, or nil. Who
// does not stake may wear no badge, but may wear the one of the wallet before, until that goes
// by the rules.
func (m *Members) kept(before *Row, user chat.User, wallet common.Address, stakes bool) Row {
	now := time.Now().UTC().Truncate(time.Second)
	row := Row{User: user, Wallet: wallet, KeptAt: now, ProvenAt: now, LookedAt: now, Pools: m.rules.pools}
	same := before != nil && before.Wallet == wallet && !before.Forgotten
	if same {
		row.KeptAt = before.KeptAt
	}
	switch {
	case stakes:
	case same:
		row.FirstNo, row.LapsedAt, row.LookedAt, row.Pools = before.FirstNo, before.LapsedAt, before.LookedAt, before.Pools
	case before == nil || !before.LapsedAt.IsZero():
		row.LapsedAt = now
	}
	return row
}

// reason is a stake in the words of an audit log, such as "stakes (21 of 21 pools, block
// 1,000,027)".
func (m *Members) reason(stake core.Stake) string {
	return fmt.Sprintf("stakes (%d of %d pools, block %s)", stake.Checked, len(m.Pools), grouped(stake.Block))
}

// grouped returns a number with commas between its thousands.
func grouped(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// give gives a user every badge of their platform.
func (m *Members) give(ctx context.Context, b *badges, user chat.User, reason string) []Change {
	changes := b.everywhere(ctx, call{user: user.ID, reason: "Herald: " + reason})
	m.given.Add(done(changes))
	m.takeUnlessAllowed(ctx, user)
	return changes
}

// takeUnlessAllowed takes the badges that a user was just given if their row does not allow them any
// more: they may have been forgotten meanwhile.
func (m *Members) takeUnlessAllowed(ctx context.Context, user chat.User) {
	row, err := m.rows.find(ctx, user)
	if err == nil && (row == nil || row.Forgotten || !row.LapsedAt.IsZero()) {
		m.take(ctx, user, "Herald: forgotten, as the member asked", 0)
	}
}

// done returns how many of the changes succeeded.
func done(changes []Change) (n int64) {
	for _, c := range changes {
		if c.Problem == "" {
			n++
		}
	}
	return n
}

// Forget takes the user's badges, and deletes their row if none is left. Otherwise the row is
// Forgotten, and goes once all could be taken. It returns a Change for each community that the
// user is in, and whether there was a row. It fails if the row could not be read or written.
func (m *Members) Forget(ctx context.Context, user chat.User) (changes []Change, had bool, err error) {
	if !m.Keeps() || check(user) != nil {
		return nil, false, nil
	}
	if row, err := m.rows.find(ctx, user); row == nil || err != nil {
		return nil, false, err
	}
	var row Row
	err = m.rows.change(ctx, shardOf(user), func(list []Row) []Row {
		if i := indexOf(list, user); i >= 0 {
			list[i].Forgotten = true
			row = list[i]
		}
		return list
	})
	if err != nil {
		return nil, true, err
	}
	changes, err = m.forget(ctx, row, 0)
	return changes, true, err
}

// forget takes the badges of a Forgotten row, and deletes the row if none is left. leaveFor is
// as in call.
func (m *Members) forget(ctx context.Context, row Row, leaveFor time.Duration) ([]Change, error) {
	changes := m.take(ctx, row.User, "Herald: forgotten, as the member asked", leaveFor)
	if !allTaken(changes) {
		return changes, nil
	}
	_, err := m.rows.replace(ctx, row, nil)
	if err == nil {
		m.Count("row_forgotten")
	}
	return changes, err
}

// take takes every badge of a user.
func (m *Members) take(ctx context.Context, user chat.User, reason string, leaveFor time.Duration) []Change {
	if !m.wears(user.Platform) {
		return nil
	}
	changes := m.on(user.Platform).everywhere(ctx, call{user: user.ID, reason: reason, take: true, leaveFor: leaveFor})
	m.taken.Add(done(changes))
	return changes
}

// Gone reports whether there is no badge for the bot to take.
func (c Change) Gone() bool {
	return c.Problem == "" || c.Problem == chat.CannotWear || c.Problem == chat.BadgeGone
}

// allTaken reports whether the user of these changes wears no badge that the bot could take.
func allTaken(changes []Change) bool {
	return !slices.ContainsFunc(changes, func(c Change) bool { return !c.Gone() })
}

// returnee is a user who may have come back to a community.
type returnee struct {
	user      chat.User
	community string
}

// Returned gives a user the badge of a community in which they wear none, if their row says
// that they may. It does not block.
func (m *Members) Returned(user chat.User, community string) {
	select {
	case m.returned <- returnee{user, community}:
	default:
	}
}

// giveBack gives the badge to who came back, unless they may wear none.
func (m *Members) giveBack(ctx context.Context, c returnee) {
	row, err := m.Kept(ctx, c.user)
	b := m.on(c.user.Platform)
	if err != nil || row == nil || !row.Stakes() || b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	reason := "Herald: stakes, and is back (looked at " + row.LookedAt.Format(time.RFC3339) + ")"
	if b.callIn(ctx, c.community, call{user: c.user.ID, reason: reason, leaveFor: m.Every}) == "" {
		m.given.Add(1)
		m.takeUnlessAllowed(ctx, c.user)
	}
}
