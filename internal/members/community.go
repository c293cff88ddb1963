package members

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

const (
	// callEvery is the time between two calls that give or remove in one community.
	callEvery = time.Second
	// maxFailures bounds the calls to a community that fail as BadgeFailed in an hour, such as those answered with
	// 429; as many more may follow at once. Discord bans an address after 10,000 answers of 401, 403 or 429 in 10
	// minutes: https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
	// maxWait bounds the wait for a call if its context has no deadline.
	maxWait = time.Minute
	// personRetries is how long a person does not cause a call again that the platform has refused.
	personRetries = time.Minute
	// maxRemembered bounds the users of whom a community remembers something.
	maxRemembered = 10_000
)

// caller is who causes a call.
type caller int

const (
	byCycle   caller = iota
	byCommand        // that the user sent in the community
	byPress          // of a button that saves an address, or /forget
)

// community is a server or a group. It has its own rate, pause, refusals and fuse: none of them affects another
// community.
type community struct {
	*platform
	id  string
	log *slog.Logger

	mu          sync.Mutex // of the fields below
	pausedUntil time.Time
	// refusals has the last refusal by what it is about: wholeCommunity, a badge, or "user" and an ID.
	refusals map[string]refusal
	// gives and removals count the calls that succeeded since the start.
	gives, removals int
	// worn has by user ID what the platform last said that a user wears.
	worn map[string]*worn
	// settling is true while the users of a tick are settled.
	settling bool
	// fuseBlown is what the latest census said. The tick alone uses it.
	fuseBlown bool
}

// refusal is that the platform refused a call.
type refusal struct {
	problem chat.BadgeProblem
	at      time.Time
}

// wholeCommunity stands for every badge of a community.
const wholeCommunity = ""

// aboutUser returns the key of a refusal that is about a user alone.
func aboutUser(id string) string { return "user " + id }

// community returns a community, also one that the settings do not name.
func (p *platform) community(id string) *community {
	p.communitiesMu.Lock()
	defer p.communitiesMu.Unlock()
	if p.communities[id] == nil {
		p.communities[id] = &community{
			platform: p, id: id, log: p.config.Log.With("platform", p.name),
			refusals: map[string]refusal{}, worn: map[string]*worn{},
		}
	}
	return p.communities[id]
}

// limitKey returns the key of a limit of the community.
func (c *community) limitKey(what string) string {
	return string(c.name) + " " + c.bot + " badges " + c.id + " " + what
}

// refused returns why a call for a user's badge is not repeated yet, or "".
func (c *community) refused(user, badge string, by caller) chat.BadgeProblem {
	if by != byCycle { // The person may have done what was missing.
		return c.refusedWithin(personRetries, wholeCommunity, badge)
	}
	return c.refusedWithin(c.cycleRetries(), wholeCommunity, badge, aboutUser(user))
}

// cycleRetries is how long the cycle does not repeat a call that the platform has refused: the next cycle does.
func (c *community) cycleRetries() time.Duration { return c.config.Every * 3 / 4 }

// refusedWithin returns why a call about one of keys was refused so short a time ago, or "".
func (c *community) refusedWithin(lasts time.Duration, keys ...string) chat.BadgeProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if r, was := c.refusals[key]; was && time.Since(r.at) < lasts {
			return r.problem
		}
	}
	return ""
}

// errTooSoon is the error of a call that would have to wait beyond its deadline.
var errTooSoon = errors.New("the call has to wait for longer")

// await blocks until a call for a user's badge may be made. It fails with a *chat.BadgeError if the platform has refused
// such a call a short time ago, or too many have failed. It fails with errTooSoon as soon as it is clear that the
// wait lasts beyond the deadline of ctx, or without one beyond maxWait.
func (c *community) await(ctx context.Context, user, badge string, by caller) error {
	if problem := c.refused(user, badge, by); problem != "" {
		return &chat.BadgeError{Problem: problem, Err: errors.New("refused a short time ago")}
	}
	if c.config.Limiter.Peek(ctx, c.failures()) > 0 {
		return &chat.BadgeError{Problem: chat.BadgeFailed, Err: errors.New("too many calls have failed within an hour")}
	}
	latest := time.Now().Add(maxWait)
	if deadline, ok := ctx.Deadline(); ok {
		latest = deadline
	}
	for {
		pause := c.pause()
		if pause > time.Until(latest) || !transport.Sleep(ctx, pause) {
			return errTooSoon
		}
		calls := ratelimit.Limit{Key: c.limitKey("calls"), Burst: 1, Every: callEvery}
		wait, ok := c.config.Limiter.Reserve(ctx, time.Until(latest), calls)
		if !ok || !transport.Sleep(ctx, wait) {
			return errTooSoon
		}
		if c.pause() <= 0 { // None has begun during the wait.
			return nil
		}
	}
}

// failures returns the limit of calls that fail.
func (c *community) failures() ratelimit.Limit {
	return ratelimit.Limit{Key: c.limitKey("failed"), Burst: maxFailures, Every: time.Hour / maxFailures}
}

// pause returns how much longer the platform asks for a pause; 0 or less: it does not.
func (c *community) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.pausedUntil)
}

// succeeded counts a step that gave or removed, and ends the refusals that it disproves.
func (c *community) succeeded(user string, s step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.refusals, wholeCommunity)
	delete(c.refusals, s.badge)
	delete(c.refusals, aboutUser(user))
	switch s.action {
	case give:
		c.gives++
		c.config.Count("badge_given")
	case remove:
		c.removals++
		c.config.Count("badge_removed")
	}
}

// record keeps and counts why a step failed.
func (c *community) record(ctx context.Context, user string, s step, err *chat.BadgeError) {
	switch err.Problem {
	case chat.NotAMember, chat.CannotHave:
		// The row says it.
	case chat.RulesPending:
		c.refuse(aboutUser(user), err.Problem)
	case chat.BadgeFailed:
		c.config.Count("badge_failed")
		c.config.Limiter.Reserve(ctx, 0, c.failures())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pausedUntil = core.Later(c.pausedUntil, time.Now().Add(err.RetryAfter))
	case chat.RoleAbove, chat.NotAllowed, chat.BadgeGone:
		c.warn(ctx, s.badge, err)
		c.refuse(s.badge, err.Problem)
	default:
		c.warn(ctx, wholeCommunity, err)
		c.refuse(wholeCommunity, err.Problem)
	}
}

// refuse remembers a refusal.
func (c *community) refuse(key string, problem chat.BadgeProblem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refusals) >= maxRemembered {
		clear(c.refusals)
	}
	c.refusals[key] = refusal{problem: problem, at: time.Now()}
}

// warn counts a refusal, and logs one in a cycle.
func (c *community) warn(ctx context.Context, key string, err *chat.BadgeError) {
	c.config.Count("badge_refused")
	if c.refusedWithin(c.cycleRetries(), key) == "" {
		c.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
}

// concernsOneBadge reports whether a platform that refuses a call may take one for another badge.
func concernsOneBadge(p chat.BadgeProblem) bool {
	return p == chat.RoleAbove || p == chat.NotAllowed || p == chat.BadgeGone
}

// worn is what a user wears in a community.
type worn struct {
	badges []string
	err    error
	at     time.Time // when the platform was asked; zero: it has not answered yet
}

// wornTTL is how long a community remembers what a user wears.
const wornTTL = time.Minute

// wears returns the badges that a user wears in the community. It does not ask the platform again within wornTTL of an
// answer, and blocks while it asks. No rate or pause of the community holds it back. It forgets an answer at once if
// ctx is done, or if forgetWorn was called for the user meanwhile.
func (c *community) wears(ctx context.Context, user string) ([]string, error) {
	c.mu.Lock()
	if last := c.worn[user]; last != nil && time.Since(last.at) < wornTTL {
		defer c.mu.Unlock()
		return last.badges, last.err
	}
	if len(c.worn) >= maxRemembered {
		clear(c.worn)
	}
	asked := &worn{}
	c.worn[user] = asked
	c.mu.Unlock()

	badges, err := c.adapter.Has(ctx, c.id, user)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worn[user] == asked && ctx.Err() == nil {
		*asked = worn{badges: badges, err: err, at: time.Now()}
	}
	return badges, err
}

// forgetWorn has wears ask the platform again.
func (c *community) forgetWorn(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.worn, user)
}

// badgeError returns the error of a call to a platform; nil is a success. The outcome of a call that fails with anything
// but a *chat.BadgeError is not known.
func badgeError(err error) *chat.BadgeError {
	if err == nil {
		return nil
	}
	if failed, is := errors.AsType[*chat.BadgeError](err); is {
		return failed
	}
	return &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: err}
}
