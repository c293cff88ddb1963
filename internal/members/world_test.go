package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

// lease is how long a claim of a killed replica lasts.
const lease = 30 * time.Second

var errFault = errors.New("a fault of the test")

// claim is what a replica has claimed.
type claim struct {
	by       *replica
	until    time.Time
	answered bool
}

// person is somebody with two wallets and a place in communities.
type person struct {
	chat.User
	wallets [2]common.Address
	stakes  [2]int64
	// disowned says that the wallets are another account's.
	disowned bool
	in       map[string]bool
	has      map[string]bool // by community and badge
	// saved is the index of the saved wallet, or -1; pressed says that there was one.
	saved   int
	pressed bool
	// lowSince is by amount since when the saved wallet is or was below it; zero: never.
	lowSince map[int64]time.Time
}

// stake returns what the saved wallet stakes, which is nothing if the wallet is another's.
func (p *person) stake() int64 {
	if p.saved < 0 || p.disowned {
		return 0
	}
	return p.stakes[p.saved]
}

// community is how a server or group behaves.
type community struct {
	problem chat.BadgeProblem
	// carriedOut says that a call which fails has its effect all the same.
	carriedOut bool
	calls      []string
}

// world is what replicas share: a store, claims, a chain, a partner and a platform.
type world struct {
	t       *testing.T
	every   time.Duration
	oneEach bool
	limiter chat.Limiter
	log     logtest.Buffer

	mu          sync.Mutex
	people      []*person
	values      map[string][]byte
	claims      map[string]claim
	badges      []chat.Badge
	pools       []core.Pool
	skew        time.Duration // of the blocks
	communities map[string]*community

	storeAway, diskFull, nodeAway, partial, partnerAway bool
	// unregistered says that the partner knows nobody.
	unregistered bool

	// callTime and readTime are how long a call and a reading take.
	callTime, readTime time.Duration
	onRead             func()
	onCall             func(user string, remove bool)
	effects            atomic.Int64
	victim             atomic.Pointer[replica]
	killAt             atomic.Int64
	notices            []chat.Reply
	asked              int
	events             map[string]int
}

var twoBadges = []chat.Badge{
	{Community: "9001", ID: "7001"}, {Community: "9001", ID: "7002", Amount: decimal.NewFromInt(1000)}, {Community: "9002", ID: "7003"},
}

func newWorld(t *testing.T, every time.Duration, people int) *world {
	w := &world{
		t: t, every: every, limiter: store.NewMemory(), values: map[string][]byte{}, claims: map[string]claim{}, badges: twoBadges,
		pools: poolList(21), communities: map[string]*community{"9001": {}, "9002": {}, "9003": {}}, callTime: 50 * time.Millisecond, events: map[string]int{},
	}
	for i := range people {
		p := &person{
			User:    chat.User{Platform: "discord", ID: fmt.Sprint(700000000000000000 + i)},
			wallets: [2]common.Address{{0: 0xee, 18: byte(i >> 8), 19: byte(i)}, {0: 0xdd, 18: byte(i >> 8), 19: byte(i)}},
			stakes:  [2]int64{5, 0}, in: map[string]bool{"9001": true, "9002": i != 1, "9003": true}, has: map[string]bool{}, saved: -1, lowSince: map[int64]time.Time{},
		}
		w.people = append(w.people, p)
	}
	return w
}

func poolList(n int) (pools []core.Pool) {
	for i := range n {
		pools = append(pools, core.Pool{Address: common.Address{19: byte(i + 1)}})
	}
	return pools
}

// change changes the world.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.see()
}

// see notes who is below an amount. mu is held.
func (w *world) see() {
	for _, p := range w.people {
		for _, amount := range []int64{1, 1000} {
			switch low := p.stake() < amount; {
			case low && p.lowSince[amount].IsZero():
				p.lowSince[amount] = time.Now()
			}
		}
	}
}

// replica is a process. What it does once it is killed has no effect.
type replica struct {
	*world
	m      *Members
	badges []chat.Badge
	dead   atomic.Bool
	stop   context.CancelFunc
	ended  chan struct{}
}

func (w *world) start() *replica {
	ctx, stop := context.WithCancel(w.t.Context())
	r := &replica{world: w, badges: w.badges, stop: stop, ended: make(chan struct{})}
	r.m = New(Config{
		Settings: Settings{Every: w.every}, Store: r, Badges: map[chat.Platform][]chat.Badge{"discord": w.badges}, Claims: r, Limiter: w.limiter,
		Bot: "bot", Symbol: "TKN", Chain: "1", Pools: w.pools, Stakes: r.stakesOf, Accounts: r, Language: chat.English,
		Count: func(event string) { w.mu.Lock(); defer w.mu.Unlock(); w.events[event]++ },
		Log:   r.logger(),
	})
	r.m.Use("discord", r)
	go func() { r.m.Run(ctx); close(r.ended) }()
	return r
}

func (r *replica) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&r.log, nil)) }

// end stops a replica as SIGTERM does, and kill as SIGKILL.
func (r *replica) end() { r.stop(); <-r.ended }

func (r *replica) kill() { r.dead.Store(true); r.end() }

// effect counts something that outlives the replica. It returns false if the replica is dead.
func (r *replica) effect() bool {
	if n := r.effects.Add(1); n == r.killAt.Load() && r.victim.Load() == r {
		r.dead.Store(true)
	}
	return !r.dead.Load()
}

// Load implements Store.
func (r *replica) Load(_ context.Context, key string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.storeAway || r.dead.Load() {
		return nil, errFault
	}
	return r.values[key], nil
}

// Replace implements Store.
func (r *replica) Replace(_ context.Context, key string, old, value []byte) (bool, error) {
	if !r.effect() {
		return false, errFault
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.storeAway || r.diskFull:
		return false, errFault
	case string(r.values[key]) != string(old):
		return false, nil
	case value == nil:
		delete(r.values, key)
	default:
		r.values[key] = value
	}
	return true, nil
}

// Claim implements chat.Dedup.
func (r *replica) Claim(_ context.Context, key string, _ ...chat.Limit) (chat.Progress, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.claims[key]
	mine := c.by != nil && !c.by.dead.Load() && !c.answered
	switch {
	case c.answered && time.Now().Before(c.until):
		return chat.Done, 0
	case mine, c.by != nil && time.Now().Before(c.until):
		return chat.InFlight, 0
	}
	r.claims[key] = claim{by: r, until: time.Now().Add(lease)}
	return chat.New, 0
}

// Release implements chat.Dedup.
func (r *replica) Release(key string, answered bool, ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead.Load() || r.claims[key].by != r {
		return
	}
	delete(r.claims, key)
	if answered {
		r.claims[key] = claim{answered: true, until: time.Now().Add(ttl)}
	}
}

// stakeOf returns what the node says of a wallet. mu is held.
func (r *replica) stakeOf(wallet common.Address) (a core.Answer[core.Stake]) {
	if r.nodeAway {
		a.Err = errFault
		return a
	}
	staked := int64(0)
	for _, p := range r.people {
		if i := slices.Index(p.wallets[:], wallet); i >= 0 {
			staked = p.stakes[i]
		}
	}
	s := core.Stake{Block: 1000, BlockTime: time.Now().Add(r.skew), Checked: len(r.m.Pools)}
	if staked > 0 {
		s.Staked = []core.PoolAmount{{Pool: r.m.Pools[0], Amount: decimal.NewFromInt(staked)}}
	}
	if r.partial { // The pool with the stake is the one that cannot be read.
		s.Staked, s.Checked, s.Failed = nil, s.Checked-1, []core.UnreadPool{{Pool: r.m.Pools[0]}}
	}
	a.Value, a.At = s, time.Now()
	return a
}

func (r *replica) stakesOf(ctx context.Context, wallets []common.Address) (answers []core.Answer[core.Stake]) {
	r.mu.Lock()
	onRead, readTime := r.onRead, r.readTime
	r.mu.Unlock()
	if onRead != nil && len(wallets) > 0 {
		onRead()
	}
	time.Sleep(readTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, wallet := range wallets {
		a := r.stakeOf(wallet)
		if ctx.Err() != nil {
			a = core.Answer[core.Stake]{Err: ctx.Err()}
		}
		answers = append(answers, a)
	}
	return answers
}

// Get implements core.Source for accounts.
func (r *replica) Get(_ context.Context, id core.Identity) (s core.Snapshot[core.Account], err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.partnerAway {
		return s, errFault
	}
	if r.unregistered {
		return s, nil
	}
	for _, p := range r.people {
		owns := slices.Contains(p.wallets[:], common.HexToAddress(id.UID))
		if id.Platform != core.EVM && p.ID == id.UID || owns && !p.disowned {
			s.Value.DID = "did:" + p.ID
		} else if owns {
			s.Value.DID = "did:another"
		}
	}
	return s, nil
}

// OneEach implements chat.Badges.
func (r *replica) OneEach() bool { return r.oneEach }

// BadgeName implements chat.Badges.
func (r *replica) BadgeName(_, id string) chat.Untrusted { return "@" + chat.Untrusted(id) }

// CommunityName implements chat.Badges.
func (r *replica) CommunityName(community string) chat.Untrusted {
	return chat.Untrusted("Server " + community)
}

// Notify implements chat.Badges.
func (r *replica) Notify(_ context.Context, _ string, reply chat.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, reply)
}

// Has implements chat.Badges.
func (r *replica) Has(_ context.Context, community, user string) (ids []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.person(user)
	if !p.in[community] {
		return nil, &chat.BadgeError{Problem: chat.NotAMember, Err: errFault}
	}
	return p.badges(community), nil
}

// badges returns what a person has in a community.
func (p *person) badges(community string) (ids []string) {
	for _, key := range slices.Sorted(maps.Keys(p.has)) {
		if c, id, _ := strings.Cut(key, ":"); c == community && p.has[key] {
			ids = append(ids, id)
		}
	}
	return ids
}

// sees has p send a command in a community.
func (r *replica) sees(p *person, community string) {
	r.mu.Lock()
	has := p.badges(community)
	r.mu.Unlock()
	r.m.Seen(p.User, community, has)
}

func (w *world) person(id string) *person {
	i := slices.IndexFunc(w.people, func(p *person) bool { return p.ID == id })
	return w.people[i]
}

// Give implements chat.Badges.
func (r *replica) Give(_ context.Context, community, id, user, _ string) error {
	return r.set(community, id, user, false)
}

// Remove implements chat.Badges. It fails the test if the badge may not go.
func (r *replica) Remove(_ context.Context, community, id, user, _ string) error {
	return r.set(community, id, user, true)
}

func (r *replica) set(community, id, user string, remove bool) error {
	r.mu.Lock()
	onCall, took := r.onCall, r.callTime
	r.mu.Unlock()
	if onCall != nil {
		onCall(user, remove)
	}
	time.Sleep(took)
	if !r.effect() {
		return &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: errFault}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, p := r.communities[community], r.person(user)
	if !p.pressed {
		r.t.Errorf("a call for %s, who never pressed", user)
	}
	if c.problem != "" && !c.carriedOut {
		c.calls = append(c.calls, "refused")
		return &chat.BadgeError{Problem: c.problem, OutcomeUnknown: c.problem == chat.BadgeFailed, Err: errFault}
	}
	if !p.in[community] {
		return &chat.BadgeError{Problem: chat.NotAMember, Err: errFault}
	}
	had := p.badges(community)
	if remove {
		delete(p.has, community+":"+id)
	} else {
		if r.oneEach {
			maps.DeleteFunc(p.has, func(key string, _ bool) bool { return strings.HasPrefix(key, community+":") })
		}
		p.has[community+":"+id] = true
	}
	for _, lost := range had {
		if !p.has[community+":"+lost] {
			r.judge(p, community, lost)
		}
	}
	c.calls = append(c.calls, fmt.Sprint(map[bool]string{true: "remove ", false: "give "}[remove], id, " ", user[15:]))
	if c.problem != "" {
		return &chat.BadgeError{Problem: c.problem, OutcomeUnknown: true, Err: errFault}
	}
	return nil
}

// judge fails the test unless p's badge may go now. mu is held.
func (r *replica) judge(p *person, community, id string) {
	i := slices.IndexFunc(r.badges, func(b chat.Badge) bool { return b.Community == community && b.ID == id })
	if i < 0 || p.saved < 0 {
		return
	}
	amount := max(1, r.badges[i].Amount.IntPart())
	if r.oneEach && slices.ContainsFunc(r.badges, func(b chat.Badge) bool {
		return b.Community == community && b.Amount.GreaterThan(r.badges[i].Amount) && p.has[community+":"+b.ID]
	}) {
		return
	}
	if since := p.lowSince[amount]; since.IsZero() || time.Since(since) < minApart {
		r.t.Errorf("a badge for %d goes though its person is below since %v, now %v; stake %d", amount, since, time.Now(), p.stake())
	}
}

// save has p press the button that saves a wallet.
func (r *replica) save(p *person, wallet int) ([]Change, error) {
	r.mu.Lock()
	a := r.stakeOf(p.wallets[wallet])
	known := a.Err == nil && a.Value.Outcome() != core.Undetermined && !p.disowned && !r.partnerAway && r.skew == 0
	if known {
		p.pressed = true
	}
	r.mu.Unlock()
	if !known {
		return nil, errFault
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	var before int
	r.change(func() { before, p.saved = p.saved, wallet }) // From now on it counts as this one's.
	changes, err := r.m.Save(ctx, p.User, p.wallets[wallet], a.Value)
	r.change(func() {
		if err != nil && !r.dead.Load() {
			p.saved = before
		}
		for _, amount := range []int64{1, 1000} {
			if p.stake() >= amount && err == nil {
				p.lowSince[amount] = time.Time{}
			}
		}
	})
	return changes, err
}

// forgets has p send /forget, and reports whether nothing is left of them.
func (r *replica) forgets(p *person) bool {
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	before := p.saved
	r.change(func() { p.saved = -1 })
	f, err := r.m.Forget(ctx, p.User)
	if err != nil {
		r.change(func() { p.saved = before })
		return false
	}
	return !slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Problem != "" || c.Later })
}

// snapshot returns what the store holds.
func (w *world) snapshot() map[string][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.values)
}
