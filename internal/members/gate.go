package members

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/transport"
)

const (
	// maxFailures bounds the calls to a community that fail within an hour. Discord bans an
	// address after 10,000 refused calls in 10 minutes:
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
	// maxQueue bounds the users who wait for a community's worker.
	maxQueue = 1000
)

// caller is who causes a call.
type caller int

const (
	byCycle caller = iota
	byPerson
)

// gate lets calls to one community through: one a second, none while the platform asks for a
// pause, none once maxFailures have failed within an hour, and few after a refusal.
type gate struct {
	*Config
	key string // of the limits
	log *slog.Logger
	// queue holds users to be settled.
	queue chan task

	mu          sync.Mutex
	pausedUntil time.Time
	// refusals are by badge; "" is the whole community.
	refusals map[string]refusal
}

// refusal is why a community or a badge is not called until a time.
type refusal struct {
	problem chat.BadgeProblem
	until   time.Time
}

// errTooSoon is the error of a call for which no time is left.
var errTooSoon = errors.New("the call has to wait for longer")

// problemOf returns the problem of an error. It returns "" for none and for errTooSoon.
func problemOf(err error) chat.BadgeProblem {
	if err == nil || errors.Is(err, errTooSoon) {
		return ""
	}
	if failed, is := errors.AsType[*chat.BadgeError](err); is {
		return failed.Problem
	}
	return chat.BadgeFailed
}

// refused returns what keeps a badge from being given or removed, or "".
func (g *gate) refused(badge string) chat.BadgeProblem {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, about := range []string{"", badge} {
		if r := g.refusals[about]; time.Now().Before(r.until) {
			return r.problem
		}
	}
	return ""
}

// failures is the limit of calls that fail.
func (g *gate) failures() chat.Limit {
	return chat.Limit{Key: g.key + " failed", Count: maxFailures, Window: time.Hour}
}

// await blocks until a call may be made. It fails if that is not before ctx is done. After a
// refusal it fails, but for one person a minute.
func (g *gate) await(ctx context.Context, badge string, by caller) error {
	if problem := g.refused(badge); problem != "" {
		_, ok := g.Limiter.Reserve(ctx, 0, chat.Limit{Key: g.key + " refused", Count: 1, Window: time.Minute})
		if by == byCycle || !ok {
			return &chat.BadgeError{Problem: problem, Err: errors.New("refused a short time ago")}
		}
	}
	if wait, _ := g.Limiter.Reserve(ctx, -1, g.failures()); wait > 0 {
		return &chat.BadgeError{Problem: chat.BadgeFailed, Err: errors.New("too many calls have failed within an hour")}
	}
	g.mu.Lock()
	pause := time.Until(g.pausedUntil)
	g.mu.Unlock()
	within := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	if pause > within {
		return errTooSoon
	}
	wait, ok := g.Limiter.Reserve(ctx, within, chat.Limit{Key: g.key, Count: 1, Window: time.Second})
	if !ok || !transport.Sleep(ctx, max(wait, pause)) {
		return errTooSoon
	}
	return nil
}

// note notes the outcome of a call for a badge; nil is a success.
func (g *gate) note(ctx context.Context, badge string, err *chat.BadgeError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	about := badge
	switch {
	case err == nil:
		delete(g.refusals, "")
		delete(g.refusals, badge)
		return
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		return
	case err.Problem == chat.BadgeFailed:
		g.Count("badge_failed")
		g.pausedUntil = time.Now().Add(err.RetryAfter)
		g.Limiter.Reserve(ctx, 0, g.failures())
		return
	case err.Problem == chat.MissingRight, err.Problem == chat.CommunityGone:
		about = ""
	}
	g.Count("badge_refused")
	if time.Now().After(g.refusals[about].until) {
		g.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
	// A cycle later, each row is tried again.
	g.refusals[about] = refusal{problem: err.Problem, until: time.Now().Add(g.Every * 3 / 4)}
}
