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
	// callTime is how much time is left of a deadline for the call itself.
	callTime = 2 * time.Second
	// maxFailures bounds the calls to a community that fail as BadgeFailed in an hour, such as those answered with
	// 429; as many more may follow at once. Discord bans an address after 10,000 answers of 401, 403 or 429 in 10
	// minutes: https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
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
// community. Replicas share the rate, and each has its own of all else.
type community struct {
	*platform
	id  string
	log *slog.Logger

	mu          sync.Mutex // of the fields below
	pausedUntil time.Time
	refusals    map[about]refusal
	// gives and removals count the calls that succeeded since the start.
	gives, removals int
	// worn has by user ID what the platform last said that a user wears.
	worn map[string]*worn
	// tickBusy is true while the users of a tick are settled.
	tickBusy bool
	// fuseBlown is what the latest census said. The tick alone uses it.
	fuseBlown bool
}

// about is what a refusal is about: one badge, one user, both, what is asked of these or, if all are empty, every
// badge of the community.
type about struct {
	badge, user string
	asks        bool
}

var (
	wholeCommunity = about{}
	// questions are those about which badges users wear. A platform may answer them and refuse all else.
	questions = about{asks: true}
)

// refusal is that the platform refused a call.
type refusal struct {
	problem chat.BadgeProblem
	at      time.Time
}

// community returns a community, also one that the settings do not name.
func (p *platform) community(id string) *community {
	p.communitiesMu.Lock()
	defer p.communitiesMu.Unlock()
	if p.communities[id] == nil {
		p.communities[id] = &community{
			platform: p, id: id, log: p.config.Log.With("platform", p.name),
			refusals: map[about]refusal{}, worn: map[string]*worn{},
		}
	}
	return p.communities[id]
}

// limitKey returns the key of a limit of the community.
func (c *community) limitKey(what string) string {
	return string(c.name) + " " + c.bot + " badges " + c.id + " " + what
}

// refusedBefore returns why a step for a user is not taken now, or "": the platform refused the same a short time ago.
// That a badge or a community is gone is believed only of the user for whom the call was made.
func (c *community) refusedBefore(user string, s step, by caller) chat.BadgeProblem {
	lasts := personRetries
	if by == byCycle {
		lasts = c.cycleRetries()
	}
	of := []about{wholeCommunity, {badge: s.badge}, {user: user}}
	switch {
	case s.action == ask:
		of = []about{questions, {user: user, asks: true}}
	case s.action == give && by == byCycle: // A person may have accepted the rules since.
		of = append(of, about{user: user, badge: s.badge})
	}
	problem := c.refusedWithin(lasts, of...)
	if problem == chat.BadgeGone && s.action == remove {
		return ""
	}
	return problem
}

// cycleRetries is how long the cycle does not repeat a call that the platform has refused: the next cycle does.
func (c *community) cycleRetries() time.Duration { return c.config.Every * 3 / 4 }

// refusedWithin returns why a call about one of these was refused so short a time ago, or "".
func (c *community) refusedWithin(lasts time.Duration, of ...about) chat.BadgeProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range of {
		if r, was := c.refusals[key]; was && time.Since(r.at) < lasts {
			return r.problem
		}
	}
	return ""
}

// errWaitTooLong is the error of a call that would have to wait beyond its deadline.
var errWaitTooLong = errors.New("the call has to wait for longer")

// await blocks until a call may be made: no pause lasts, and the rate has a slot. It fails with errTooSoon as soon as
// it is clear that less than callTime would be left of the deadline of ctx, which must have one.
func (c *community) await(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	latest := deadline.Add(-callTime)
	if c.config.Limiter.Peek(ctx, c.failures()) > 0 {
		return errWaitTooLong
	}
	for {
		pause := c.pause()
		if pause > time.Until(latest) || !transport.Sleep(ctx, pause) {
			return errWaitTooLong
		}
		calls := ratelimit.Limit{Key: c.limitKey("calls"), Burst: 1, Every: callEvery}
		wait, ok := c.config.Limiter.Reserve(ctx, time.Until(latest), calls)
		if !ok || !transport.Sleep(ctx, wait) {
			return errWaitTooLong
		}
		if c.pause() <= 0 {
			return nil
		}
		// A pause has begun during the wait. Those who wait for it must not call all at once when it ends: each takes
		// another slot.
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
	delete(c.refusals, questions)
	delete(c.refusals, about{badge: s.badge})
	delete(c.refusals, about{user: user})
	delete(c.refusals, about{user: user, badge: s.badge})
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
	switch {
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		// The row says it.
	case err.Problem == chat.RulesPending:
		c.refuse(about{user: user, badge: s.badge}, err.Problem)
	case err.Problem == chat.CommunityGone:
		c.warn(ctx, about{user: user, asks: s.action == ask}, err)
	case err.Problem == chat.BadgeFailed:
		c.config.Count("badge_failed")
		c.config.Limiter.Reserve(ctx, 0, c.failures())
		c.pauseFor(err.RetryAfter)
	case s.action == ask:
		c.warn(ctx, questions, err)
	case concernsOneBadge(err.Problem):
		c.warn(ctx, about{badge: s.badge}, err)
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

// warn counts and remembers a refusal, and logs the first one in a cycle.
func (c *community) warn(ctx context.Context, of about, err *chat.BadgeError) {
	c.config.Count("badge_refused")
	c.refuse(of, err.Problem)
	once := ratelimit.Limit{Key: c.limitKey("warned " + of.badge), Burst: 1, Every: c.cycleRetries()}
	if _, ok := c.config.Limiter.Reserve(ctx, 0, once); ok {
		c.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
}

// refuse remembers a refusal.
func (c *community) refuse(of about, problem chat.BadgeProblem) {
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

// worn is what a user wears in a community.
type worn struct {
	badges []string
	err    error
	at     time.Time // when the platform was asked; zero: it has not answered yet
}

// wornTTL is how long a community remembers what a user wears.
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

// wears returns the badges that a user wears in the community. It does not ask the platform again within wornTTL of
// an answer or a failure, and blocks while it asks. Two may ask at once; the later one's answer is kept. No rate or
// pause of the community holds it back. It forgets an answer at once if ctx is done, or if forgetWorn was called for
// the user meanwhile.
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

	badges, err := c.adapter.Worn(ctx, c.id, user)
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

// badgeError returns the error of a call to a platform; nil is a success. The outcome of a call that fails with
// anything but a *chat.BadgeError is not known.
func badgeError(err error) *chat.BadgeError {
	if err == nil {
		return nil
	}
	if failed, is := errors.AsType[*chat.BadgeError](err); is {
		return failed
	}
	return &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: err}
}
