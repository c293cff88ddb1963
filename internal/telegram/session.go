package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"herald/internal/chat"
)

// How the time to drain is spent: commands still running are stopped early
// enough that what they then have to say can be sent, and sends early enough
// that the last getUpdates can tell Telegram what was answered.
const (
	stopCommands = chat.DrainTime - 3*time.Second
	stopSends    = chat.DrainTime - 1500*time.Millisecond
	stopWaiting  = chat.DrainTime - time.Second
)

// maxBackoff bounds the wait between attempts while Telegram is out of reach.
const maxBackoff = 30 * time.Second

// errToken ends Run.
var errToken = errors.New("telegram: the token was refused (401): set TELEGRAM_BOT_TOKEN to the one that @BotFather shows")

// session is one Run.
type session struct {
	*Adapter
	me     identity
	window *window
	// commandsCtx bounds the handlers and sendsCtx all calls for updates in
	// hand; both outlive the context of Run while it drains.
	commandsCtx, sendsCtx context.Context
	// fail ends the session with an error that no waiting can mend.
	fail context.CancelCauseFunc
}

// Run implements chat.Adapter.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	a.Handler = h
	for _, command := range h.Commands() {
		for _, name := range append([]string{command.Name}, command.Aliases...) {
			a.commands[name] = command
		}
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer a.ready.Store(false)
	commandsCtx, endCommands := context.WithCancel(context.WithoutCancel(ctx))
	defer endCommands()
	sendsCtx, endSends := context.WithCancel(context.WithoutCancel(ctx))
	defer endSends()
	s := &session{Adapter: a, window: newWindow(), commandsCtx: commandsCtx, sendsCtx: sendsCtx, fail: fail}

	var menu sync.WaitGroup
	defer menu.Wait()
	s.retry(ctx, "getMe", func() (err error) { s.me, err = a.whoAmI(ctx); return err })
	menu.Go(func() { s.retry(ctx, "setMyCommands", func() error { return a.setMenu(ctx) }) })
	if a.WebhookURL == "" {
		s.poll(ctx)
	} else {
		s.receive(ctx)
	}
	a.ready.Store(false)
	if errors.Is(context.Cause(ctx), errToken) {
		endCommands()
		endSends()
		s.drain(endCommands, endSends)
		return errToken
	}
	s.drain(endCommands, endSends)
	if a.WebhookURL == "" {
		s.commit()
	}
	return nil
}

// drain lets what is in hand finish.
func (s *session) drain(endCommands, endSends context.CancelFunc) {
	s.pace.drain(time.Now().Add(stopSends))
	defer time.AfterFunc(stopCommands, endCommands).Stop()
	defer time.AfterFunc(stopSends, endSends).Stop()
	late := time.NewTimer(stopWaiting)
	defer late.Stop()
	select {
	case <-s.window.close():
	case <-late.C:
	}
}

// retry calls do until it succeeds, ctx is done or the token is refused.
func (s *session) retry(ctx context.Context, what string, do func() error) {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := do()
		if err == nil || ctx.Err() != nil || s.fatal(err) {
			return
		}
		level := slog.LevelWarn
		if failures > 0 {
			level = slog.LevelDebug
		}
		s.Log.Log(ctx, level, "telegram: a call failed and will be repeated", "method", what, "err", err)
		pause(ctx, nil, backoff(failures, err))
	}
}

// fatal ends the session if err says that the token is refused.
func (s *session) fatal(err error) bool {
	if kindOf(err) != unauthorized {
		return false
	}
	s.fail(errToken)
	return true
}

// backoff grows from half a second with the failures so far, jittered so that
// replicas do not return together, and is never shorter than Telegram asks.
func backoff(failures int, err error) time.Duration {
	d := min(500*time.Millisecond<<min(failures, 10), maxBackoff)
	d = d/2 + rand.N(d/2+1)
	var e *apiError
	if errors.As(err, &e) {
		d = max(d, e.retryAfter)
	}
	return d
}

// pause waits for d, for wake or for ctx, and tells whether ctx still runs.
func pause(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// dedupKey tells apart the updates of several bots that share one store.
func (s *session) dedupKey(updateID int64) string {
	return fmt.Sprintf("telegram:update:%d:%d", s.me.ID, updateID)
}
