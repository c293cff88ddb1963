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
	// callTime is how much time await leaves for the call itself, before the deadline.
	callTime = 2 * time.Second
	// maxFailures is how many calls in a community may fail as BadgeFailed at once. Then one more may fail every 36
	// seconds: at most 200 in the first hour. This keeps far from the limit of Discord, which bans an address after 10,000
	// answers of 401, 403 or 429 in 10 minutes:
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
	// personRetryAfter is how long after a refusal a person may cause the same call again.
	personRetryAfter = time.Minute
	// maxCached is how many refusals, and how many users' answers, a community caches. When it has that many, it
	// discards them all.
	maxCached = 10_000
)

// community is a server or a group. It has its own rate, pause, refusals and fuse: none of them affects another
// community. Replicas share the rate; of everything else, each replica has its own.
type community struct {
	*platform
	id  string
	log *slog.Logger

	mu          sync.Mutex // guards the fields below
	pausedUntil time.Time
	refusals    map[subject]refusal
	// gives and removals count the calls that succeeded since the start.
	gives, removals int
	// worn caches the platform's latest answer about what a user wears, by user ID.
	worn map[string]*wornAnswer
	// isTickBusy is true while the users of a tick are settled.
	isTickBusy bool
	// wasBlown says that the fuse had blown at the latest tick. Only ticks use it.
	wasBlown bool
}

// refusal says why and when the platform refused a call.
type refusal struct {
	problem chat.BadgeProblem
	at      time.Time
}

// subject says which calls a refusal concerns: those for one badge, for one user, or for one badge of one user. If
// badge and user are both empty, it concerns the calls for everybody.
type subject struct {
	badge string
	user  string
	// isQuestion says that the refusal concerns questions about which badges are worn. Otherwise it concerns the changes:
	// calls that give or remove badges. A platform may refuse one kind and allow the other.
	isQuestion bool
}

var (
	allChanges   = subject{}
	allQuestions = subject{isQuestion: true}
)

// caller is the cause of a call.
type caller int

const (
	byCycle   caller = iota
	byCommand        // the user sent a command in the community
	byPress          // the user pressed the button that saves an address, or sent /forget
)

// community returns the community with an ID, and creates it on first use. The settings need not name it.
func (p *platform) community(id string) *community {
	p.communitiesMu.Lock()
	defer p.communitiesMu.Unlock()
	if p.communities[id] == nil {
		p.communities[id] = &community{
			platform: p,
			id:       id,
			log:      p.config.Log.With("platform", p.name),
			refusals: map[subject]refusal{},
			worn:     map[string]*wornAnswer{},
		}
	}
	return p.communities[id]
}

// limitKey returns the key of a limit of the community.
func (c *community) limitKey(what string) string {
	return string(c.name) + " " + c.bot + " badges " + c.id + " " + what
}

// refusedBefore returns why the platform would refuse a step for a user, judging by the refusals that recordFailure has
// saved a short time ago. It returns "" if none of them concerns the step.
func (c *community) refusedBefore(user string, s step, by caller) chat.BadgeProblem {
	lasts := personRetryAfter
	if by == byCycle {
		lasts = c.cycleRetryAfter()
	}
	subjects := []subject{allChanges, {badge: s.badge}, {user: user}}
	switch {
	case s.action == ask:
		subjects = []subject{allQuestions, {user: user, isQuestion: true}}
	case s.action == give && by == byCycle:
		// This refusal does not stop a person, who may have accepted the community's rules since.
		subjects = append(subjects, subject{user: user, badge: s.badge})
	}
	problem := c.refusedWithin(lasts, subjects...)
	if problem == chat.BadgeGone && s.action == remove {
		return "" // The badge is deleted. Its removal is still tried, which drops the badge from this user's row.
	}
	return problem
}

// cycleRetryAfter returns how long after a refusal the cycle may make the same call again. It is less than a cycle, so
// that each cycle tries once.
func (c *community) cycleRetryAfter() time.Duration { return c.config.Every * 3 / 4 }

// refusedWithin returns the problem of a refusal that concerns one of these subjects and is younger than lasts, or "".
func (c *community) refusedWithin(lasts time.Duration, subjects ...subject) chat.BadgeProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range subjects {
		if r, isRefused := c.refusals[key]; isRefused && time.Since(r.at) < lasts {
			return r.problem
		}
	}
	return ""
}

// errWaitTooLong is returned by await.
var errWaitTooLong = errors.New("the wait for the call exceeds its deadline")

// await blocks until a call may be made: the platform's pause is over, and the rate has a slot. ctx must have a
// deadline. await returns errWaitTooLong as soon as it knows that less than callTime would be left for the call, or if
// too many calls have failed.
func (c *community) await(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	latestStart := deadline.Add(-callTime)
	if c.config.Limiter.Peek(ctx, c.failureLimit()) > 0 {
		return errWaitTooLong
	}
	for {
		pause := c.pauseLeft()
		if pause > time.Until(latestStart) || !transport.Sleep(ctx, pause) {
			return errWaitTooLong
		}
		calls := ratelimit.Limit{Key: c.limitKey("calls"), Burst: 1, Every: callEvery}
		wait, ok := c.config.Limiter.Reserve(ctx, time.Until(latestStart), calls)
		if !ok || !transport.Sleep(ctx, wait) {
			return errWaitTooLong
		}
		if c.pauseLeft() <= 0 {
			return nil
		}
		// A pause began during the wait. Take another slot after it, so that the waiting callers do not all call when it
		// ends.
	}
}

// failureLimit returns the limit on calls that fail.
func (c *community) failureLimit() ratelimit.Limit {
	return ratelimit.Limit{Key: c.limitKey("failed"), Burst: maxFailures, Every: time.Hour / maxFailures}
}

// pauseLeft returns how much of the pause is left that the platform asked for. It is 0 or less if there is none.
func (c *community) pauseLeft() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.pausedUntil)
}

// recordSuccess counts a step that gave or removed a badge, and deletes the refusals that it disproves.
func (c *community) recordSuccess(user string, s step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.refusals, allChanges)
	delete(c.refusals, allQuestions)
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

// recordFailure counts a failed step, and saves which later steps the platform would refuse as well.
func (c *community) recordFailure(ctx context.Context, user string, s step, err *chat.BadgeError) {
	switch {
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		// Nothing to save here: the row notes that the community is idle for the user.
	case err.Problem == chat.RulesPending:
		c.refuse(subject{user: user, badge: s.badge}, err.Problem)
	case err.Problem == chat.CommunityGone:
		// The platform may have erred about one user, so others are still tried.
		c.warn(ctx, subject{user: user, isQuestion: s.action == ask}, err)
	case err.Problem == chat.BadgeFailed:
		c.config.Count("badge_failed")
		c.config.Limiter.Reserve(ctx, 0, c.failureLimit())
		c.pauseFor(err.RetryAfter)
	case s.action == ask:
		c.warn(ctx, allQuestions, err)
	case concernsOneBadge(err.Problem):
		c.warn(ctx, subject{badge: s.badge}, err)
	default:
		c.warn(ctx, allChanges, err)
	}
}

// pauseFor begins a pause of length d, unless the present one lasts longer.
func (c *community) pauseFor(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedUntil = core.Later(c.pausedUntil, time.Now().Add(d))
}

// warn counts and saves a refusal. In each cycle, it logs at most one refusal of each badge, and one of those that
// concern no single badge.
func (c *community) warn(ctx context.Context, concerned subject, err *chat.BadgeError) {
	c.config.Count("badge_refused")
	c.refuse(concerned, err.Problem)
	once := ratelimit.Limit{Key: c.limitKey("warned " + concerned.badge), Burst: 1, Every: c.cycleRetryAfter()}
	if _, ok := c.config.Limiter.Reserve(ctx, 0, once); ok {
		c.log.WarnContext(ctx, "the bot may not give or remove a badge; bot check says where and why", "err", err)
	}
}

// refuse saves a refusal.
func (c *community) refuse(concerned subject, problem chat.BadgeProblem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refusals) >= maxCached {
		clear(c.refusals)
	}
	c.refusals[concerned] = refusal{problem: problem, at: time.Now()}
}

// concernsOneBadge reports whether a refusal with this problem concerns one badge, so that a call for another badge may
// succeed.
func concernsOneBadge(p chat.BadgeProblem) bool {
	return p == chat.RoleAbove || p == chat.NotAllowed || p == chat.BadgeGone
}

// wornAnswer is the platform's answer to the question what a user wears in a community.
type wornAnswer struct {
	badges []string
	err    error
	at     time.Time // when the platform answered; zero until it has
}

// wornTTL is how long a community caches what a user wears.
const wornTTL = time.Minute

// wears returns the badges that a user wears in the community. It caches the answer, or the failure, for wornTTL. If it
// asks the platform, it blocks until that answers, and does not wait for the community's rate or pause.
//
// It does not cache an answer if ctx is done, or if forgetWorn was called for the user while the platform was asked. If
// two callers ask at once, the answer to the later caller is cached.
func (c *community) wears(ctx context.Context, user string) ([]string, error) {
	c.mu.Lock()
	if cached := c.worn[user]; cached != nil && time.Since(cached.at) < wornTTL {
		defer c.mu.Unlock()
		return cached.badges, cached.err
	}
	if len(c.worn) >= maxCached {
		clear(c.worn)
	}
	pending := &wornAnswer{}
	c.worn[user] = pending
	c.mu.Unlock()

	badges, err := c.adapter.Worn(ctx, c.id, user)
	c.mu.Lock()
	defer c.mu.Unlock()
	isLatest := c.worn[user] == pending
	if isLatest && ctx.Err() == nil {
		*pending = wornAnswer{badges: badges, err: err, at: time.Now()}
	}
	return badges, err
}

// forgetWorn deletes the cached answer about a user, so that wears asks the platform again.
func (c *community) forgetWorn(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.worn, user)
}

// wearsForeign reports whether a user wears a foreign tag: one that neither the row nor the settings name, because an
// administrator has set it. Where a member may wear several badges, none is foreign.
func (c *community) wearsForeign(r Row, wears []string) bool {
	if !c.adapter.OneEach() {
		return false
	}
	return slices.ContainsFunc(wears, func(badge string) bool {
		_, configured := c.tiers.find(c.id, badge)
		return !configured && r.index(c.id, badge) < 0
	})
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
