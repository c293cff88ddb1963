package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/secret"
	"herald/internal/transport"
)

const (
	// ticks is how many parts a cycle has. In each of them, the rows of shards/ticks shards
	// are checked.
	ticks = 64
	// proofLasts is how long the proof that a wallet is its user's is not asked for anew.
	proofLasts = 30 * 24 * time.Hour
	// proofTime is how long a tick allows for one such proof.
	proofTime = 2 * time.Second
)

// Run checks each row once in Every, and has badges follow. It blocks until ctx is done, or returns at
// once if no address can be saved.
func (m *Members) Run(ctx context.Context) {
	if !m.Enabled() {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { m.watchReleases(ctx) })
	for _, p := range m.on() {
		for _, id := range p.named() {
			running.Go(func() { m.work(ctx, p.community(id)) })
		}
	}
	var s schedule
	for ctx.Err() == nil {
		pause := m.retryAfter()
		m.guard(func() { pause = m.checkTick(ctx, &s) })
		transport.Sleep(ctx, max(pause, time.Second))
	}
	running.Wait()
}

// retryAfter returns the wait before a tick that failed is tried again.
func (m *Members) retryAfter() time.Duration { return m.Every / ticks / 8 }

// guard calls f, and logs and counts a panic.
func (m *Members) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			m.Count("panic")
			m.Log.Error("panic while saved addresses were checked", "err", secret.PanicError(v))
		}
	}()
	f()
}

// schedule is what Run remembers from one checkTick to the next.
type schedule struct {
	// done is the last tick that was checked, here or by another replica.
	done int64
	// unread says that the last read failed.
	unread bool
}

// checkTick checks the rows of the present tick, unless that is done or another replica does it. It
// returns the wait for its next call.
func (m *Members) checkTick(ctx context.Context, s *schedule) (pause time.Duration) {
	length := m.Every / ticks
	tick := time.Now().UnixNano() / int64(length)
	next := func() time.Duration { return time.Until(time.Unix(0, (tick+1)*int64(length))) }
	if s.done == tick {
		return next()
	}
	due, err := m.read(ctx, int(tick%ticks), s)
	if err != nil {
		return m.retryAfter()
	}
	claim := m.claimOf(tick)
	switch progress, _ := m.Claims.Claim(ctx, claim); progress {
	case chat.Done:
		s.done = tick
		return next()
	case chat.InFlight:
		return m.retryAfter() // The other replica may be killed.
	}
	finished := false
	defer func() {
		if finished {
			m.Claims.MarkDone(claim, m.Every)
		} else {
			m.Claims.Release(claim)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	if finished = m.checkAll(ctx, due) == nil; !finished {
		return m.retryAfter()
	}
	s.done = tick
	return next()
}

// claimOf returns the key by which one replica of those with the same platforms claims a tick.
func (m *Members) claimOf(tick int64) string {
	key := []string{m.Bot, "check", m.Every.String(), fmt.Sprint(tick)}
	for _, p := range m.on() {
		key = append(key, string(p.name))
	}
	return strings.Join(key, " ")
}

// read returns the rows of a tick. It reads those of the tick before anew, which another replica
// may have checked. It fails if something cannot be read.
func (m *Members) read(ctx context.Context, tick int, s *schedule) (due []Row, err error) {
	if !m.rows.complete.Load() {
		if err = m.rows.each(ctx, func([]Row) {}); err == nil {
			m.Log.Info("saved addresses are read", "count", m.rows.tally("").have)
		}
	}
	for shard := (tick + ticks - 1) % ticks; shard < shards && err == nil; shard += ticks {
		_, _, err = m.rows.load(ctx, shard)
	}
	for shard := tick; shard < shards && err == nil; shard += ticks {
		var list []Row
		_, list, err = m.rows.load(ctx, shard)
		due = append(due, list...)
	}
	if err != nil && !s.unread {
		m.Log.Warn("saved addresses cannot be read; nobody loses a badge by it", "err", err)
	}
	s.unread = err != nil
	return due, err
}

// checked is a row as it was read, and what the check of its wallet found.
type checked struct {
	row   Row
	check finding
	// proven says that the partner was asked, and the wallet is the user's.
	proven bool
}

// checkAll checks rows, saves what follows, and settles their users. It fails if ctx is
// cancelled before all is saved, or the Store fails.
func (m *Members) checkAll(ctx context.Context, due []Row) error {
	var rows []Row
	for _, r := range due {
		p := m.platforms[r.User.Platform]
		if p.Badges != nil && !r.Forgotten() && !(r.Lost != nil && r.Lost.Disowned && p.level(r) == 0) {
			rows = append(rows, r)
		}
	}
	found := m.checkStakes(ctx, rows)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // The process ends. That is no finding.
	}
	if err := m.save(ctx, found); err != nil {
		return err
	}
	for _, p := range m.on() {
		m.reportFuse(p)
	}
	return m.settleRows(ctx, due)
}

// checkStakes reads the stakes of the rows' wallets, and proves anew some of those that were proven
// proofLasts ago. It changes nothing.
func (m *Members) checkStakes(ctx context.Context, rows []Row) []checked {
	wallets := make([]common.Address, len(rows))
	for i, r := range rows {
		wallets[i] = r.Wallet
	}
	stakes := m.Stakes(ctx, wallets)
	all := make([]checked, len(rows))
	var unproven []*checked
	for i, r := range rows {
		p := m.platforms[r.User.Platform]
		all[i] = checked{row: r, check: p.finding(stakes[i].Value, stakes[i].Err)}
		if c := &all[i]; (c.check.least > 0 || p.level(r) > 0) && time.Since(r.ProvenAt.Time) >= proofLasts {
			unproven = append(unproven, c)
		}
	}
	// First those whose last check found too little. Of the others, nobody waits for ever behind
	// those who are asked about in vain.
	rand.Shuffle(len(unproven), func(i, k int) { unproven[i], unproven[k] = unproven[k], unproven[i] })
	below := func(c *checked) int { return min(len(c.row.Below), 1) }
	slices.SortStableFunc(unproven, func(a, b *checked) int { return below(b) - below(a) })
	most := max(1, int(m.Every/ticks/proofTime))
	for _, c := range unproven[:min(most, len(unproven))] {
		c.prove(ctx, m.Accounts, m.platforms[c.row.User.Platform].highest())
	}
	for _, c := range all {
		m.countCheck(c.check, m.platforms[c.row.User.Platform].level(c.row))
	}
	return all
}

// prove asks whether the wallet is still the user's. If that is not known, the check found
// nothing, unless nothing is staked.
func (c *checked) prove(ctx context.Context, accounts core.Source[core.Identity, core.Account], highest int) {
	user, err := core.NewIdentity(string(c.row.User.Platform), c.row.User.ID)
	account, owner := core.Both(ctx, accounts, user, accounts, core.IdentityOf(c.row.Wallet))
	failed := cmp.Or(err, account.Err, owner.Err) != nil
	switch {
	case failed && c.check.most == 0:
		// A stake that is gone is gone, whosever the wallet is.
	case failed:
		c.check = finding{most: highest}
	case account.Value.Registered() && account.Value.DID == owner.Value.DID:
		c.proven = true
	case c.check.block.IsZero():
		c.check = finding{most: highest}
	default:
		c.check = finding{block: c.check.block, disowned: true}
	}
}

// countCheck counts a check of a row with a level.
func (m *Members) countCheck(f finding, level int) {
	switch {
	case f.most < level || f.most == 0:
		m.Count("check_below")
	case f.least > 0 && f.least >= level:
		m.Count("check_reached")
	default:
		m.Count("check_unknown")
	}
}

// save saves the rows after checks, unless another wallet was saved meanwhile.
func (m *Members) save(ctx context.Context, found []checked) error {
	byUser := make(map[chat.User]checked, len(found))
	touched := map[int]bool{}
	for _, c := range found {
		byUser[c.row.User] = c
		touched[shardOf(c.row.User)] = true
	}
	for shard := range touched {
		err := m.rows.updateIn(ctx, shard, func(r *Row) {
			c, is := byUser[r.User]
			overtaken := r.Block != c.row.Block && c.check.block.Before(r.Block.Time) // A press found something newer.
			if !is || r.Wallet != c.row.Wallet || overtaken {
				return
			}
			now := time.Now()
			if *r = m.platforms[r.User.Platform].decide(*r, c.check, now); c.proven {
				r.ProvenAt = timeOf(now)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// settleRows settles the users of a tick's shards wherever something is left: one after another
// in a community, and all communities at once.
func (m *Members) settleRows(ctx context.Context, due []Row) error {
	touched := map[int]bool{}
	for _, r := range due {
		touched[shardOf(r.User)] = true
	}
	left := map[*community][]chat.User{}
	for shard := range touched {
		_, list, err := m.rows.load(ctx, shard)
		if err != nil {
			return err
		}
		for _, r := range list {
			p := m.platforms[r.User.Platform]
			if p.Badges == nil {
				continue
			}
			for _, c := range p.concerned(r) {
				if _, more := c.next(r, c.id, c.OneEach(), m.fuseHolds(c)); more {
					left[c] = append(left[c], r.User)
				}
			}
		}
	}
	var settling sync.WaitGroup
	for c, users := range left {
		settling.Go(func() {
			m.guard(func() { m.settleUsers(ctx, c, users) })
		})
	}
	settling.Wait()
	return nil
}

// concerned returns the communities with a badge, and those where the row has one.
func (p *platform) concerned(r Row) (all []*community) {
	ids := p.named()
	for _, g := range r.Given {
		if !slices.Contains(ids, g.Community) {
			ids = append(ids, g.Community)
		}
	}
	for _, id := range ids {
		all = append(all, p.community(id))
	}
	return all
}

// settleUsers settles users in a community.
func (m *Members) settleUsers(ctx context.Context, c *community, users []chat.User) {
	for _, user := range users {
		if ctx.Err() != nil {
			return
		}
		m.tellRemoved(ctx, c, user, m.settle(ctx, c, user, byCycle))
	}
}

// tellRemoved tells a user of the badges that changes removed.
func (m *Members) tellRemoved(ctx context.Context, c *community, user chat.User, changes []Change) {
	for _, change := range changes {
		if change.Removed && change.Problem == "" && !change.Later {
			m.tell(ctx, c, user, change.Badge)
		}
	}
}

// CheckAll checks every row now, as if d had passed since it was saved, given a badge or found too
// low. The demo uses it.
func (m *Members) CheckAll(ctx context.Context, d time.Duration) error {
	err := m.rows.updateAll(ctx, func(r *Row) {
		r.SavedAt = timeOf(r.SavedAt.Add(-d))
		r.Given, r.Below = slices.Clone(r.Given), slices.Clone(r.Below)
		for i := range r.Given {
			r.Given[i].Since = timeOf(r.Given[i].Since.Add(-d))
		}
		for i, since := range r.Below {
			if !since.IsZero() {
				r.Below[i] = timeOf(since.Add(-d))
			}
		}
	})
	if err != nil {
		return err
	}
	all, err := m.All(ctx)
	if err != nil {
		return err
	}
	return m.checkAll(ctx, all)
}
