package members

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

const (
	// maxFailures bounds the calls to a community that fail as BadgeFailed within an hour, such as
	// those answered with 429. After a 403, mayRetry bounds the calls. Discord bans an address
	// after 10,000 answers of 401, 403 or 429 in 10 minutes:
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
	// maxWait bounds the wait for a call if its context has no deadline.
	maxWait = time.Minute
	// maxQueue bounds the users who wait for a community's worker.
	maxQueue = 1000
)

// caller is who causes a call.
type caller int

const (
	byCycle caller = iota
	byPerson
)

// community is a server or a group of a platform, and bounds the calls that give or remove there: one
// a second, none while the platform asks for a pause, none once maxFailures have failed within an
// hour, and few after a refusal.
type community struct {
	*platform
	id        string
	limitsKey string // the beginning of the keys of its limits
	log       *slog.Logger
	queue     chan task
	blown     atomic.Bool // whether the fuse had blown at the last reportFuse

	mu          sync.Mutex // of the fields below
	pausedUntil time.Time
	refusals    map[string]refusal // by badge, or wholeCommunity
	// gives and removals count the calls that succeeded since the start.
	gives, removals int
	// lastSeen holds by user ID what the platform last said that a user has.
	lastSeen map[string]*seen
}

// wholeCommunity stands for every badge of a community.
const wholeCommunity = ""

// community returns a community, also one that the settings do not name.
func (p *platform) community(id string) *community {
	p.communitiesMu.Lock()
	defer p.communitiesMu.Unlock()
	if p.communities[id] == nil {
		p.communities[id] = &community{
			platform: p, id: id, limitsKey: p.config.Bot + " badges " + id, log: p.config.Log.With("platform", p.name),
			queue: make(chan task, maxQueue), refusals: map[string]refusal{}, lastSeen: map[string]*seen{},
		}
	}
	return p.communities[id]
}

// refusal is why the platform refused a call.
type refusal struct {
	problem chat.BadgeProblem
	until   time.Time // then the cycle calls again
}

// refused returns why a call for a badge, or for any badge of the community, was refused a short
// time ago, or "".
func (c *community) refused(badge string) chat.BadgeProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range []string{wholeCommunity, badge} {
		if r := c.refusals[key]; time.Now().Before(r.until) {
			return r.problem
		}
	}
	return ""
}

// await blocks until a call for a badge may be made. It fails with a *chat.BadgeError if earlier
// calls were refused or failed, and otherwise as waitTurn does.
func (c *community) await(ctx context.Context, badge string, by caller) error {
	if problem := c.refused(badge); problem != "" && !c.mayRetry(ctx, by) {
		return &chat.BadgeError{Problem: problem, Err: errors.New("refused a short time ago")}
	}
	if c.config.Limiter.Peek(ctx, c.failureLimit()) > 0 {
		return &chat.BadgeError{Problem: chat.BadgeFailed, Err: errors.New("too many calls have failed within an hour")}
	}
	return c.waitTurn(ctx)
}

// mayRetry reports whether a call may be made although one was refused a short time ago: once a
// minute, for a person.
func (c *community) mayRetry(ctx context.Context, by caller) bool {
	if by != byPerson {
		return false
	}
	_, ok := c.config.Limiter.Reserve(ctx, 0, ratelimit.Limit{Key: c.limitsKey + " refused", Burst: 1, Every: time.Minute})
	return ok
}

// failureLimit returns the limit of calls that fail.
func (c *community) failureLimit() ratelimit.Limit {
	return ratelimit.Limit{Key: c.limitsKey + " failed", Burst: maxFailures, Every: time.Hour / maxFailures}
}

// errTooSoon is the error of a call that would have to wait beyond its deadline.
var errTooSoon = errors.New("the call has to wait for longer")

// waitTurn blocks until a pause is over, and then for a slot: there is one a second. It returns
// errTooSoon as soon as it is clear that this lasts beyond the deadline of ctx, or without one
// beyond maxWait.
func (c *community) waitTurn(ctx context.Context) error {
	latest := time.Now().Add(maxWait)
	if deadline, ok := ctx.Deadline(); ok {
		latest = deadline
	}
	for {
		pause := c.pause()
		if pause > time.Until(latest) || !transport.Sleep(ctx, pause) {
			return errTooSoon
		}
		wait, ok := c.config.Limiter.Reserve(ctx, time.Until(latest), ratelimit.Limit{Key: c.limitsKey, Burst: 1, Every: time.Second})
		if !ok || !transport.Sleep(ctx, wait) {
			return errTooSoon
		}
		if c.pause() <= 0 { // None has begun during the wait.
			return nil
		}
	}
}

// pause returns how much longer the platform asks for a pause; 0 or less: it does not.
func (c *community) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.pausedUntil)
}

// record keeps and counts the outcome of a step's call for a user; nil is a success.
func (c *community) record(ctx context.Context, user string, s step, err *chat.BadgeError) {
	c.mu.Lock()
	delete(c.lastSeen, user)
	c.mu.Unlock()
	switch {
	case err == nil:
		c.succeeded(s)
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave, err.Problem == chat.RulesPending:
		// The community takes calls for other users.
	case err.Problem == chat.BadgeFailed:
		c.failed(ctx, err.RetryAfter)
	case concernsOneBadge(err.Problem):
		c.refuse(ctx, s.badge, err)
	default:
		c.refuse(ctx, wholeCommunity, err)
	}
}

// concernsOneBadge reports whether a platform that refuses a call may take one for another badge.
func concernsOneBadge(p chat.BadgeProblem) bool {
	return p == chat.RoleAbove || p == chat.NotAllowed || p == chat.BadgeGone
}

// succeeded counts a step, and ends the refusals that it disproves.
func (c *community) succeeded(s step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.refusals, wholeCommunity)
	delete(c.refusals, s.badge)
	if s.remove {
		c.removals++
		c.config.Count("badge_removed")
	} else {
		c.gives++
		c.config.Count("badge_given")
	}
}

// failed counts a failure, and begins a pause unless a longer one lasts.
func (c *community) failed(ctx context.Context, pause time.Duration) {
	c.config.Count("badge_failed")
	c.config.Limiter.Reserve(ctx, 0, c.failureLimit())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedUntil = core.Later(c.pausedUntil, time.Now().Add(pause))
}

// refuse counts a refusal, of which key is a key of refusals. It logs one in a cycle.
func (c *community) refuse(ctx context.Context, key string, err *chat.BadgeError) {
	c.config.Count("badge_refused")
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().After(c.refusals[key].until) {
		c.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
	// The next cycle calls again for each row.
	c.refusals[key] = refusal{problem: err.Problem, until: time.Now().Add(c.config.Every * 3 / 4)}
}
