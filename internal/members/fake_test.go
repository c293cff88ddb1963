package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

var (
	// errFault is the cause of a call that fails without being carried out.
	errFault = errors.New("a fault of the test")
	// errExecuted is the cause of a call that fails after it was carried out.
	errExecuted = errors.New("the answer is lost")
)

// roles are the configured badges: of server 9001 for any stake and for 1,000 tokens, and of server 9002 for any stake.
var roles = []chat.Badge{
	{Community: "9001", ID: "7001"},
	{Community: "9001", ID: "7002", Amount: decimal.NewFromInt(1000)},
	{Community: "9002", ID: "7003"},
}

// call is a call to the platform: Give, Remove or Worn.
type call struct {
	do        string // "give", "remove" or "has", which stands for Worn
	community string
	badge     string
	user      string
}

func (c call) String() string { return c.do + " " + c.badge + " " + c.user }

// fake is everything that a Members works with: a platform, a node and a partner, and a store. It outlives a Members.
// While a Members runs, mu guards its fields: change them within change.
type fake struct {
	log    logtest.Buffer
	memory *store.Memory

	mu sync.Mutex

	// The platform.
	oneEach bool                // a member wears one badge at a time
	worn    map[string][]string // badges by "community user"; a user without an entry is not a member
	fault   func(call) error    // returns why a call fails, or nil if it succeeds
	during  func(call)          // called once, within the next Give or Remove

	// The node and the partner.
	stakes map[common.Address]int64 // -1 if it cannot be read
	frozen bool                     // no block has a time
	dids   map[string]string        // the DIDs of users and wallets, by UID; "away" if the partner does not answer

	// The store.
	down      bool   // it can be neither read nor written
	full      bool   // it cannot be written
	atReplace func() // called once, before the next value is written

	// What the Members did.
	calls   []call // of Give and Remove
	asked   int    // how often Worn was called
	checked int    // how many wallets were read
	notices []*chat.Reply
	events  map[string]int
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

// config returns the Config of a Members that uses f for everything.
func (f *fake) config() Config {
	return Config{
		Settings:  Settings{Every: cycle},
		Bucket:    f.bucket,
		Platforms: map[chat.Platform]Platform{"discord": {Bot: "42", Configured: roles, Adapter: f}},
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

// poolList returns n pools.
func poolList(n int) (pools []core.Pool) {
	for i := range n {
		pools = append(pools, core.Pool{Address: common.Address{19: byte(i + 1)}})
	}
	return pools
}

// stakeOf returns a stake of an amount, as read at a block. All pools were read, or none if the amount is -1.
func stakeOf(amount int64, block time.Time) core.Stake {
	s := core.Stake{Checked: 21, BlockTime: block}
	if amount > 0 {
		s.Staked = []core.PoolAmount{{Amount: decimal.NewFromInt(amount)}}
	}
	if amount < 0 {
		s.Checked = 0
		s.Failed = make([]core.UnreadPool, 21)
	}
	return s
}

// failure returns the error of a platform that refuses a call.
func failure(p chat.BadgeProblem) *chat.BadgeError {
	return &chat.BadgeError{Problem: p, Err: errFault}
}

// lost returns the error of a call whose outcome is unknown. If executed is set, the fake carries the call out.
func lost(executed bool) *chat.BadgeError {
	err := &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: errFault}
	if executed {
		err.Err = errExecuted
	}
	return err
}

// change calls do, which may change fields while a Members runs.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// failWith makes every Give and Remove in server 9001 fail with err. If err is nil, they succeed.
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
	if b.fake.isSet(&b.fake.down) {
		return nil, errFault
	}
	return b.Bucket.Load(ctx, key)
}

func (b faultyBucket) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if b.fake.isSet(&b.fake.down) || b.fake.isSet(&b.fake.full) {
		return false, errFault
	}
	if f := b.fake.take(&b.fake.atReplace); f != nil {
		f()
	}
	return b.Bucket.Replace(ctx, key, old, value)
}

func (b faultyBucket) Each(ctx context.Context, f func([]byte)) error {
	if b.fake.isSet(&b.fake.down) {
		return errFault
	}
	return b.Bucket.Each(ctx, f)
}

// isSet returns the value of one of the fields of f.
func (f *fake) isSet(flag *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *flag
}

// number returns the value of one of the fields of f.
func (f *fake) number(field *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *field
}

// take returns one of the fields of f, and clears it, so that the function is called once.
func (f *fake) take(once *func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	do := *once
	*once = nil
	return do
}

// readStakes is Config.Stakes.
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

// Get implements query.Source for the accounts that the partner knows.
func (f *fake) Get(_ context.Context, id core.Identity) (s query.Snapshot[core.Account], err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Value.DID = f.dids[id.UID]
	if s.Value.DID == "away" {
		return s, errFault
	}
	return s, nil
}

func (f *fake) OneEach() bool                          { return f.isSet(&f.oneEach) }
func (f *fake) BadgeName(_, id string) chat.Untrusted  { return chat.Untrusted("@" + id) }
func (f *fake) CommunityName(id string) chat.Untrusted { return chat.Untrusted("Server " + id) }
func (f *fake) Notify(_ context.Context, _ string, r *chat.Reply) {
	f.change(func() { f.notices = append(f.notices, r) })
}

// Worn implements chat.BadgeGiver.
func (f *fake) Worn(ctx context.Context, community, user string) ([]string, error) {
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

// Give implements chat.BadgeGiver.
func (f *fake) Give(_ context.Context, community, id, user, _ string) error {
	return f.carryOut(call{"give", community, id, user})
}

// Remove implements chat.BadgeGiver.
func (f *fake) Remove(_ context.Context, community, id, user, _ string) error {
	return f.carryOut(call{"remove", community, id, user})
}

// faultOf returns why a call fails, or nil if it succeeds.
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

// carryOut records a Give or Remove. It carries the call out if the call succeeds, or if only its answer is lost.
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

// setWorn makes a user a member of a server who wears these badges.
func (f *fake) setWorn(community string, id int, badges ...string) {
	f.change(func() { f.worn[fmt.Sprint(community, " ", id)] = slices.Clone(badges) })
}

// leaves makes user 1 leave a server.
func (f *fake) leaves(community string) {
	f.change(func() { delete(f.worn, community+" 1") })
}

// stakesNow sets what a user's wallet stakes.
func (f *fake) stakesNow(id int, amount int64) { f.change(func() { f.stakes[wallet(id)] = amount }) }

// called returns the calls of Give and Remove since it was last called, such as "give 7001 1, remove 7002 1".
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

// wornIn returns what each user wears in a server, such as "1:7001+7002 2:7001". It leaves out users without a badge.
func (f *fake) wornIn(community string) string {
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
