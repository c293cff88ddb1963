package members

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/ratelimit"
)

// task is a user whom a community's worker settles.
type task struct {
	user chat.User
	// seen says that an update of the platform showed all badges that the user has there: has.
	seen bool
	has  []string
}

// enqueue gives a task to the worker of the community. It drops the task if too many wait.
func (c *community) enqueue(t task) {
	select {
	case c.queue <- t:
	default:
	}
}

// Seen queues a user for the community's worker, which gives them what they lack, once a minute at
// most. has lists all badges that they have there. Seen does not block; it drops the user if maxQueue
// wait.
func (m *Members) Seen(user chat.User, community string, has []string) {
	if p := m.platforms[user.Platform]; m.Enabled() && slices.Contains(p.named(), community) {
		p.community(community).enqueue(task{user: user, has: has, seen: true})
	}
}

// work settles the users in the queue of a community until ctx is done.
func (m *Members) work(ctx context.Context, c *community) {
	for {
		select {
		case t := <-c.queue:
			m.guard(func() {
				if !t.seen {
					m.tellRemoved(ctx, c, t.user, m.settle(ctx, c, t.user, byPerson))
					return
				}
				once := ratelimit.Limit{Key: c.limitsKey + " seen " + t.user.ID, Burst: 1, Every: time.Minute}
				if _, ok := m.Limiter.Reserve(ctx, 0, once); ok {
					m.tellRemoved(ctx, c, t.user, m.giveBack(ctx, c, t.user, t.has))
				}
			})
		case <-ctx.Done():
			return
		}
	}
}

// giveBack settles a user in a community where they are now. has lists all badges that they have
// there. All others are in doubt from now on, so that the user is given them again. A tag that an
// administrator has set stays.
func (m *Members) giveBack(ctx context.Context, c *community, user chat.User, has []string) []Change {
	stays := false
	row, err := m.rows.update(ctx, user, func(r *Row) *Row {
		if r == nil || r.Forgotten() {
			return r
		}
		theirs := func(badge string) bool { return c.position(c.id, badge) < 0 && r.index(c.id, badge) < 0 }
		if stays = c.OneEach() && slices.ContainsFunc(has, theirs); stays {
			return r
		}
		r.drop(func(g Given) bool { return g.Community == c.id && g.State == Absent })
		for i, g := range r.Given { // drop has made a copy.
			if g.Community == c.id && !slices.Contains(has, g.Badge) {
				r.Given[i].State = Doubt
			}
		}
		return r
	})
	if err != nil || row == nil || row.Forgotten() || stays {
		return nil
	}
	return m.settle(ctx, c, user, byPerson)
}

// seen is what a user has in a community.
type seen struct {
	has []string
	err error
	at  time.Time // when the platform was asked; zero: it has not answered yet
}

const (
	// seenTTL is how long a community remembers what a user has.
	seenTTL = time.Minute
	// maxSeen bounds the users of whom a community remembers that.
	maxSeen = 10_000
)

// has returns the badges that a user has in the community. It does not ask the platform again within
// seenTTL of an answer, and blocks while it asks; no pace or pause of the community holds it back. It
// forgets an answer at once if ctx is done, or if record was called for the user meanwhile.
func (c *community) has(ctx context.Context, user string) ([]string, error) {
	now := time.Now()
	c.mu.Lock()
	if last := c.lastSeen[user]; last != nil && now.Sub(last.at) < seenTTL {
		defer c.mu.Unlock()
		return last.has, last.err
	}
	if len(c.lastSeen) >= maxSeen {
		clear(c.lastSeen)
	}
	asked := &seen{}
	c.lastSeen[user] = asked
	c.mu.Unlock()

	has, err := c.Has(ctx, c.id, user)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastSeen[user] == asked && ctx.Err() == nil { // record deletes the entry.
		*asked = seen{has: has, err: err, at: now}
	}
	return has, err
}

// absent reports whether an error of has means that the user can have no badge there. With member
// they are known to be there: the platform may not say so yet of a new member.
func absent(err error, member bool) bool {
	failed, is := errors.AsType[*chat.BadgeError](err)
	if !is {
		return false
	}
	unknown := failed.Problem == chat.NotAMember && !member
	return unknown || failed.Problem == chat.CannotHave || failed.Problem == chat.CommunityGone
}

// Refresh gives a user the badges that are missing, and returns what became of them. The stake is
// that of the wallet just now. If it reaches a higher level than before, Refresh is Save. Otherwise
// it asks each community but here which badges the user has, once a minute, and writes and gives
// nothing where none is missing. It does nothing unless the wallet is the saved one. It blocks for
// settleTime at most.
func (m *Members) Refresh(ctx context.Context, user chat.User, here string, wallet common.Address, stake core.Stake) ([]Change, error) {
	row, err := m.rows.find(ctx, user)
	p := m.platforms[user.Platform]
	if err != nil || row == nil || row.Wallet != wallet || p.Badges == nil {
		return nil, err
	}
	if found := p.finding(stake, nil); found.least > p.level(*row) {
		isSaved := func(r *Row) bool { return r != nil && r.Wallet == wallet } // unless /forget was quicker
		return m.saveWallet(ctx, user, wallet, stake, isSaved)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return inEach(m, p.concerned(*row), func(c *community) []Change {
		want := p.wanted(*row, c.id)
		if c.OneEach() {
			want = want[max(0, len(want)-1):]
		}
		if c.id == here || len(want) == 0 {
			return nil
		}
		has, err := c.has(ctx, user.ID)
		lacks := slices.ContainsFunc(want, func(badge string) bool { return !slices.Contains(has, badge) })
		if err != nil || !lacks {
			return nil
		}
		return m.giveBack(ctx, c, user, has)
	}), nil
}
