package telegram

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// The owner of the bot may change its name with @BotFather while it runs. Another bot may then take the old name.
const (
	// nameEvery is how often the bot asks Telegram for its own name.
	nameEvery = time.Hour
	// nameGap is the minimum time between two such calls.
	nameGap = time.Minute
)

// me returns the bot as Telegram last described it. Its ID never changes.
func (s *session) me() *models.User { return s.self.Load() }

// watchName asks for the bot's name every nameEvery, less up to a tenth. It blocks until ctx is done.
func (s *session) watchName(ctx context.Context) {
	for transport.Sleep(ctx, nameEvery-rand.N(nameEvery/10)) {
		s.askName(ctx)
	}
}

// askName asks Telegram for the bot's name, unless the last call was less than nameGap ago. It blocks during the call,
// including a call that another goroutine makes. If the call fails, the name stays.
func (s *session) askName(ctx context.Context) {
	select {
	case s.naming <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.naming }()
	if !s.limits.Allow(ratelimit.Limit{Key: "name", Burst: 1, Every: nameGap}) {
		return
	}
	me, err := s.adapter.api.GetMe(ctx)
	if err != nil {
		s.adapter.Log.Debug("telegram: the bot's name could not be asked for", "err", err)
		return
	}
	if me.ID != s.me().ID || me.Username == "" {
		s.adapter.Log.Warn("telegram: getMe describes another bot")
		return
	}
	if before := s.self.Swap(me); before.Username != me.Username {
		s.adapter.Log.Info("telegram: the bot has another name", "name", "@"+me.Username)
	}
}

// parseRenamed parses u. If u has a known command for a bot with another name, it first asks Telegram for the name of
// this bot, which may have changed.
func (s *session) parseRenamed(u *update) *command {
	me := s.me()
	if isForAnotherName(u.Message, me, s.work.Handler.Commands()) {
		s.askName(s.work.Commands)
		me = s.me()
	}
	return parse(u, me, s.work.Handler)
}
