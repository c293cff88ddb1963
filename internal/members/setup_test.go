package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

// cycle is RECHECK_EVERY in these tests.
const cycle = 6 * time.Hour

var (
	errFault = errors.New("a fault of the test")
	// errExecuted is the cause of a call that fails after it was carried out.
	errExecuted = errors.New("the answer is lost")
)

// roles are those of the tests: of server 9001 for any stake and for 1,000 tokens, and of server 9002 for any stake.
var roles = []chat.Badge{
	{Community: "9001", ID: "7001"},
	{Community: "9001", ID: "7002", Amount: decimal.NewFromInt(1000)},
	{Community: "9002", ID: "7003"},
}

// call is a call to the platform: Give, Remove or Has.
type call struct{ do, community, badge, user string }

func (c call) String() string { return c.do + " " + c.badge + " " + c.user }

// fake is a platform with its services, and a store. It outlives a Members. Its fields are guarded by mu while a
// Members runs: see change.
type fake struct {
	log    logtest.Buffer
	memory *store.Memory

	mu      sync.Mutex
	oneEach bool
	worn    map[string][]string      // by "community user"; a user without an entry is not a member
	fault   func(call) error         // of each call; nil is a success
	during  func(call)               // is called once, within the next Give or Remove
	stakes  map[common.Address]int64 // -1 cannot be read
	frozen  bool                     // no block has a time
	dids    map[string]string        // by UID; "away" is not known
	calls   []call                   // Give and Remove
	asked   int                      // how often Has was called
	checked int                      // how many wallets were read
	notices []*chat.Reply
	events  map[string]int
	down    bool // the store cannot be read or written
	full    bool // the store cannot be written
	// atReplace is called once, before something is written.
	atReplace func()
}

// membersTest is a Members on a fake platform, in simulated time.
type membersTest struct {
	*testing.T
	*fake
	*Members
	platform *platform
	stop     func() // ends run
}

// newFake returns a platform where user 1 is in both servers, and stakes 5 tokens with a wallet that is theirs.
func newFake() *fake {
	return &fake{
		memory: store.NewMemory(),
		worn:   map[string][]string{"9001 1": {}, "9002 1": {}},
		stakes: map[common.Address]int64{wallet(1): 5},
		dids:   map[string]string{"1": "did:1", wallet(1).Hex(): "did:1"},
		events: map[string]int{},
	}
}

// config returns what New needs.
func (f *fake) config() Config {
	return Config{
		Settings:  Settings{Every: cycle},
		Bucket:    f.bucket,
		Platforms: map[chat.Platform]Platform{"discord": {Bot: "42", Badges: roles, Adapter: f}},
		Claims:    f.memory,
		Limiter:   f.memory,
		Symbol:    "TKN",
		Chain:     "1",
		Pools:     poolList(21),
		Stakes:    f.readStakes,
		Accounts:  f,
		Language:  chat.English,
		Count:     func(event string) { f.change(func() { f.events[event]++ }) },
		Log:       f.log.Logger(),
	}
}

// setBadges replaces the badges of the fake platform.
func (c *Config) setBadges(badges []chat.Badge) {
	p := c.Platforms["discord"]
	p.Badges = badges
	c.Platforms = map[chat.Platform]Platform{"discord": p}
}

// setBot replaces the bot of the fake platform.
func (c *Config) setBot(id string) {
	p := c.Platforms["discord"]
	p.Bot = id
	c.Platforms = map[chat.Platform]Platform{"discord": p}
}

// inBubble runs test with a Members in simulated time, which has not counted the rows yet.
func inBubble(t *testing.T, test func(m *membersTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &membersTest{T: t, fake: newFake(), stop: func() {}}
		m.use(m.config())
		test(m)
		m.stop()
	})
}

// use replaces the Members by one with other settings, on the same platform and store.
func (m *membersTest) use(c Config) {
	m.stop()
	m.stop = func() {}
	m.Members = New(c)
	m.platform = m.platforms["discord"]
}

// useAdapter replaces the Members by one with another adapter.
func (m *membersTest) useAdapter(adapter chat.Badges) {
	c := m.config()
	p := c.Platforms["discord"]
	p.Adapter = adapter
	c.Platforms = map[chat.Platform]Platform{"discord": p}
	m.use(c)
}

// run starts the Members. Its first tick is then over, and each later one is a second before a full minute from now.
func (m *membersTest) run() {
	ctx, cancel := context.WithCancel(m.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Members.Run(ctx)
	}()
	m.stop = func() {
		cancel()
		<-ended
	}
	time.Sleep(time.Second)
}

// restart replaces the running Members by one with other settings, as after a kill.
func (m *membersTest) restart(change func(c *Config)) {
	m.stop()
	c := m.config()
	change(&c)
	m.use(c)
	m.run()
}

// cycles lets n cycles pass.
func (m *membersTest) cycles(n int) { time.Sleep(time.Duration(n) * cycle) }

// ticks lets n ticks pass, and a minute for their calls.
func (m *membersTest) ticks(n int) { time.Sleep(time.Duration(n)*tickEvery + time.Minute) }

func user(id int) chat.User { return chat.User{Platform: "discord", ID: fmt.Sprint(id)} }

func wallet(id int) common.Address { return common.Address{0: 0xee, 18: byte(id >> 8), 19: byte(id)} }

func poolList(n int) (pools []core.Pool) {
	for i := range n {
		pools = append(pools, core.Pool{Address: common.Address{19: byte(i + 1)}})
	}
	return pools
}

// stakeOf returns a stake of which every pool was read; -1 is one of which no pool was.
func stakeOf(amount int64, block time.Time) core.Stake {
	s := core.Stake{Checked: 21, BlockTime: block}
	if amount > 0 {
		s.Staked = []core.PoolAmount{{Amount: decimal.NewFromInt(amount)}}
	}
	if amount < 0 {
		s.Checked, s.Failed = 0, make([]core.UnreadPool, 21)
	}
	return s
}

// failure returns the error of a platform that refuses a call.
func failure(p chat.BadgeProblem) *chat.BadgeError {
	return &chat.BadgeError{Problem: p, Err: errFault}
}

// lost returns the error of a call whose outcome is not known. The fake carries it out if executed.
func lost(executed bool) *chat.BadgeError {
	err := &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: errFault}
	if executed {
		err.Err = errExecuted
	}
	return err
}

// change changes fields while a Members runs.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// failWith has every Give and Remove in server 9001 fail with err; nil: none.
func (f *fake) failWith(err error) {
	f.change(func() {
		f.fault = func(c call) error {
			if c.community == "9001" && c.do != "has" {
				return err
			}
			return nil
		}
	})
}

// bucket opens a bucket of the store that has the fake's faults.
func (f *fake) bucket(name string) Store { return faultyBucket{f.memory.Bucket(name), f} }

// faultyBucket is a bucket of a fake.
type faultyBucket struct {
	store.Bucket
	fake *fake
}

func (b faultyBucket) Load(ctx context.Context, key string) ([]byte, error) {
	if b.fake.is(&b.fake.down) {
		return nil, errFault
	}
	return b.Bucket.Load(ctx, key)
}

func (b faultyBucket) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if b.fake.is(&b.fake.down) || b.fake.is(&b.fake.full) {
		return false, errFault
	}
	if f := b.fake.take(&b.fake.atReplace); f != nil {
		f()
	}
	return b.Bucket.Replace(ctx, key, old, value)
}

func (b faultyBucket) Each(ctx context.Context, f func([]byte)) error {
	if b.fake.is(&b.fake.down) {
		return errFault
	}
	return b.Bucket.Each(ctx, f)
}

func (f *fake) is(flag *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *flag
}

// number returns a field that counts.
func (f *fake) number(field *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *field
}

// take returns a function that is to be called once, or nil.
func (f *fake) take(once *func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	do := *once
	*once = nil
	return do
}

func (f *fake) readStakes(_ context.Context, wallets []common.Address) (all []query.Answer[core.Stake]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checked += len(wallets)
	for _, w := range wallets {
		block := time.Now()
		if f.frozen {
			block = time.Time{}
		}
		a := query.Answer[core.Stake]{Snapshot: query.Snapshot[core.Stake]{Value: stakeOf(f.stakes[w], block)}}
		if f.stakes[w] < 0 {
			a.Err = errFault
		}
		all = append(all, a)
	}
	return all
}

// Get implements query.Source for accounts.
func (f *fake) Get(_ context.Context, id core.Identity) (s query.Snapshot[core.Account], err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Value.DID = f.dids[id.UID]
	if s.Value.DID == "away" {
		return s, errFault
	}
	return s, nil
}

func (f *fake) OneEach() bool                          { return f.is(&f.oneEach) }
func (f *fake) BadgeName(_, id string) chat.Untrusted  { return chat.Untrusted("@" + id) }
func (f *fake) CommunityName(id string) chat.Untrusted { return chat.Untrusted("Server " + id) }
func (f *fake) Notify(_ context.Context, _ string, r *chat.Reply) {
	f.change(func() { f.notices = append(f.notices, r) })
}

func (f *fake) Has(ctx context.Context, community, user string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := f.faultOf(call{"has", community, "", user}); err != nil {
		return nil, err
	}
	return slices.Clone(f.worn[community+" "+user]), nil
}

func (f *fake) Give(_ context.Context, community, id, user, _ string) error {
	return f.carryOut(call{"give", community, id, user})
}

func (f *fake) Remove(_ context.Context, community, id, user, _ string) error {
	return f.carryOut(call{"remove", community, id, user})
}

// faultOf returns why a call fails, or nil.
func (f *fake) faultOf(c call) error {
	if f.fault != nil {
		if err := f.fault(c); err != nil {
			return err
		}
	}
	if _, member := f.worn[c.community+" "+c.user]; !member {
		return failure(chat.NotAMember)
	}
	return nil
}

// carryOut carries out a call that does not fail, or whose answer is lost.
func (f *fake) carryOut(c call) error {
	f.mu.Lock()
	during := f.during
	f.during = nil
	f.mu.Unlock()
	if during != nil {
		during(c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	err := f.faultOf(c)
	if err != nil && !errors.Is(err, errExecuted) {
		return err
	}
	at := c.community + " " + c.user
	f.worn[at] = slices.DeleteFunc(f.worn[at], func(id string) bool { return id == c.badge || f.oneEach })
	if c.do == "give" {
		f.worn[at] = append(f.worn[at], c.badge)
	}
	return err
}

// wears sets what a user wears in a server, and that they are a member.
func (f *fake) wears(community string, id int, badges ...string) {
	f.change(func() { f.worn[fmt.Sprint(community, " ", id)] = slices.Clone(badges) })
}

// leaves lets user 1 leave a server.
func (f *fake) leaves(community string) {
	f.change(func() { delete(f.worn, community+" 1") })
}

// stakesNow sets the stake of the wallet of a user.
func (f *fake) stakesNow(id int, amount int64) { f.change(func() { f.stakes[wallet(id)] = amount }) }

// called returns the calls since it was last called.
func (f *fake) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, c := range f.calls {
		all = append(all, c.String())
	}
	f.calls = nil
	return strings.Join(all, ", ")
}

// seen returns what each user wears in a server, such as "1:7001+7002".
func (f *fake) seen(community string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, at := range slices.Sorted(maps.Keys(f.worn)) {
		id, isHere := strings.CutPrefix(at, community+" ")
		if isHere && len(f.worn[at]) > 0 {
			all = append(all, id+":"+strings.Join(f.worn[at], "+"))
		}
	}
	return strings.Join(all, " ")
}

// event returns how often an event was counted.
func (f *fake) event(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[name]
}

// equal fails the test unless got is want.
func (m *membersTest) equal(what string, got, want any) {
	m.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.Errorf("%s: %v, want %v", what, got, want)
	}
}

// row returns a row of a user that was checked just now. They reach an amount, or -1 for none, and hold badges of
// server 9001.
func (m *membersTest) row(id int, reaches int64, badges ...string) Row {
	now := timeOf(time.Now())
	r := Row{
		User:      user(id),
		Wallet:    wallet(id),
		Pools:     m.platform.tiers.pools,
		SavedAt:   now,
		ProvenAt:  now,
		CheckedAt: now,
		Block:     now,
		Due:       m.platform.nextDue(now.Time),
	}
	if reaches >= 0 {
		r.Reached = decimal.NewNullDecimal(decimal.NewFromInt(reaches))
	}
	for _, badge := range badges {
		r.Badges = append(r.Badges, Held{Community: "9001", Badge: badge, Since: now})
	}
	return r
}

// put saves rows.
func (m *membersTest) put(rows ...Row) {
	m.Helper()
	for _, r := range rows {
		if _, err := m.platform.rows.update(m.Context(), r.User.ID, func(*Row) *Row { return &r }); err != nil {
			m.Fatal(err)
		}
	}
}

// putStakers saves rows of users 1 to n, who wear badges of server 9001 and stake an amount.
func (m *membersTest) putStakers(n int, stake int64, badges ...string) {
	m.Helper()
	for id := 1; id <= n; id++ {
		m.put(m.row(id, reachedBy(stake), badges...))
		m.wears("9001", id, badges...)
		m.stakesNow(id, stake)
	}
}

// reachedBy returns the highest amount of the roles that a stake reaches, or -1.
func reachedBy(stake int64) int64 {
	switch {
	case stake >= 1000:
		return 1000
	case stake > 0:
		return 0
	}
	return -1
}

// saved returns the saved row of a user, or an empty one.
func (m *membersTest) saved(id int) Row {
	m.Helper()
	r, err := m.platform.rows.load(m.Context(), user(id).ID)
	if err != nil {
		m.Fatal(err)
	}
	if r == nil {
		return Row{}
	}
	return *r
}

// presses has user 1 save a wallet of theirs, and returns what they are told.
func (m *membersTest) presses(wallet common.Address, stake int64) string {
	m.Helper()
	m.change(func() {
		m.stakes[wallet] = stake
		m.dids[wallet.Hex()] = "did:1"
	})
	changes, err := m.Save(m.Context(), user(1), wallet, stakeOf(stake, time.Now()))
	if err != nil {
		m.Error(err)
	}
	return changed(changes)
}

// changed returns changes as "+7001", "-7001", "+7001 failed" or "+7001 later".
func changed(changes []Change) string {
	var all []string
	for _, c := range changes {
		sign := "+"
		if c.Removed {
			sign = "-"
		}
		s := strings.TrimSpace(sign + c.Badge.ID + " " + string(c.Problem))
		if c.Later {
			s += " later"
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// shown returns the badges and the idle communities of a row, such as "7001 unsure goes, idle 9002".
func shown(r Row) string {
	var all []string
	for _, h := range r.Badges {
		all = append(all, h.Badge+flags(h))
	}
	slices.Sort(all)
	for _, id := range r.Idle {
		all = append(all, "idle "+id)
	}
	return strings.Join(all, ", ")
}

// flags returns what is set in the entry of a badge.
func flags(h Held) (s string) {
	for _, flag := range []struct {
		word string
		set  bool
	}{
		{" low", h.Low != Low{}},
		{" goes", h.Goes != 0},
		{" unsure", h.Unsure},
		{" released", h.Released},
		{" refused", !h.Refused.IsZero()},
	} {
		if flag.set {
			s += flag.word
		}
	}
	return s
}
