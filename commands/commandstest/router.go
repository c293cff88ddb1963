package commandstest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/ratelimit"
	"herald/internal/router"
)

// Router returns a Router whose commands ask the Sources of w. Its language is English, and it limits no command.
func (w *Answers) Router(t testing.TB) *router.Router { return w.router(t, noWait, chat.English) }

// router returns a Router whose commands ask the Sources of w. Each command has to wait as long as the limiter says.
func (w *Answers) router(t testing.TB, limiter fixedWait, l chat.Language) *router.Router {
	t.Helper()
	r, err := router.New(router.Config{
		Commands:       commands.All(w.Sources(), w.Options),
		Operators:      []chat.User{{Platform: "telegram", ID: Operator}},
		ModeratorChats: []string{"telegram:" + Community},
		Roles:          map[chat.Platform]router.AskRole{"telegram": roleOf},
		Timeout:        time.Minute,
		Limiter:        limiter,
		UserPerMinute:  1,
		Language:       l,
		Nearest:        config.Nearest,
		Explain:        commands.Explain,
		Log:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// roleOf returns the role of a user whose Request has none. Only Ann moderates.
func roleOf(_ context.Context, user chat.User, _ string) (chat.Role, error) {
	if user.ID == Ann {
		return chat.Moderator, nil
	}
	return chat.Member, nil
}

// fixedWait is a ratelimit.Limiter that always returns this wait.
type fixedWait time.Duration

const noWait fixedWait = 0

// Reserve implements ratelimit.Limiter.
func (l fixedWait) Reserve(context.Context, time.Duration, ...ratelimit.Limit) (wait time.Duration, ok bool) {
	return time.Duration(l), true
}

// Peek implements ratelimit.Limiter.
func (l fixedWait) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }
