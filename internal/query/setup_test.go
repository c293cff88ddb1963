package query

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

var (
	marketService = &core.Service{Name: "price"}
	chainService  = &core.Service{Name: "chain"}
)

// fixture asks two services, whose answers a test can change: the market for a price, which is public, and the chain
// for the stakes of wallets, which are personal.
type fixture struct {
	cache  *Cache
	market *Upstream
	chain  *Upstream
	prices *Query[struct{}, *core.Quote]
	stakes *Query[common.Address, core.Stake]

	// calls counts the calls to both services.
	calls   atomic.Int64
	lookups lookups

	mu    sync.Mutex
	price priceFunc
	stake stakeFunc
}

type (
	priceFunc func(context.Context) (*core.Quote, error)
	stakeFunc func(context.Context) (core.Stake, error)
)

// setup configures a fixture. Each field has a default for the tests that leave it out.
type setup struct {
	store    Store
	log      *slog.Logger
	budget   Budget        // of the market
	maxItems int           // 0: 100
	sharedAs string        // of the price; empty: "USD"
	ttl      time.Duration // of the price; 0: 30 s
	price    priceFunc
	observer Observer // nil: fixture.lookups
}

func newFixture(t testing.TB, s setup) *fixture {
	t.Helper()
	ttl := cmp.Or(s.ttl, 30*time.Second)
	f := &fixture{price: s.price, stake: stakesComplete}
	if s.observer == nil {
		s.observer = &f.lookups
	}
	f.cache = NewCache(CacheConfig{
		MaxItems:    cmp.Or(s.maxItems, 100),
		StaleFor:    time.Hour,
		CallTimeout: 5 * time.Second,
		Timeout:     20 * time.Second,
		Store:       s.store,
		Observer:    s.observer,
		Log:         s.log,
	})
	t.Cleanup(f.cache.Close)
	f.market = NewUpstream(f.cache, marketService, ttl, s.budget)
	f.prices = New(f.market, Config[struct{}, *core.Quote]{
		Name:     "price",
		TTL:      ttl,
		Fetch:    f.fetchPrice,
		SharedAs: cmp.Or(s.sharedAs, "USD"),
		Check:    checkPrice,
	})
	f.chain = NewUpstream(f.cache, chainService, time.Minute, nil)
	f.stakes = New(f.chain, Config[common.Address, core.Stake]{
		Name:      "stake",
		TTL:       time.Minute,
		Fetch:     f.fetchStake,
		Cacheable: core.Stake.Complete,
	})
	return f
}

func (f *fixture) fetchPrice(ctx context.Context, _ struct{}) (*core.Quote, error) {
	f.calls.Add(1)
	f.mu.Lock()
	price := f.price
	f.mu.Unlock()
	return price(ctx)
}

func (f *fixture) fetchStake(ctx context.Context, _ common.Address) (core.Stake, error) {
	f.calls.Add(1)
	f.mu.Lock()
	stake := f.stake
	f.mu.Unlock()
	return stake(ctx)
}

func checkPrice(q *core.Quote) error {
	if q == nil {
		return errors.New("no quote")
	}
	if e := q.Price.Exponent(); e < -100 || e > 100 || !q.Price.IsPositive() {
		return errors.New("no price")
	}
	return nil
}

// setPrice changes what the market answers.
func (f *fixture) setPrice(price priceFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.price = price
}

// setStake changes what the chain answers.
func (f *fixture) setStake(stake stakeFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stake = stake
}

// askPrice asks for the price.
func (f *fixture) askPrice(ctx context.Context) (Snapshot[*core.Quote], error) {
	return f.prices.Get(ctx, struct{}{})
}

// askStake asks for the stake of the wallet with a number, and fails the test if there is none.
func (f *fixture) askStake(t *testing.T, n int) {
	t.Helper()
	if _, err := f.stakes.Get(t.Context(), wallet(n)); err != nil {
		t.Errorf("wallet %d: %v", n, err)
	}
}

// callsFor returns how many calls ask makes.
func (f *fixture) callsFor(ask func()) int64 {
	before := f.calls.Load()
	ask()
	return f.calls.Load() - before
}

// priced returns a function that answers with a price.
func priced(n int64) priceFunc {
	return func(context.Context) (*core.Quote, error) { return &core.Quote{Price: decimal.NewFromInt(n)}, nil }
}

// pricedAfter returns a function that answers with the price 7 after d.
func pricedAfter(d time.Duration) priceFunc {
	return func(ctx context.Context) (*core.Quote, error) {
		select {
		case <-time.After(d):
			return &core.Quote{Price: decimal.NewFromInt(7)}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// failing returns a function that fails to answer with a price, for a reason.
func failing(reason core.Reason) priceFunc {
	return func(context.Context) (*core.Quote, error) { return nil, marketService.Fail(reason, errors.New("down")) }
}

// hung blocks until ctx is done.
func hung(ctx context.Context) (*core.Quote, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// stakesComplete answers with a stake of which every pool was read.
func stakesComplete(context.Context) (core.Stake, error) { return core.Stake{Checked: 21}, nil }

// failingStakes returns a function that fails for a reason.
func failingStakes(reason core.Reason) stakeFunc {
	return func(context.Context) (core.Stake, error) {
		return core.Stake{}, chainService.Fail(reason, errors.New("down"))
	}
}

// wallet returns the wallet with a number.
func wallet(n int) (a common.Address) {
	binary.BigEndian.PutUint64(a[:], uint64(n))
	return a
}

// lookups is an Observer that keeps the results of lookups.
type lookups struct {
	mu      sync.Mutex
	results []LookupResult
	ages    []time.Duration
}

func (*lookups) Call(*core.Service, CallResult, time.Duration) {}

func (l *lookups) Lookup(_ string, result LookupResult, age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, result)
	l.ages = append(l.ages, age)
}

// mapStore is a Store in memory.
type mapStore map[string][]byte

func (s mapStore) Load(_ context.Context, key string) ([]byte, error) { return s[key], nil }

func (s mapStore) Save(_ context.Context, key string, value []byte, _ time.Duration) { s[key] = value }
