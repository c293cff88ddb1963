package members

import (
	"context"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
	"herald/internal/secret"
	"herald/internal/transport"
)

const (
	// tickEvery is the time from the end of a tick to the next one. A tick reads all rows, and checks those that are due.
	tickEvery = 5 * time.Minute
	// retryTick is the wait before the next tick if the rows could not be read.
	retryTick = 30 * time.Second
	// minDue is the least that maxDue returns.
	minDue = 1000
)

// Run checks each saved address once in a cycle, which takes Every, and gives and removes badges accordingly. It blocks
// until ctx is done and all background work has ended. If no address can be saved, it returns at once.
func (m *Members) Run(ctx context.Context) {
	if !m.Enabled() {
		return
	}
	m.setRunning(ctx)
	var ticking sync.WaitGroup
	for _, p := range m.activePlatforms() {
		ticking.Go(func() { m.runPlatform(ctx, p) })
	}
	<-ctx.Done()
	ticking.Wait()
	m.endRunning() // From here on, nothing is added to working.
	m.working.Wait()
}

// runPlatform ticks until ctx is done.
func (m *Members) runPlatform(ctx context.Context, p *platform) {
	for ctx.Err() == nil {
		succeeded := false
		m.guard(func() { succeeded = m.tryTick(ctx, p) })
		pause := retryTick
		if succeeded {
			pause = tickEvery
		}
		transport.Sleep(ctx, pause)
	}
}

// tryTick rewrites the rows of an earlier format, unless all are rewritten, and then ticks. It returns false if one of
// the two fails.
func (m *Members) tryTick(ctx context.Context, p *platform) (succeeded bool) {
	if !p.isRewritten && m.rewrite(ctx, p) != nil {
		return false
	}
	// If some values cannot be read, each tick tries again: an operator may have repaired them.
	p.isRewritten = p.rows.former.unreadable() == 0
	if m.tick(ctx, p) != nil {
		return false
	}
	p.hasTicked = true
	return true
}

// rewrite rewrites the rows of an earlier format.
func (m *Members) rewrite(ctx context.Context, p *platform) error {
	n, err := p.rows.rewriteAll(ctx)
	if n > 0 {
		m.Log.InfoContext(ctx, "saved addresses of an earlier version are rewritten", "platform", p.name, "count", n)
	}
	if err != nil {
		p.warnOfStore(ctx, err)
	}
	return err
}

// guard calls f. If f panics, guard logs and counts that, and returns.
func (m *Members) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			m.Count("panic")
			m.Log.Error("panic while saved addresses were checked", "err", secret.PanicError(v))
		}
	}()
	f()
}

// tick counts all rows, checks those that are due, and settles their users. It fails if the rows cannot be read. The
// count is a census, by which the fuse is judged (census.go). An operator may release users whom the fuse holds
// (release.go).
//
// Every replica ticks, and one of them takes the turn: only that one checks rows. These are the steps:
//
//	step                                                   which replicas take it
//
//	carry out releases, so that this tick settles them     all that may take the turn
//	read all rows, and count those that are not due        all
//	check the rows that are due, and save them             the one that takes the turn
//	count these rows, too                                  all
//	publish the census, which decides about the fuse       all
//	settle the users for whom a call is left               the one that takes the turn, and each at its first tick
//
// A replica settles at its first tick because the process before it may have been stopped before it made its calls.
func (m *Members) tick(ctx context.Context, p *platform) error {
	mayTakeTurn := m.Limiter.Peek(ctx, p.tickLimit()) <= 0
	if mayTakeTurn {
		m.carryOutReleases(ctx, p)
	}
	known := p.latest.users() // If publish then finds one of them gone from latest, this process deleted the row.
	census, due, err := m.read(ctx, p, mayTakeTurn)
	if err != nil {
		p.warnOfStore(ctx, err)
		return err
	}
	p.isWarned.Store(false)
	hasTurn := false
	if mayTakeTurn { // Another replica may have taken it while this one read the rows, which takes seconds.
		_, hasTurn = m.Limiter.Reserve(ctx, 0, p.tickLimit())
	}
	notCounted := due
	if hasTurn {
		notCounted = m.checkDue(ctx, p, due)
	}
	for _, r := range notCounted {
		census.add(p, r)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	missing := p.latest.publish(census, known)
	m.report(ctx, p, census, missing)
	isFirst := !p.hasTicked
	if hasTurn || isFirst {
		m.settleAll(p, census)
	}
	return nil
}

// tickLimit is the limit that lets one replica take the turn. It is a little shorter than tickEvery, so that the turn
// is free again when the replica that took it ticks next, even if the Limiter's clock is a little slower.
func (p *platform) tickLimit() ratelimit.Limit {
	return ratelimit.Limit{Key: p.botLimitKey("tick"), Burst: 1, Every: tickEvery - retryTick}
}

// read reads all rows. If mayCheck is set, due has the rows that this tick is to check, the longest due first. All
// others are counted in n.
func (m *Members) read(ctx context.Context, p *platform, mayCheck bool) (n *census, due []Row, err error) {
	n = newCensus()
	now := time.Now()
	unreadable, err := p.rows.each(ctx, func(r Row) {
		if mayCheck && p.isDue(r, now) {
			due = append(due, r)
		} else {
			n.add(p, r)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	n.unreadable = unreadable + p.rows.former.unreadable()
	slices.SortFunc(due, func(a, b Row) int { return a.Due.Compare(b.Due.Time) })
	limit := min(m.maxDue(n.rows+len(due)), len(due))
	for _, r := range due[limit:] {
		n.add(p, r)
	}
	return n, due[:limit], nil
}

// maxDue returns how many of all rows a tick may check: twice the tick's share of a cycle, but at least minDue. After
// an outage, when all rows are due, the bot then checks them within half a cycle, or within a whole one if ticks take
// long.
//
// For example, a cycle of 6 hours has 72 ticks. Of 50,000 rows, a tick may check 2/72, which is 1,388.
func (m *Members) maxDue(rows int) int {
	share := 2 * time.Duration(rows) * tickEvery / m.Every
	return max(minDue, int(share))
}

// isDue reports whether a row is to be checked now. A row that is due later than in a whole cycle was written by a
// wrong clock, or under a longer cycle: it is due now. If Stakes is nil, no row is due, because its stake cannot be
// read.
func (p *platform) isDue(r Row, now time.Time) bool {
	if p.config.Stakes == nil || r.Forgotten() {
		return false
	}
	tooLate := now.Add(p.config.Every + tickEvery) // Replicas' clocks differ a little.
	return !r.Due.After(now) || r.Due.After(tooLate)
}

// nextDue returns when a row that is checked now is due again: in a cycle, less half a tick. So the tick that comes
// nearest to a whole cycle from now checks it.
func (p *platform) nextDue(now time.Time) Time { return timeOf(now.Add(p.config.Every - tickEvery/2)) }

// Missing rows are reported if there are more than 10, and more than a twentieth of the rows that are left. A few may
// be missing at any time, because other replicas delete rows, too, after /forget.
const (
	maxMissing  = 10
	missingPart = 20
)

// report logs and counts what an operator must know of a census: a fuse that has blown since the previous census, rows
// that are missing, and values that cannot be read. missing is how many rows are gone that this process did not delete.
func (m *Members) report(ctx context.Context, p *platform, n *census, missing int) {
	for _, id := range p.tiers.communities() {
		m.reportFuse(ctx, p.community(id), n)
	}
	newlyUnreadable := max(0, n.unreadable-p.lastUnreadable)
	missing -= newlyUnreadable // These were counted as missing, but their values are still there.
	if missing > maxMissing && missing*missingPart > n.rows {
		for range missing {
			m.Count("rows_missing")
		}
		m.Log.ErrorContext(ctx, "saved addresses are gone from the store, and their people keep their badges: "+
			"does Redis write to disk, or has anybody deleted files?", "platform", p.name, "missing", missing, "left", n.rows)
	}
	if newlyUnreadable > 0 {
		m.Log.ErrorContext(ctx, "saved values cannot be read; they stay as they are, and bot check counts them",
			"platform", p.name, "count", n.unreadable)
	}
	p.lastUnreadable = n.unreadable
}

// reportFuse logs and counts that the fuse of a community has blown since the previous census.
func (m *Members) reportFuse(ctx context.Context, c *community, n *census) {
	worst, isBlown := n.blownFuse(c.id)
	if isBlown && !c.wasBlown {
		m.Count("fuse_blown")
		c.log.ErrorContext(ctx, "too many would lose a badge at once, so nobody does: check the pools and the node; "+
			"only if so many did stop staking, run bot members --release", "losing", worst.losing, "of", worst.have)
	}
	c.wasBlown = isBlown
}

// warnOfStore logs that the rows cannot be read or written. It logs that once, until a tick can read them again.
func (p *platform) warnOfStore(ctx context.Context, err error) {
	if ctx.Err() == nil && !p.isWarned.Swap(true) {
		p.config.Log.WarnContext(ctx, "saved addresses cannot be read or written; nobody loses a badge by it",
			"platform", p.name, "err", err)
	}
}

// settleAll settles the users of a census for whom a call is left: one after another in a community, and all
// communities at once. It does not wait. It leaves out a community that is still busy with an earlier tick.
func (m *Members) settleAll(p *platform, n *census) {
	users := map[*community][]chat.User{}
	for _, left := range n.leftCalls {
		c := p.community(left.community)
		if left.despiteFuse || !c.isFuseBlown() {
			users[c] = append(users[c], left.user)
		}
	}
	for c, usersHere := range users {
		if !c.beginSettling() {
			continue
		}
		m.background(func(ctx context.Context) {
			defer c.endSettling()
			for _, user := range usersHere {
				if ctx.Err() != nil {
					return
				}
				m.tellRemoved(ctx, c, user, m.settle(ctx, c, user, byCycle))
			}
		})
	}
}

// beginSettling marks the community as busy with a tick, and reports whether it was not busy before. If so, the caller
// must call endSettling.
func (c *community) beginSettling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isTickBusy {
		return false
	}
	c.isTickBusy = true
	return true
}

func (c *community) endSettling() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isTickBusy = false
}

// tellRemoved tells a user which badges these changes removed, and why.
func (m *Members) tellRemoved(ctx context.Context, c *community, user chat.User, changes []Change) {
	for _, change := range changes {
		isDone := change.Problem == "" && !change.Later
		if change.Removed && isDone {
			m.tellWhyLost(ctx, c, user, change.Badge)
		}
	}
}

// CheckAll first moves the times in the rows back by d, as if d had passed, and then checks every row. It blocks until
// it has given and removed badges accordingly. The demo uses it.
func (m *Members) CheckAll(ctx context.Context, d time.Duration) error {
	for _, p := range m.activePlatforms() {
		if err := m.checkAll(ctx, p, d); err != nil {
			return err
		}
	}
	return nil
}

func (m *Members) checkAll(ctx context.Context, p *platform, d time.Duration) error {
	known := p.latest.users() // Taken before reading, as in tick.
	n := newCensus()
	var all []Row
	_, err := p.rows.each(ctx, func(r Row) {
		if r.Forgotten() {
			n.add(p, r)
		} else {
			all = append(all, r)
		}
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		earlier := func(saved *Row) *Row { return saved.earlier(d) }
		if _, err := p.rows.update(ctx, r.User.ID, earlier); err != nil {
			return err
		}
	}
	for _, r := range m.checkDue(ctx, p, all) {
		n.add(p, r)
	}
	p.latest.publish(n, known)
	for _, left := range n.leftCalls {
		c := p.community(left.community)
		m.tellRemoved(ctx, c, left.user, m.settle(ctx, c, left.user, byCycle))
	}
	return nil
}

// earlier returns the row with these times d earlier: when the address was saved, the block of the latest check, when
// each badge was given, and the block of each Low. It returns nil if r is nil.
func (r *Row) earlier(d time.Duration) *Row {
	if r == nil {
		return nil
	}
	moved := r.clone()
	times := []*Time{&moved.SavedAt, &moved.Block}
	for i := range moved.Badges {
		times = append(times, &moved.Badges[i].Since, &moved.Badges[i].Low.BlockTime)
	}
	for _, t := range times {
		if !t.IsZero() {
			*t = timeOf(t.Add(-d))
		}
	}
	return &moved
}
