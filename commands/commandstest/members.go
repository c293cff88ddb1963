package commandstest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/members"
)

// Kept says what is kept of members. Wallets are kept by the real package members.
type Kept struct {
	// Off keeps nothing, as without DATA_DIR and REDIS_URL.
	Off bool
	// Away makes every reading and writing of rows fail.
	Away bool
	// Badge is that of Community, "" for none, and Problem that of every call for it.
	Badge   chat.Untrusted
	Problem chat.BadgeProblem
	// Status is what moderators see.
	Status members.Status

	mu     sync.Mutex
	values map[string][]byte
	worn   []string // by whom
}

var errAway = errors.New("away")

// Load implements members.Store.
func (k *Kept) Load(_ context.Context, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Away {
		return nil, errAway
	}
	return k.values[key], nil
}

// Swap implements members.Store.
func (k *Kept) Swap(_ context.Context, key string, old, value []byte, _ time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Away || string(k.values[key]) != string(old) {
		return false
	}
	if k.values == nil {
		k.values = map[string][]byte{}
	}
	k.values[key] = value
	return true
}

// Worn returns who wears the badge.
func (k *Kept) Worn() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.worn)
}

// Communities implements chat.Badges.
func (k *Kept) Communities() []string {
	if k.Badge == "" {
		return nil
	}
	return []string{Community}
}

// BadgeName implements chat.Badges.
func (k *Kept) BadgeName(string) chat.Untrusted { return k.Badge }

// Give implements chat.Badges.
func (k *Kept) Give(_ context.Context, _, user, _ string) error { return k.set(user, true) }

// Take implements chat.Badges.
func (k *Kept) Take(_ context.Context, _, user, _ string) error { return k.set(user, false) }

func (k *Kept) set(user string, wears bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Problem != "" {
		return &chat.BadgeError{Problem: k.Problem, Err: errAway}
	}
	k.worn = slices.DeleteFunc(k.worn, func(id string) bool { return id == user })
	if wears {
		k.worn = append(k.worn, user)
	}
	return nil
}

// Wearers implements chat.Badges.
func (k *Kept) Wearers(context.Context, string) (int, error) { return 0, errAway }

// Notify implements chat.Badges.
func (k *Kept) Notify(context.Context, string, chat.Reply) {}

// keeping is a Members with a Status of its own.
type keeping struct {
	*members.Members
	kept *Kept
}

func (k keeping) Status(context.Context, chat.Platform) (members.Status, error) {
	if k.kept.Away {
		return members.Status{}, errAway
	}
	return k.kept.Status, nil
}

// members returns what keeps wallets as k says.
func (k *Kept) members() commands.Members {
	c := members.Config{
		Settings: members.Settings{Every: 6 * time.Hour}, Limiter: limit(0), Count: func(string) {}, Log: slog.New(slog.DiscardHandler),
	}
	if !k.Off {
		c.Store = k
	}
	m := members.New(c)
	m.Use("telegram", k)
	return keeping{Members: m, kept: k}
}
