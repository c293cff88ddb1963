package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/secret"
	"herald/internal/transport"
)

// slots is how many parts a cycle has. In each of them, the rows of shards/slots shards are
// looked at.
const slots = 64

// proofTime is how long a slot allows for one proof that a wallet is its user's.
const proofTime = 2 * time.Second

var errUnread = errors.New("the kept wallets could not be read")

// Run looks at each row once in Every, and gives badges to who came back. It blocks until ctx
// is done.
func (m *Members) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			select {
			case c := <-m.returned:
				m.guard(func() { m.giveBack(ctx, c) })
			case <-ctx.Done():
			}
		}
	})
	for ctx.Err() == nil {
		var pause time.Duration
		m.guard(func() { pause = m.step(ctx) })
		transport.Sleep(ctx, max(pause, time.Second))
	}
	running.Wait()
}

// guard calls f, and logs a panic.
func (m *Members) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			m.Log.Error("panic while kept wallets were looked at", "err", secret.PanicError(v))
		}
	}()
	f()
}

// step looks at the rows of the present slot, unless another replica has done so or does. It
// returns the wait for the next step.
func (m *Members) step(ctx context.Context) (pause time.Duration) {
	length := m.Every / slots
	slot := time.Now().UnixNano() / int64(length)
	next := func() time.Duration { return time.Until(time.Unix(0, (slot+1)*int64(length))) }
	retry := length / 8
	due, err := m.survey(ctx, int(slot%slots))
	if err != nil {
		return retry
	}
	key := fmt.Sprint("members ", m.Every, " ", slot)
	switch m.Claims.Claim(ctx, key) {
	case chat.Answered:
		return next()
	case chat.InFlight:
		return retry // The other replica may be killed.
	}
	finished := false
	defer func() { m.Claims.Release(context.WithoutCancel(ctx), key, finished, m.Every) }()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	if finished = m.look(ctx, due) == nil; !finished {
		return retry
	}
	return next()
}

// survey returns the rows of a slot. It reads those of the slot before anew, which another
// replica may have looked at. It fails if a row cannot be read.
func (m *Members) survey(ctx context.Context, slot int) (due []Row, err error) {
	err = m.countMissing(ctx)
	before := (slot + slots - 1) % slots
	for shard := 0; shard < shards && err == nil; shard++ {
		var list []Row
		if part := shard % slots; part == slot || part == before {
			if _, list, err = m.rows.load(ctx, shard); part == slot {
				due = append(due, list...)
			}
		}
	}
	if err != nil && !m.unread {
		m.Log.Warn("kept wallets cannot be read; nobody loses a badge by it", "err", err)
	}
	if m.unread = err != nil; m.unread {
		m.counted.Store(false)
	}
	return due, err
}

// countMissing logs how many rows are missing, at the start and after the rows could not be
// read.
func (m *Members) countMissing(ctx context.Context) error {
	if m.counted.Load() {
		return nil
	}
	n, err := m.rows.missing(ctx)
	if err != nil {
		return err
	}
	if n > 0 {
		m.Count("rows_missing")
		m.Log.Warn("kept wallets are missing; what is damaged is kept aside, and nobody loses a badge by it", "rows", n)
	}
	m.counted.Store(true)
	return nil
}

// change is a row before and after a look.
type change struct {
	before, after Row
	finding
	// disowned says that the wallet is not its user's any more.
	disowned bool
}

// look looks at rows, saves what it found, and takes the badges that go. It fails if ctx ends
// before all of that is done, or the Store fails.
func (m *Members) look(ctx context.Context, due []Row) error {
	var asked []Row
	for _, r := range due {
		if r.Forgotten {
			if _, err := m.forget(ctx, r, m.Every); err != nil {
				return err
			}
			continue
		}
		asked = append(asked, r)
	}
	changes := m.examine(ctx, asked)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // The process ends. That is no finding.
	}
	if err := m.save(ctx, changes); err != nil {
		return err
	}
	return m.lapse(ctx, changes)
}

// examine reads the stakes of the rows' wallets, and proves anew some of those that were
// proven proofLasts ago. It changes nothing.
func (m *Members) examine(ctx context.Context, due []Row) []change {
	wallets := make([]common.Address, len(due))
	for i, r := range due {
		wallets[i] = r.Wallet
	}
	stakes := m.Stakes(ctx, wallets)
	proofs := max(1, int(m.Every/slots/proofTime))
	changes := make([]change, len(due))
	for i, r := range due {
		c := change{before: r, after: r, finding: found(stakes[i])}
		if proofs > 0 && c.verdict != unknown && time.Since(r.ProvenAt) >= proofLasts {
			proofs--
			c.prove(ctx, m.Accounts)
		}
		c.after = m.rules.after(c.after, c.finding, time.Now().UTC())
		m.countLook(c.verdict)
		changes[i] = c
	}
	return changes
}

// prove asks whether the wallet is still the user's. If it is not, the verdict is no; if that
// is not known, unknown.
func (c *change) prove(ctx context.Context, accounts core.Source[core.Identity, core.Account]) {
	user, err := core.NewIdentity(string(c.before.User.Platform), c.before.User.ID)
	person, owner := core.Both(ctx, accounts, user, accounts, core.IdentityOf(c.before.Wallet))
	switch {
	case err != nil || person.Err != nil || owner.Err != nil:
		c.verdict = unknown
	case person.Value.Registered() && person.Value.DID == owner.Value.DID:
		c.after.ProvenAt = time.Now().UTC().Truncate(time.Second)
	case c.block.IsZero():
		c.verdict = unknown
	default:
		c.verdict, c.disowned = no, true
	}
}

func (m *Members) countLook(v verdict) {
	switch v {
	case unknown:
		m.unknown.Add(1)
		m.Count("look_unknown")
	case yes:
		m.Count("look_yes")
	case no:
		m.Count("look_no")
	}
}

// save saves the rows after a look, unless their users changed them meanwhile.
func (m *Members) save(ctx context.Context, changes []change) error {
	byShard := map[int][]change{}
	for _, c := range changes {
		shard := shardOf(c.before.User)
		byShard[shard] = append(byShard[shard], c)
	}
	for shard, changes := range byShard {
		err := m.rows.change(ctx, shard, func(list []Row) []Row {
			for _, c := range changes {
				if i := indexOf(list, c.before.User); i >= 0 && list[i].sameAs(c.before) {
					list[i] = c.after
				}
			}
			return list
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lapse takes the badges that go after these changes. While too many would go on a platform,
// lapse takes only those that were released.
func (m *Members) lapse(ctx context.Context, changes []change) error {
	released, err := m.rows.released(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes {
		platform := c.after.User.Platform
		if !c.after.loses(c.finding) || !m.wears(platform) || m.held(platform) && !c.after.FirstNo.Before(released) {
			continue
		}
		if err := m.takeFrom(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// wears reports whether there is a badge on a platform. Without one nobody loses any: the
// settings may name it again.
func (m *Members) wears(p chat.Platform) bool {
	b := m.on(p)
	return b != nil && len(b.Communities()) > 0
}

// held reports whether nobody on a platform loses a badge now. It logs and counts when that
// begins.
func (m *Members) held(p chat.Platform) bool {
	t := m.rows.census().tallies[indexOfPlatform(p)]
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.held() && !m.blown[p] {
		m.Count("fuse_held")
		m.Log.Error("too many would lose a badge at once, so nobody does: look at the pools and the node, then run bot members --release",
			"platform", p, "losing", t.losing, "of", t.holders)
	}
	m.blown[p] = t.held()
	return t.held()
}

// takeFrom takes the badges of a row that loses them, unless its user changed the row
// meanwhile, and tells the user.
func (m *Members) takeFrom(ctx context.Context, c change) error {
	row, err := m.rows.find(ctx, c.after.User)
	if err != nil || row == nil || !row.sameAs(c.after) {
		return err
	}
	first, second := clock(c.after.FirstNo, c.block), clock(c.block, c.block)
	reason := fmt.Sprintf("Herald: staked nothing at %s and at %s UTC (%d of %[3]d pools)", first, second, len(m.Pools))
	changes := m.take(ctx, row.User, reason, m.Every)
	if !allTaken(changes) {
		return ctx.Err()
	}
	lapsed := c.after
	lapsed.FirstNo, lapsed.LapsedAt = time.Time{}, time.Now().UTC().Truncate(time.Second)
	unchanged, err := m.rows.replace(ctx, c.after, &lapsed)
	if err != nil {
		return err
	}
	if !unchanged { // They may have staked and asked for it again a moment ago.
		for _, community := range m.on(row.User.Platform).Communities() {
			m.giveBack(ctx, returnee{row.User, community})
		}
		return nil
	}
	m.tell(ctx, changes, c)
	return nil
}

// clock returns the time of day of t in UTC, with its date unless that is the one of day.
func clock(t, day time.Time) string {
	if t.UTC().Truncate(24 * time.Hour).Equal(day.UTC().Truncate(24 * time.Hour)) {
		return t.UTC().Format("15:04")
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// tell tells a user which badge is gone and why, if they have a private chat with the bot.
func (m *Members) tell(ctx context.Context, changes []Change, c change) {
	i := slices.IndexFunc(changes, func(c Change) bool { return c.Problem == "" })
	if i < 0 {
		return
	}
	again := chat.CommandLink("/verify")
	text := chat.SayWith("lapsed.owner", chat.Values{"verify": again})
	if !c.disowned {
		text = chat.SayWith("lapsed.stake", chat.Values{
			"first": chat.Plain(clock(c.after.FirstNo, c.block)), "second": chat.Plain(clock(c.block, c.block)), "n": chat.Count(len(m.Pools)), "verify": again,
		})
	}
	m.on(c.after.User.Platform).Notify(ctx, c.after.User.ID, chat.Reply{
		Language: m.Language, Tone: chat.Negative, Title: chat.SayWith("lapsed.title", chat.Values{"badge": changes[i].Badge}), Text: text,
	})
}

// Elapse makes every row older, as if that much time had passed, and looks at all of them. The
// demo uses it.
func (m *Members) Elapse(ctx context.Context, d time.Duration) error {
	var all []Row
	for shard := range shards {
		err := m.rows.change(ctx, shard, func(list []Row) []Row {
			for i := range list {
				for _, t := range list[i].times() {
					if !t.IsZero() {
						*t = t.Add(-d)
					}
				}
			}
			return list
		})
		if err != nil {
			return err
		}
	}
	err := m.rows.each(ctx, func(_ int, list []Row) { all = append(all, list...) })
	if err != nil {
		return err
	}
	return m.look(ctx, all)
}
