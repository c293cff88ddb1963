package commandstest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
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

// Saved is a platform with badges, and a store of members' addresses. The real package members uses both.
type Saved struct {
	// Off says that addresses cannot be saved, as if neither DATA_DIR nor REDIS_URL were set.
	Off bool
	// Away makes every call of the store fail. Unreadable makes every value that it loads damaged.
	Away       bool
	Unreadable bool
	// Badges are the badges of Telegram's groups. Unnamed says that their names are unknown.
	Badges  []chat.Badge
	Unnamed bool
	// Problem makes every call that gives or removes a badge fail. Busy makes each of them wait too long.
	Problem chat.BadgeProblem
	Busy    bool
	// Status is what moderators see.
	Status members.Status

	all    *members.Members
	values *store.Memory // nil if nothing is saved
	mu     sync.Mutex
	has    []string // "user community badge"
}

var errAway = errors.New("away")

// bucket is a members.Store that saved can make unavailable, unreadable or empty.
type bucket struct {
	name  string
	saved *Saved
}

// values returns the bucket in memory.
func (b bucket) values() store.Bucket {
	if b.saved.values == nil {
		b.saved.values = store.NewMemory()
	}
	return b.saved.values.Bucket(b.name)
}

// Empty deletes every saved address, like a Redis that lost its data. Nobody loses a badge.
func (s *Saved) Empty() { s.values = nil }

// Load implements members.Store.
func (b bucket) Load(ctx context.Context, key string) ([]byte, error) {
	if b.saved.Away {
		return nil, errAway
	}
	if b.saved.Unreadable {
		return []byte("damaged"), nil
	}
	return b.values().Load(ctx, key)
}

// Replace implements members.Store.
func (b bucket) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if b.saved.Away {
		return false, errAway
	}
	return b.values().Replace(ctx, key, old, value)
}

// Each implements members.Store.
func (b bucket) Each(ctx context.Context, f func(value []byte)) error { return b.values().Each(ctx, f) }

// Worn returns the badges that a user has in a group. It implements chat.BadgeGiver.
func (s *Saved) Worn(_ context.Context, community, user string) (ids []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.Badges {
		if slices.Contains(s.has, user+" "+community+" "+b.ID) {
			ids = append(ids, b.ID)
		}
	}
	return ids, nil
}

// Holders returns the IDs of the users who have a badge. A user with two badges is listed twice.
func (s *Saved) Holders() (users []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range s.has {
		user, _, _ := strings.Cut(entry, " ")
		users = append(users, user)
	}
	return users
}

// OneEach implements chat.BadgeGiver.
func (s *Saved) OneEach() bool { return true }

// BadgeName implements chat.BadgeGiver.
func (s *Saved) BadgeName(_, id string) chat.Untrusted {
	if s.Unnamed {
		return ""
	}
	return chat.Untrusted(id)
}

// CommunityName implements chat.BadgeGiver.
func (s *Saved) CommunityName(community string) chat.Untrusted {
	return map[string]chat.Untrusted{Community: "Token talk", Stakers: "Staking lounge"}[community]
}

// Give implements chat.BadgeGiver.
func (s *Saved) Give(_ context.Context, community, id, user, _ string) error {
	return s.set(user+" "+community+" "+id, true)
}

// Remove implements chat.BadgeGiver.
func (s *Saved) Remove(_ context.Context, community, id, user, _ string) error {
	return s.set(user+" "+community+" "+id, false)
}

func (s *Saved) set(entry string, has bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Problem != "" {
		return &chat.BadgeError{Problem: s.Problem, Err: errAway}
	}
	s.has = slices.DeleteFunc(s.has, func(e string) bool { return e == entry })
	if has {
		s.has = append(s.has, entry)
	}
	return nil
}

// Reserve implements ratelimit.Limiter.
func (s *Saved) Reserve(context.Context, time.Duration, ...ratelimit.Limit) (wait time.Duration, ok bool) {
	return 0, !s.Busy
}

// Peek implements ratelimit.Limiter.
func (s *Saved) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

// Notify implements chat.BadgeGiver.
func (s *Saved) Notify(context.Context, string, *chat.Reply) {}

// saving is a Members whose Status is set.
type saving struct {
	*members.Members
	saved *Saved
}

// Status returns the Status of saved.
func (s saving) Status(chat.Platform, string) (members.Status, error) {
	if s.saved.Away {
		return members.Status{}, errAway
	}
	return s.saved.Status, nil
}

// members returns a Members that uses s as its platform and store, and asks w about stakes.
func (s *Saved) members(w *Answers) commands.Members {
	c := members.Config{
		Settings:  members.Settings{Every: 6 * time.Hour},
		Platforms: map[chat.Platform]members.Platform{"telegram": {Bot: "1", Configured: s.Badges, Adapter: s}},
		Symbol:    "TKN",
		Stakes:    w.stakes,
		Claims:    store.NewMemory(),
		Limiter:   s,
		Count:     func(string) {},
		Log:       slog.New(slog.DiscardHandler),
	}
	if !s.Off {
		c.Bucket = func(name string) members.Store { return bucket{name, s} }
	}
	m := members.New(c)
	s.all = m
	return saving{Members: m, saved: s}
}

// stakes returns the same Stake for each wallet.
func (w *Answers) stakes(_ context.Context, wallets []common.Address) (all []query.Answer[core.Stake]) {
	for range wallets {
		all = append(all, query.Answer[core.Stake]{Snapshot: query.Snapshot[core.Stake]{Value: w.Stake}, Err: w.StakeErr})
	}
	return all
}

// later checks every saved address as if six hours had passed since the last check.
func (s *Saved) later(t *testing.T) {
	t.Helper()
	if err := s.all.CheckAll(t.Context(), 6*time.Hour); err != nil {
		t.Error(err)
	}
}
