// Package members keeps the wallets that people asked to keep, looks at their stakes again
// and again, and has those who stake wear a badge: a role on Discord, a tag on Telegram.
//
//	row.go       a kept wallet, in 57 bytes
//	rows.go      all rows, in shards of a store
//	rules.go     when a badge goes: pure functions of rows and of what was read
//	cycle.go     each row once in Every, a 64th of all rows at a time
//	badges.go    the calls to the platforms, and how often they may be made
//	members.go   what commands ask
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
	"log/slog"
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
	// nothing. It returns false if something else is saved, or if the outcome is not known.
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
type Members struct{ Config }

// New returns Members. It contacts nobody.
func New(c Config) *Members { return &Members{c} }

// Use has Members give and take the badges of a platform. It must be called before Run.
func (m *Members) Use(p chat.Platform, b chat.Badges) {}

// Run looks at the rows, and blocks until ctx is done.
func (m *Members) Run(ctx context.Context) { <-ctx.Done() }

// Keeps reports whether wallets can be kept at all.
func (m *Members) Keeps() bool { return m.Store != nil }

// RecheckEvery returns how often a kept wallet is looked at.
func (m *Members) RecheckEvery() time.Duration { return m.Every }

// Badge returns how members see the badge of a community, such as "@Staker". It returns "" if
// the community has none, or its name is not known yet. It does not block.
func (m *Members) Badge(p chat.Platform, community string) chat.Untrusted { return "" }

// Kept returns the row of a user, or nil if there is none. A Forgotten row counts as none. It
// fails if the rows cannot be read, and blocks for a call to the Store.
func (m *Members) Kept(ctx context.Context, user chat.User) (*Row, error) { return nil, nil }

// Change is what became of a user's badge in one community.
type Change struct {
	Community string
	Badge     chat.Untrusted // as Members.Badge returns it
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
	return nil, ErrNotKept
}

// Forget takes the user's badges, and deletes their row if none is left. Otherwise the row is
// Forgotten, and goes once all could be taken. It returns a Change for each community that the
// user is in, and whether there was a row. It fails if the row could not be read or written.
func (m *Members) Forget(ctx context.Context, user chat.User) (changes []Change, had bool, err error) {
	return nil, false, nil
}

// Returned gives a user the badge of a community in which they wear none, if their row says
// that they may. It does not block.
func (m *Members) Returned(user chat.User, community string) {}

// Status is what moderators see.
type Status struct {
	// Rows counts the kept wallets, and Looked those whose stake was known within the last
	// Every.
	Rows, Looked int
	// Given, Taken and Unknown count badges given, badges taken, and looks without a result,
	// since the start of this process.
	Given, Taken, Unknown int64
	Held                  []Held
	Worn                  []Worn
}

// Held says that nobody on a platform loses a badge, because too many would.
type Held struct {
	Platform chat.Platform
	// Losing of Holders would lose it.
	Losing, Holders int
}

// Worn says how many users wear the badge of a community, as the platform tells.
type Worn struct {
	Badge   chat.Untrusted
	Wearers int
	// Holders counts the rows of the platform whose users may wear it.
	Holders int
}

// Status returns what the last look at all rows found. It asks the platform p how many wear
// its badges, and blocks for that. It fails if the rows could not be read.
func (m *Members) Status(ctx context.Context, p chat.Platform) (Status, error) { return Status{}, nil }

// All returns every row, sorted by platform and user. It fails if one cannot be read, and then
// returns the others.
func (m *Members) All(ctx context.Context) ([]Row, error) { return nil, nil }

// Release lets the next looks take the badges that are held back now. It returns how many
// that are.
func (m *Members) Release(ctx context.Context) (int, error) { return 0, nil }
