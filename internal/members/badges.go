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
	// maxFailures bounds the calls to a platform that fail within an hour. Discord bans an
	// address after 10,000 refused calls in 10 minutes:
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	maxFailures = 100
	// wearersTTL is how long the number of a badge's wearers is not asked for again.
	wearersTTL = time.Minute
)

// badges makes the calls to one platform: one a second in a community, none while the
// platform asks for a pause, and none once maxFailures have failed within an hour.
type badges struct {
	chat.Badges
	limiter chat.Limiter
	key     string // of the limits
	count   func(event string)
	log     *slog.Logger

	mu sync.Mutex
	// paused holds until when a community is not called, and closed until when a cycle leaves
	// it alone, because the bot may not give the badge there.
	paused, closed map[string]time.Time
	worn           map[string]wearers
}

// wearers is how many wear a badge, as last asked.
type wearers struct {
	n     int
	err   error
	asked time.Time
}

func newBadges(b chat.Badges, c Config, p chat.Platform) *badges {
	return &badges{
		Badges: b, limiter: c.Limiter, key: c.Bot + " badges " + string(p), count: c.Count, log: c.Log.With("platform", p),
		paused: map[string]time.Time{}, closed: map[string]time.Time{}, worn: map[string]wearers{},
	}
}

// call is a call for one user.
type call struct {
	user, reason string
	// take says that the badge goes.
	take bool
	// leaveFor is for how long a cycle leaves a community alone after the bot was refused
	// there. 0 is a call that the user asked for, which is made all the same.
	leaveFor time.Duration
}

// everywhere makes a call in each community, and returns a Change for each one that the user
// is in. It blocks for a second a community, and longer where others are called for.
func (b *badges) everywhere(ctx context.Context, c call) (changes []Change) {
	for _, community := range b.Communities() {
		problem := b.callIn(ctx, community, c)
		if problem != chat.NotAMember {
			changes = append(changes, Change{Community: community, Badge: b.BadgeName(community), Problem: problem})
		}
	}
	return changes
}

// callIn makes a call in one community, and returns why it did not succeed, or "".
func (b *badges) callIn(ctx context.Context, community string, c call) chat.BadgeProblem {
	err := b.await(ctx, community, c.leaveFor > 0)
	if err == nil {
		do := b.Give
		if c.take {
			do = b.Take
		}
		err = do(ctx, community, c.user, c.reason)
		b.note(ctx, community, c, err)
	}
	return problemOf(err)
}

// problemOf returns the problem of an error, or "" of none.
func problemOf(err error) chat.BadgeProblem {
	if err == nil {
		return ""
	}
	if failed, is := errors.AsType[*chat.BadgeError](err); is {
		return failed.Problem
	}
	return chat.BadgeFailed
}

var (
	errLeftAlone = errors.New("the bot was refused there, and the community is left alone")
	errTooSoon   = errors.New("there is no time left for a call")
	errFailures  = errors.New("too many calls have failed within an hour")
)

// failures is the limit of calls that fail.
func (b *badges) failures() chat.Limit {
	return chat.Limit{Key: b.key + " failed", Count: maxFailures, Window: time.Hour}
}

// await blocks until a call in the community may be made. It fails if that is not before ctx
// is done, and for a cycle's call if the community is left alone.
func (b *badges) await(ctx context.Context, community string, cycle bool) error {
	b.mu.Lock()
	pause, closed := time.Until(b.paused[community]), time.Now().Before(b.closed[community])
	b.mu.Unlock()
	if cycle && closed {
		return errLeftAlone
	}
	if wait, _ := b.limiter.Reserve(ctx, -1, b.failures()); wait > 0 {
		return errFailures
	}
	within := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	if pause > within {
		return errTooSoon
	}
	wait, ok := b.limiter.Reserve(ctx, within, chat.Limit{Key: b.key + " " + community, Count: 1, Window: time.Second})
	if !ok || !transport.Sleep(ctx, max(wait, pause)) {
		return errTooSoon
	}
	return nil
}

// note counts the outcome of a call, and pauses or closes the community if that asks for it.
func (b *badges) note(ctx context.Context, community string, c call, err error) {
	event := "badge_given"
	if c.take {
		event = "badge_taken"
	}
	problem := problemOf(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch problem {
	case "":
		b.count(event)
		delete(b.closed, community)
		return
	case chat.NotAMember, chat.CannotWear:
		return
	case chat.BadgeFailed:
		b.count("badge_failed")
		if failed, is := errors.AsType[*chat.BadgeError](err); is && failed.RetryAfter > 0 {
			b.paused[community] = time.Now().Add(failed.RetryAfter)
		}
	default:
		b.count("badge_not_allowed")
		if c.leaveFor > 0 {
			b.log.Warn("the bot may not give or take a badge; the community is left alone for a cycle", "community", community, "err", err)
			b.closed[community] = time.Now().Add(c.leaveFor)
		}
	}
	b.limiter.Reserve(ctx, 0, b.failures())
}

// wearing returns how many wear the badge of a community. It asks no more often than once in
// wearersTTL, and blocks for that.
func (b *badges) wearing(ctx context.Context, community string) (int, error) {
	b.mu.Lock()
	last := b.worn[community]
	b.mu.Unlock()
	if time.Since(last.asked) >= wearersTTL {
		last.asked = time.Now()
		last.n, last.err = b.Wearers(ctx, community)
		b.mu.Lock()
		b.worn[community] = last
		b.mu.Unlock()
	}
	return last.n, last.err
}
