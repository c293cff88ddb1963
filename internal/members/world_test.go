package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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

// maxSkew is how far the chain's clock may be from ours before the node counts as frozen.
const maxSkew = 10 * time.Minute

var errFault = errors.New("a fault of the test")

// claim is what a replica has claimed.
type claim struct {
	by       *replica
	until    time.Time
	answered bool
}

// person is somebody with an account, a wallet and a place in some communities.
type person struct {
	chat.User
	wallet common.Address
	stakes bool
	// disowned is since when the wallet is another account's; zero: it is theirs.
	disowned time.Time
	in       map[string]bool
	wears    map[string]bool
	// pressed says that they pressed a button to keep a wallet, and forget that they want to
	// be forgotten.
	pressed, forget bool
	// looks counts the readings of their wallet by looks.
	looks atomic.Int64
	// kept is when they last kept a wallet.
	kept time.Time
	// firstNo and lastNo are the blocks of complete answers without a stake, in a row and
	// under the same pools.
	firstNo, lastNo time.Time
	pools           uint64
}

// world is what replicas share: a store, claims, a chain, a partner and a platform.
type world struct {
	t       *testing.T
	every   time.Duration
	limiter chat.Limiter
	log     logtest.Buffer

	mu      sync.Mutex
	people  []*person
	values  map[string][]byte
	claims  map[string]claim
	pools   []core.Pool
	changed time.Time // when pools changed; zero: never
	skew    time.Duration

	storeAway, diskFull, nodeAway, partial, partnerAway bool
	// problem is that of every call to the platform, and carriedOut says that the call has
	// its effect all the same.
	problem    chat.BadgeProblem
	carriedOut bool
	// giveTime and takeTime are how much longer a call to give or to take needs, and readTime
	// how long a reading of stakes needs.
	giveTime, takeTime, readTime time.Duration
	// onRead and onTake are called before a reading, and before a call to take.
	onRead func()
	onTake func(*person)
	// unjudged lets every badge go.
	unjudged bool
	// killed says that a replica was killed: its last answers have no effect.
	killed  bool
	effects atomic.Int64
	// victim is the replica that onEffect may kill.
	victim   atomic.Pointer[replica]
	onEffect func(n int64)
	calls    []string // "give 9001 7001", in order
	// asked and attempts are the communities and times of all calls.
	asked    []string
	attempts []time.Time
	notices  []chat.Reply
	// accounts counts the questions to the partner.
	accounts int
	// retryAfter is the wait that a problem asks for.
	retryAfter time.Duration
}

var communities = []string{"9001", "9002"}

func newWorld(t *testing.T, every time.Duration, people int) *world {
	w := &world{t: t, every: every, limiter: store.NewMemory(), values: map[string][]byte{}, claims: map[string]claim{}, pools: poolList(21), retryAfter: time.Minute}
	for i := range people {
		p := &person{
			User: chat.User{Platform: "discord", ID: fmt.Sprint(700000000000000000 + i)}, wallet: common.Address{0: 0xee, 18: byte(i >> 8), 19: byte(i)},
			stakes: true, in: map[string]bool{}, wears: map[string]bool{},
		}
		for _, c := range communities {
			p.in[c] = i != 1 || c == communities[0]
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

// replica is a process. What it asks for once it is killed has no effect.
type replica struct {
	*world
	m     *Members
	dead  atomic.Bool
	stop  context.CancelFunc
	ended chan struct{}
	pools uint64
}

func (w *world) start() *replica {
	ctx, stop := context.WithCancel(w.t.Context())
	r := &replica{world: w, stop: stop, ended: make(chan struct{}), pools: poolsID("1", w.pools)}
	r.m = New(Config{
		Settings: Settings{Every: w.every}, Store: r, Claims: r, Limiter: w.limiter, Bot: "bot", Chain: "1", Pools: w.pools,
		Stakes: r.stakesOf, Accounts: r, Language: chat.English, Count: func(string) {},
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	r.m.Use("discord", r)
	go func() { r.m.Run(ctx); close(r.ended) }()
	return r
}

// end stops a replica as SIGTERM does, and kill as SIGKILL.
func (r *replica) end() { r.stop(); <-r.ended }

func (r *replica) kill() {
	r.dead.Store(true)
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	r.end()
}

// effect counts something that outlives the replica. It returns false if the replica is dead.
func (r *replica) effect() bool {
	if r.dead.Load() {
		return false
	}
	n := r.effects.Add(1)
	r.mu.Lock()
	onEffect := r.onEffect
	r.mu.Unlock()
	if onEffect != nil {
		onEffect(n)
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

// Swap implements Store.
func (r *replica) Swap(_ context.Context, key string, old, value []byte, _ time.Duration) bool {
	if !r.effect() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.storeAway || string(r.values[key]) != string(old):
		return false
	case r.diskFull:
		return true
	}
	r.values[key] = value
	return true
}

// Claim implements chat.Dedup.
func (r *replica) Claim(_ context.Context, key string) chat.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.claims[key]
	mine := c.by != nil && !c.by.dead.Load() && !c.answered
	switch {
	case c.answered && time.Now().Before(c.until):
		return chat.Answered
	case mine, c.by != nil && time.Now().Before(c.until):
		return chat.InFlight
	}
	r.claims[key] = claim{by: r, until: time.Now().Add(lease)}
	return chat.New
}

// Release implements chat.Dedup.
func (r *replica) Release(_ context.Context, key string, answered bool, ttl time.Duration) {
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

// stakeOf returns what the node says of a wallet. r.mu is held.
func (r *replica) stakeOf(p *person) (a core.Answer[core.Stake]) {
	if r.nodeAway || r.skew.Abs() > maxSkew {
		a.Err = errFault
		return a
	}
	s := core.Stake{Block: 1000, BlockTime: time.Now().Add(r.skew), Checked: len(r.world.pools)}
	if p.stakes {
		s.Staked = []core.PoolAmount{{Pool: r.world.pools[0], Amount: decimal.NewFromInt(5)}}
	}
	if r.partial { // The pool with the stake is the one that cannot be read.
		s.Staked, s.Checked, s.Failed = nil, s.Checked-1, []core.UnreadPool{{Pool: r.world.pools[0]}}
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
	if ctx.Err() != nil {
		answers = make([]core.Answer[core.Stake], len(wallets))
		for i := range answers {
			answers[i].Err = ctx.Err()
		}
		return answers
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, wallet := range wallets {
		p := r.owner(wallet)
		p.looks.Add(1)
		a := r.stakeOf(p)
		if !r.dead.Load() {
			p.see(a, r.pools, r.killed)
		}
		answers = append(answers, a)
	}
	return answers
}

// see notes an answer about the person's wallet. lenient says that an unknown may never have
// been saved.
func (p *person) see(a core.Answer[core.Stake], pools uint64, lenient bool) {
	outcome := a.Value.Outcome()
	switch {
	case a.Err != nil || outcome == core.Undetermined:
		if !lenient {
			p.firstNo = time.Time{}
		}
	case outcome == core.Staker, p.pools != pools:
		p.firstNo, p.pools = time.Time{}, pools
	default:
		p.lastNo = a.Value.BlockTime
		if p.firstNo.IsZero() || p.lastNo.Before(p.firstNo) {
			p.firstNo = p.lastNo
		}
	}
}

func (w *world) owner(wallet common.Address) *person {
	for _, p := range w.people {
		if p.wallet == wallet {
			return p
		}
	}
	w.t.Fatal("asked for a wallet that nobody kept")
	return nil
}

func (w *world) person(id string) *person {
	for _, p := range w.people {
		if p.ID == id {
			return p
		}
	}
	w.t.Fatal("a call for a stranger")
	return nil
}

// Get implements core.Source for accounts.
func (r *replica) Get(_ context.Context, id core.Identity) (s core.Snapshot[core.Account], err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accounts++
	if r.partnerAway {
		return s, errFault
	}
	if id.Platform != core.EVM {
		return core.Snapshot[core.Account]{Value: core.Account{DID: "did:" + id.UID}}, nil
	}
	p := r.owner(common.HexToAddress(id.UID))
	if !p.disowned.IsZero() {
		return core.Snapshot[core.Account]{Value: core.Account{DID: "did:another"}}, nil
	}
	return core.Snapshot[core.Account]{Value: core.Account{DID: "did:" + p.ID}}, nil
}

// Communities implements chat.Badges.
func (r *replica) Communities() []string { return communities }

// BadgeName implements chat.Badges.
func (r *replica) BadgeName(string) chat.Untrusted { return "@Staker" }

// Wearers implements chat.Badges.
func (r *replica) Wearers(_ context.Context, community string) (n int, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.people {
		if p.wears[community] {
			n++
		}
	}
	return n, nil
}

// Notify implements chat.Badges.
func (r *replica) Notify(_ context.Context, _ string, reply chat.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, reply)
}

// Give implements chat.Badges.
func (r *replica) Give(_ context.Context, community, user, _ string) error {
	return r.set(community, user, true)
}

// Take implements chat.Badges. It fails the test if the badge may not go.
func (r *replica) Take(_ context.Context, community, user, _ string) error {
	return r.set(community, user, false)
}

func (r *replica) set(community, user string, wears bool) error {
	r.mu.Lock()
	onTake, took := r.onTake, 50*time.Millisecond+map[bool]time.Duration{true: r.giveTime, false: r.takeTime}[wears]
	r.mu.Unlock()
	if !wears && onTake != nil {
		onTake(r.person(user))
	}
	time.Sleep(took) // simulated
	if !r.effect() {
		return &chat.BadgeError{Problem: chat.BadgeFailed, Err: errFault}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.attempts = append(r.asked, community), append(r.attempts, time.Now())
	p := r.person(user)
	if !p.pressed {
		r.t.Errorf("a call for %s, who never pressed", user)
	}
	if r.problem != "" && !r.carriedOut {
		return &chat.BadgeError{Problem: r.problem, Err: errFault, RetryAfter: r.retryAfter}
	}
	if !p.in[community] {
		return &chat.BadgeError{Problem: chat.NotAMember, Err: errFault}
	}
	if !wears {
		r.judge(p)
	}
	verb := map[bool]string{true: "give", false: "take"}[wears]
	r.calls = append(r.calls, verb+" "+community+" "+user)
	p.wears[community] = wears
	if r.problem != "" {
		return &chat.BadgeError{Problem: r.problem, Err: errFault}
	}
	return nil
}

// judge fails the test unless p's badge may go now. mu is held.
func (w *world) judge(p *person) {
	disowned := !p.disowned.IsZero() && time.Since(p.disowned) >= minApart
	two := !p.firstNo.IsZero() && p.lastNo.Sub(p.firstNo) >= minApart
	switch {
	case p.forget, w.unjudged:
	case w.changed.After(p.kept) && time.Since(w.changed) < 2*w.every-w.every/slots:
		w.t.Errorf("a badge goes %v after the pools changed", time.Since(w.changed))
	case !two && !disowned:
		w.t.Errorf("a badge goes after no from %v to %v", p.firstNo, p.lastNo)
	}
}

// keep has p press "keep".
func (r *replica) keep(p *person) (changes []Change, err error) {
	r.mu.Lock()
	a := r.stakeOf(p)
	known := a.Err == nil && a.Value.Outcome() != core.Undetermined && p.disowned.IsZero() && !r.partnerAway
	if known {
		p.pressed = true
		p.see(a, r.pools, true)
	}
	r.mu.Unlock()
	if !known {
		return nil, errFault
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	if changes, err = r.m.Keep(ctx, p.User, p.wallet, a.Value); err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		p.forget, p.kept = false, time.Now()
	}
	return changes, err
}

// forgets has p ask to be forgotten, and reports whether nothing is left of them.
func (r *replica) forgets(p *person) bool {
	r.mu.Lock()
	p.forget = true
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	changes, _, err := r.m.Forget(ctx, p.User)
	return err == nil && allTaken(changes)
}

// snapshot returns what the store holds.
func (w *world) snapshot() map[string][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.values)
}

// wearing returns how many wear the badge of the first community.
func (w *world) wearing() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.people {
		if p.wears[communities[0]] {
			n++
		}
	}
	return n
}
