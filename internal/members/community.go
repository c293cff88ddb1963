package members

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

const (
	// callEvery is the time between two calls in one community.
	callEvery = time.Second
	// callTime is how much of a deadline await leaves for the call itself.
	callTime = 2 * time.Second
	// maxFailures is how many calls to a community may fail as BadgeFailed at once, such as those answered with 429.
	// After these, one may fail every 36 seconds: at most 200 in an hour. Discord bans an address after 10,000 answers
	// of 401, 403 or 429 in 10 minutes:
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
	// personRetryAfter is for how long a person cannot repeat a call that the platform has refused.
	personRetryAfter = time.Minute
	// maxRemembered is how many refusals, and how many users' answers, a community caches. When it has that many, it
	// discards them all.
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
// community. Replicas share the rate, and each has its own of all else.
type community struct {
	*platform
	id  string
	log *slog.Logger

	mu          sync.Mutex // of the fields below
	pausedUntil time.Time
	refusals    map[subject]refusal
	// gives and removals count the calls that succeeded since the start.
	gives, removals int
	// worn has by user ID what the platform last said that a user wears.
	worn map[string]*worn
	// tickBusy is true while the users of a tick are settled.
	tickBusy bool
	// wasBlown says that the fuse had blown at the latest tick. Only ticks use it.
	wasBlown bool
}

// about is what a refusal is about: one badge, one user, or one badge of one user. If both are empty, it is about the
// whole community.
type subject struct {
	badge, user string
	asks        bool // it was a question about which badges are worn, and not a call that gives or removes one
}

var (
	wholeCommunity = subject{}
	// questions are about which badges users wear. A platform may answer these, and refuse to give and remove.
	questions = subject{asks: true}
)

// refusal says why and when the platform refused a call.
type refusal struct {
	problem chat.BadgeProblem
	at      time.Time
}

// community returns the community with an ID, and creates it on first use. The settings need not name it.
func (p *platform) community(id string) *community {
	p.communitiesMu.Lock()
	defer p.communitiesMu.Unlock()
	if p.communities[id] == nil {
		p.communities[id] = &community{
			platform: p, id: id, log: p.config.Log.With("platform", p.name),
			refusals: map[subject]refusal{}, worn: map[string]*worn{},
		}
	}
	return p.communities[id]
}

// limitKey returns the key of a limit of the community.
func (c *community) limitKey(what string) string {
	return string(c.name) + " " + c.bot + " badges " + c.id + " " + what
}

// refusedBefore returns why a step for a user is not taken now, or "" if it is: the platform refused the same a short
// time ago. If it said that the community is gone, that counts only for the user of that call. If it said that a badge
// is gone, the badge is not given to anybody, but its removal is tried for each user.
func (c *community) refusedBefore(user string, s step, by caller) chat.BadgeProblem {
	lasts := personRetryAfter
	if by == byCycle {
		lasts = c.cycleRetryAfter()
	}
	of := []subject{wholeCommunity, {badge: s.badge}, {user: user}}
	switch {
	case s.action == ask:
		of = []subject{questions, {user: user, asks: true}}
	case s.action == give && by == byCycle: // A person may have accepted the rules since.
		of = append(of, subject{user: user, badge: s.badge})
	}
	problem := c.refusedWithin(lasts, of...)
	if problem == chat.BadgeGone && s.action == remove {
		return ""
	}
	return problem
}

// cycleRetryAfter is how long the cycle does not repeat a call that the platform has refused: the next cycle does.
func (c *community) cycleRetryAfter() time.Duration { return c.config.Every * 3 / 4 }

// refusedWithin returns why a call about one of these was refused so short a time ago, or "".
func (c *community) refusedWithin(lasts time.Duration, of ...subject) chat.BadgeProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range of {
		if r, was := c.refusals[key]; was && time.Since(r.at) < lasts {
			return r.problem
		}
	}
	return ""
}

// errWaitTooLong is returned by await.
var errWaitTooLong = errors.New("the wait for the call exceeds its deadline")

// await blocks until a call may be made: no pause lasts, and the rate has a slot. ctx must have a deadline. As soon as
// it is clear that less than callTime would be left of it, await fails with errWaitTooLong.
func (c *community) await(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	latest := deadline.Add(-callTime)
	if c.config.Limiter.Peek(ctx, c.failureLimit()) > 0 {
		return errWaitTooLong
	}
	for {
		pause := c.pauseLeft()
		if pause > time.Until(latest) || !transport.Sleep(ctx, pause) {
			return errWaitTooLong
		}
		calls := ratelimit.Limit{Key: c.limitKey("calls"), Burst: 1, Every: callEvery}
		wait, ok := c.config.Limiter.Reserve(ctx, time.Until(latest), calls)
		if !ok || !transport.Sleep(ctx, wait) {
			return errWaitTooLong
		}
		if c.pauseLeft() <= 0 {
			return nil
		}
		// A pause has begun during the wait. Those who wait for it must not call all at once when it ends: each takes
		// another slot.
	}
}

// failures returns the limit of calls that fail.
func (c *community) failureLimit() ratelimit.Limit {
	return ratelimit.Limit{Key: c.limitKey("failed"), Burst: maxFailures, Every: time.Hour / maxFailures}
}

// pause returns how much longer the pause lasts that the platform asked for. It is 0 or less if there is none.
func (c *community) pauseLeft() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.pausedUntil)
}

// succeeded counts a step that gave or removed, and ends the refusals that it disproves.
func (c *community) succeeded(user string, s step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.refusals, wholeCommunity)
	delete(c.refusals, questions)
	delete(c.refusals, subject{badge: s.badge})
	delete(c.refusals, subject{user: user})
	delete(c.refusals, subject{user: user, badge: s.badge})
	switch s.action {
	case give:
		c.gives++
		c.config.Count("badge_given")
	case remove:
		c.removals++
		c.config.Count("badge_removed")
	}
}

// record counts a failed step, and remembers what it says about later ones.
func (c *community) record(ctx context.Context, user string, s step, err *chat.BadgeError) {
	switch {
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		// The row says so: the community is idle.
	case err.Problem == chat.RulesPending:
		c.refuse(subject{user: user, badge: s.badge}, err.Problem)
	case err.Problem == chat.CommunityGone:
		c.warn(ctx, subject{user: user, asks: s.action == ask}, err)
	case err.Problem == chat.BadgeFailed:
		c.config.Count("badge_failed")
		c.config.Limiter.Reserve(ctx, 0, c.failureLimit())
		c.pauseFor(err.RetryAfter)
	case s.action == ask:
		c.warn(ctx, questions, err)
	case concernsOneBadge(err.Problem):
		c.warn(ctx, subject{badge: s.badge}, err)
	default:
		c.warn(ctx, wholeCommunity, err)
	}
}

// pauseFor begins a pause, unless a longer one lasts.
func (c *community) pauseFor(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedUntil = core.Later(c.pausedUntil, time.Now().Add(d))
}

// warn counts and remembers a refusal. In each cycle, it logs the first one of a badge, and the first one of no badge.
func (c *community) warn(ctx context.Context, of subject, err *chat.BadgeError) {
	c.config.Count("badge_refused")
	c.refuse(of, err.Problem)
	once := ratelimit.Limit{Key: c.limitKey("warned " + of.badge), Burst: 1, Every: c.cycleRetryAfter()}
	if _, ok := c.config.Limiter.Reserve(ctx, 0, once); ok {
		c.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
}

// refuse remembers a refusal.
func (c *community) refuse(of subject, problem chat.BadgeProblem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refusals) >= maxRemembered {
		clear(c.refusals)
	}
	c.refusals[of] = refusal{problem: problem, at: time.Now()}
}

// concernsOneBadge reports whether a platform that refuses a call may take one for another badge.
func concernsOneBadge(p chat.BadgeProblem) bool {
	return p == chat.RoleAbove || p == chat.NotAllowed || p == chat.BadgeGone
}

// worn is the cached answer of the platform to what a user wears in a community.
type worn struct {
	badges []string
	err    error
	at     time.Time // when the platform answered; zero: it has not yet, and the entry is never fresh
}

// wornTTL is how long a community caches what a user wears.
const wornTTL = time.Minute

// isForeign reports whether a member has one badge at a time, and wears one that neither the row nor the settings
// name: an administrator has set it.
func (c *community) isForeign(r Row, wears []string) bool {
	if !c.adapter.OneEach() {
		return false
	}
	return slices.ContainsFunc(wears, func(badge string) bool {
		_, configured := c.tiers.find(c.id, badge)
		return !configured && r.index(c.id, badge) < 0
	})
}

// wears returns the badges that a user wears in the community. It blocks while it asks the platform, and does not wait
// for the community's rate or pause. It caches an answer or a failure for wornTTL, unless ctx was done, or forgetWorn
// was called for the user meanwhile. If two callers ask at once, the answer to the later one is cached.
func (c *community) wears(ctx context.Context, user string) ([]string, error) {
	c.mu.Lock()
	if last := c.worn[user]; last != nil && time.Since(last.at) < wornTTL {
		defer c.mu.Unlock()
		return last.badges, last.err
	}
	if len(c.worn) >= maxRemembered {
		clear(c.worn)
	}
	entry := &worn{}
	c.worn[user] = entry
	c.mu.Unlock()

	badges, err := c.adapter.Worn(ctx, c.id, user)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worn[user] == entry && ctx.Err() == nil {
		*entry = worn{badges: badges, err: err, at: time.Now()}
	}
	return badges, err
}

// forgetWorn deletes the cached answer about a user, so that wears asks the platform again.
func (c *community) forgetWorn(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.worn, user)
}

// badgeError returns the error of a call to a platform as a *chat.BadgeError. Any other error means that the outcome of
// the call is unknown.
func badgeError(err error) *chat.BadgeError {
	if err == nil {
		return nil
	}
	if failed, is := errors.AsType[*chat.BadgeError](err); is {
		return failed
	}
	return &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: err}
}
