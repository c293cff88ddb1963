package commandstest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/query"
	"herald/internal/ratelimit"
	"herald/internal/store"
)

// FakeMembers has what the real package members needs: a store of saved addresses, and a platform with badges. Its
// fields make them fail.
type FakeMembers struct {
	// Off says that addresses cannot be saved, as if neither DATA_DIR nor REDIS_URL were set.
	Off bool
	// Away makes every call of the store fail.
	Away bool
	// Unreadable makes every value that the store loads damaged.
	Unreadable bool
	// Badges are the badges of Telegram's groups.
	Badges []chat.Badge
	// Unnamed says that the names of badges are unknown.
	Unnamed bool
	// Problem makes every call that gives or removes a badge fail.
	Problem chat.BadgeProblem
	// Busy makes the calls that give or remove a badge wait for too long.
	Busy bool
	// Status is what moderators see.
	Status members.Status

	all    *members.Members
	values *store.Memory // nil if nothing is saved
	mu     sync.Mutex
	given  []givenBadge
}

// givenBadge is a badge that a user has.
type givenBadge struct{ user, community, id string }

var errAway = errors.New("away")

// members returns a Members that uses f as its store and its platform, and asks w about stakes.
func (f *FakeMembers) members(w *Answers) commands.Members {
	c := members.Config{
		Settings:  members.Settings{Every: 6 * time.Hour},
		Platforms: map[chat.Platform]members.Platform{"telegram": {Bot: "1", Configured: f.Badges, Adapter: f}},
		Symbol:    "TKN",
		Stakes:    w.stakes,
		Claims:    store.NewMemory(),
		Limiter:   f,
		Count:     func(string) {},
		Log:       slog.New(slog.DiscardHandler),
	}
	if !f.Off {
		c.Bucket = func(name string) members.Store { return bucket{name, f} }
	}
	f.all = members.New(c)
	return membersWithStatus{Members: f.all, fake: f}
}

// stakes returns the same Stake for each wallet.
func (w *Answers) stakes(_ context.Context, wallets []common.Address) (all []query.Answer[core.Stake]) {
	for range wallets {
		all = append(all, query.Answer[core.Stake]{Snapshot: query.Snapshot[core.Stake]{Value: w.Stake}, Err: w.StakeErr})
	}
	return all
}

// membersWithStatus is a Members whose Status is the Status of fake.
type membersWithStatus struct {
	*members.Members
	fake *FakeMembers
}

// Status implements commands.Members.
func (m membersWithStatus) Status(chat.Platform, string) (members.Status, error) {
	if m.fake.Away {
		return members.Status{}, errAway
	}
	return m.fake.Status, nil
}

// checkAll checks every saved address as if six hours had passed since the last check.
func (f *FakeMembers) checkAll(t *testing.T) {
	t.Helper()
	if err := f.all.CheckAll(t.Context(), 6*time.Hour); err != nil {
		t.Error(err)
	}
}

// Empty deletes every saved address, like a Redis that lost its data. Nobody loses a badge.
func (f *FakeMembers) Empty() { f.values = nil }

// bucket is a members.Store. fake can make it unavailable, unreadable or empty.
type bucket struct {
	name string
	fake *FakeMembers
}

// values returns the bucket in memory.
func (b bucket) values() store.Bucket {
	if b.fake.values == nil {
		b.fake.values = store.NewMemory()
	}
	return b.fake.values.Bucket(b.name)
}

// Load implements members.Store.
func (b bucket) Load(ctx context.Context, key string) ([]byte, error) {
	if b.fake.Away {
		return nil, errAway
	}
	if b.fake.Unreadable {
		return []byte("damaged"), nil
	}
	return b.values().Load(ctx, key)
}

// Replace implements members.Store.
func (b bucket) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if b.fake.Away {
		return false, errAway
	}
	return b.values().Replace(ctx, key, old, value)
}

// Each implements members.Store.
func (b bucket) Each(ctx context.Context, f func(value []byte)) error { return b.values().Each(ctx, f) }

// Holders returns the IDs of the users who have a badge. A user with two badges is listed twice.
func (f *FakeMembers) Holders() (users []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.given {
		users = append(users, g.user)
	}
	return users
}

// Worn returns the badges that a user has in a group. It implements chat.BadgeGiver.
func (f *FakeMembers) Worn(_ context.Context, community, user string) (ids []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.Badges {
		if slices.Contains(f.given, givenBadge{user, community, b.ID}) {
			ids = append(ids, b.ID)
		}
	}
	return ids, nil
}

// Give implements chat.BadgeGiver.
func (f *FakeMembers) Give(_ context.Context, community, id, user, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Problem != "" {
		return &chat.BadgeError{Problem: f.Problem, Err: errAway}
	}
	given := givenBadge{user, community, id}
	if !slices.Contains(f.given, given) {
		f.given = append(f.given, given)
	}
	return nil
}

// Remove implements chat.BadgeGiver.
func (f *FakeMembers) Remove(_ context.Context, community, id, user, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Problem != "" {
		return &chat.BadgeError{Problem: f.Problem, Err: errAway}
	}
	removed := givenBadge{user, community, id}
	f.given = slices.DeleteFunc(f.given, func(g givenBadge) bool { return g == removed })
	return nil
}

// OneEach implements chat.BadgeGiver.
func (f *FakeMembers) OneEach() bool { return true }

// BadgeName implements chat.BadgeGiver. The name of a badge is its ID.
func (f *FakeMembers) BadgeName(_, id string) chat.Untrusted {
	if f.Unnamed {
		return ""
	}
	return chat.Untrusted(id)
}

// CommunityName implements chat.BadgeGiver.
func (f *FakeMembers) CommunityName(community string) chat.Untrusted {
	return map[string]chat.Untrusted{Community: "Token talk", Stakers: "Staking lounge"}[community]
}

// Notify implements chat.BadgeGiver.
func (f *FakeMembers) Notify(context.Context, string, *chat.Reply) {}

// Reserve implements ratelimit.Limiter.
func (f *FakeMembers) Reserve(context.Context, time.Duration, ...ratelimit.Limit) (wait time.Duration, ok bool) {
	return 0, !f.Busy
}

// Peek implements ratelimit.Limiter.
func (f *FakeMembers) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }
