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

// community is a server or a group of a platform. It lets calls through: one a second, none
// while the platform asks for a pause, none once maxFailures have failed within an hour, and few
// after a refusal.
type community struct {
	*platform
	id  string
	key string // of the limits
	log *slog.Logger
	// queue holds users to be settled.
	queue chan task

	mu          sync.Mutex
	pausedUntil time.Time
	// refusals are by badge; "" is the whole community.
	refusals map[string]refusal
	// given and removed count the calls that succeeded since the start.
	given, removed int
	// blownTold says that the fuse has blown, which is logged once.
	blownTold bool
	// seen holds what users have, by their IDs, as the community was last asked.
	seen map[string]seen
}

// community returns a community, also one that the settings do not name.
func (p *platform) community(id string) *community {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.communities[id] == nil {
		p.communities[id] = &community{
			platform: p, id: id, key: p.config.Bot + " badges " + id, log: p.config.Log.With("platform", p.name),
			queue: make(chan task, maxQueue), refusals: map[string]refusal{}, seen: map[string]seen{},
		}
	}
	return p.communities[id]
}

// refusal is why a community or a badge is not called until a time.
type refusal struct {
	problem chat.BadgeProblem
	until   time.Time
}

// errTooSoon is the error of a call for which no time is left.
var errTooSoon = errors.New("the call has to wait for longer")

// refused returns what keeps a badge from being given or removed, or "".
func (c *community) refused(badge string) chat.BadgeProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, about := range []string{"", badge} {
		if r := c.refusals[about]; time.Now().Before(r.until) {
			return r.problem
		}
	}
	return ""
}

// failures is the limit of calls that fail.
func (c *community) failures() chat.Limit {
	return chat.Limit{Key: c.key + " failed", Count: maxFailures, Window: time.Hour}
}

// await blocks until a call may be made. It fails if that is not before ctx is done. After a
// refusal it fails, but for one person a minute.
func (c *community) await(ctx context.Context, badge string, by caller) error {
	if problem := c.refused(badge); problem != "" {
		ok := by == byPerson
		if ok {
			_, ok = c.config.Limiter.Reserve(ctx, 0, chat.Limit{Key: c.key + " refused", Count: 1, Window: time.Minute})
		}
		if !ok {
			return &chat.BadgeError{Problem: problem, Err: errors.New("refused a short time ago")}
		}
	}
	if wait, _ := c.config.Limiter.Reserve(ctx, -1, c.failures()); wait > 0 {
		return &chat.BadgeError{Problem: chat.BadgeFailed, Err: errors.New("too many calls have failed within an hour")}
	}
	c.mu.Lock()
	pause := time.Until(c.pausedUntil)
	c.mu.Unlock()
	within := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	if pause > within {
		return errTooSoon
	}
	wait, ok := c.config.Limiter.Reserve(ctx, within, chat.Limit{Key: c.key, Count: 1, Window: time.Second})
	if !ok || !transport.Sleep(ctx, max(wait, pause)) {
		return errTooSoon
	}
	return nil
}

// note notes and counts the outcome of a step's call for a user; nil is a success.
func (c *community) note(ctx context.Context, user string, s step, err *chat.BadgeError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, user)
	about := s.badge
	switch {
	case err == nil:
		delete(c.refusals, "")
		delete(c.refusals, s.badge)
		if s.remove {
			c.removed++
			c.config.Count("badge_removed")
		} else {
			c.given++
			c.config.Count("badge_given")
		}
		return
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		return
	case err.Problem == chat.BadgeFailed:
		c.config.Count("badge_failed")
		c.pausedUntil = time.Now().Add(err.RetryAfter)
		c.config.Limiter.Reserve(ctx, 0, c.failures())
		return
	case err.Problem == chat.MissingRight, err.Problem == chat.CommunityGone:
		about = ""
	}
	c.config.Count("badge_refused")
	if time.Now().After(c.refusals[about].until) {
		c.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
	// A cycle later, each row is tried again.
	c.refusals[about] = refusal{problem: err.Problem, until: time.Now().Add(c.config.Every * 3 / 4)}
}
