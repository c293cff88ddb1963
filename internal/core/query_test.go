package core_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

var (
	market = &core.Service{Name: "price"}
	chain  = &core.Service{Name: "chain"}
)

// queryTest is a price and wallets' stakes, as services answer that a test can
// change.
type queryTest struct {
	cache  *core.Cache
	prices *core.Query[struct{}, core.Quote]
	stakes *core.Query[common.Address, core.Stake]

	market, chain *core.Upstream

	calls atomic.Int64
	mu    sync.Mutex
	quote func(context.Context) (core.Quote, error)
	stake func(context.Context) (core.Stake, error)
}

// querySetup is a configuration of a queryTest. Its zero values stand for those of most
// tests.
type querySetup struct {
	store    core.Store
	maxItems int
	log      *slog.Logger
	source   string        // of the price
	ttl      time.Duration // of the price
	budget   core.Budget
	price    func(context.Context) (core.Quote, error)
}

func newQueryTest(s querySetup) *queryTest {
	ttl := cmp.Or(s.ttl, 30*time.Second)
	c := core.NewCache(core.CacheConfig{
		MaxItems: cmp.Or(s.maxItems, 100), Store: s.store, Log: s.log,
		StaleFor: time.Hour, CallTimeout: 5 * time.Second, Timeout: 20 * time.Second, Observer: core.SilentObserver{},
	})
	w := &queryTest{cache: c, quote: s.price, market: core.NewUpstream(c, market, ttl, s.budget), chain: core.NewUpstream(c, chain, time.Minute, nil)}
	w.prices = core.NewQuery(w.market, &core.Query[struct{}, core.Quote]{
		Name: "price", TTL: ttl, SharedAs: cmp.Or(s.source, "USD"),
		Check: func(q core.Quote) error {
			if e := q.Price.Exponent(); e < -100 || e > 100 || !q.Price.IsPositive() {
				return errors.New("no price")
			}
			return nil
		},
		Fetch: func(ctx context.Context, _ struct{}) (core.Quote, error) {
			w.calls.Add(1)
			w.mu.Lock()
			answer := w.quote
			w.mu.Unlock()
			return answer(ctx)
		},
	})
	w.stakes = core.NewQuery(w.chain, &core.Query[common.Address, core.Stake]{
		Name: "stake", TTL: time.Minute, Cacheable: core.Stake.Complete,
		Fetch: func(ctx context.Context, _ common.Address) (core.Stake, error) {
			w.calls.Add(1)
			return w.stake(ctx)
		},
	})
	return w
}

func (w *queryTest) Quote(ctx context.Context) (core.Snapshot[core.Quote], error) {
	return w.prices.Get(ctx, struct{}{})
}

func (w *queryTest) price(answer func(context.Context) (core.Quote, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quote = answer
}

func quoting(answer func(context.Context) (core.Quote, error)) *queryTest {
	return newQueryTest(querySetup{price: answer})
}

func priced(n int64) func(context.Context) (core.Quote, error) {
	return func(context.Context) (core.Quote, error) { return core.Quote{Price: decimal.NewFromInt(n)}, nil }
}

var down = failing(core.Unreachable)

func hung(ctx context.Context) (core.Quote, error) {
	<-ctx.Done()
	return core.Quote{}, ctx.Err()
}

func reasonOf(err error) core.Reason {
	if e, ok := errors.AsType[*core.Error](err); ok {
		return e.Reason
	}
	return ""
}

func TestSimultaneousCallersShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(after(3 * time.Second))
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var askers sync.WaitGroup
		askers.Go(func() {
			if _, err := w.Quote(impatient); reasonOf(err) != core.SlowAnswer {
				t.Errorf("the impatient asker got %v", err)
			}
		})
		synctest.Wait()
		for range 1000 {
			askers.Go(func() {
				if q, err := w.Quote(t.Context()); err != nil || q.Value.Price.IntPart() != 7 {
					t.Errorf("got %v, %v", q, err)
				}
			})
		}
		askers.Wait()
		if n := w.calls.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

func TestBothAsksAtOnceAndKeepsErrorsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueryTest(querySetup{})
		w.stake = func(context.Context) (core.Stake, error) {
			time.Sleep(2 * time.Second)
			return core.Stake{Checked: 1}, nil
		}
		w.price(func(context.Context) (core.Quote, error) {
			time.Sleep(3 * time.Second)
			return core.Quote{}, market.Fail(core.Denied, errors.New("no"))
		})
		start := time.Now()
		stake, price := core.Both(t.Context(), w.stakes, common.Address{1}, w.prices, struct{}{})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v, want 3s", took)
		}
		if stake.Err != nil || stake.Value.Checked != 1 {
			t.Errorf("stake: %+v", stake)
		}
		if reasonOf(price.Err) != core.Denied || !price.At.IsZero() {
			t.Errorf("price: %+v", price)
		}
	})
}

func failing(reason core.Reason) func(context.Context) (core.Quote, error) {
	return func(context.Context) (core.Quote, error) { return core.Quote{}, market.Fail(reason, errors.New("no")) }
}

// full makes a queryTest whose cache holds that many answers.
func full(maxItems int) *queryTest {
	w := newQueryTest(querySetup{maxItems: maxItems, price: priced(7)})
	w.stake = func(context.Context) (core.Stake, error) { return core.Stake{Checked: 21}, nil }
	return w
}

func wallet(n int) (a common.Address) {
	binary.BigEndian.PutUint64(a[:], uint64(n))
	return a
}

// askStakes asks for the wallets from first up to but not last, and returns the
// calls that it took.
func (w *queryTest) askStakes(t *testing.T, first, last int) int {
	t.Helper()
	before := w.calls.Load()
	for i := first; i < last; i++ {
		if _, err := w.stakes.Get(t.Context(), wallet(i)); err != nil {
			t.Fatal(err)
		}
	}
	return int(w.calls.Load() - before)
}

func TestExpiredAnswersLeaveTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := full(3)
		w.askStakes(t, 0, 1)
		time.Sleep(45 * time.Second)
		w.askStakes(t, 1, 2)
		time.Sleep(15 * time.Second) // What has expired is swept now.
		w.askStakes(t, 2, 3)
		time.Sleep(time.Second) // The first has expired, and the next sweep is to come.
		w.askStakes(t, 0, 1)
		w.askStakes(t, 3, 4)
		if n := w.askStakes(t, 0, 1) + w.askStakes(t, 2, 4); n != 0 {
			t.Errorf("%d of the newest three were forgotten", n)
		}
		time.Sleep(2 * time.Minute)
		w.askStakes(t, 100, 101)
		if n := w.cache.Items(); n != 1 {
			t.Errorf("%d answers are kept", n)
		}
	})
}

func TestFullCacheEvictsTheOldestWallets(t *testing.T) {
	for _, bound := range []int{1, 2, 100} {
		w := full(bound)
		if n := w.askStakes(t, 0, bound); n != bound {
			t.Errorf("%d calls for %d wallets", n, bound)
		}
		w.Quote(t.Context())
		w.askStakes(t, bound, 3*bound)
		before := w.calls.Load()
		if _, err := w.Quote(t.Context()); err != nil || w.calls.Load() != before {
			t.Errorf("with room for %d, the price was asked again: %v", bound, err)
		}
		if n := w.askStakes(t, 2*bound+1, 3*bound); n != 0 || w.cache.Items() != bound {
			t.Errorf("with room for %d, %d of the newest wallets were forgotten and %d answers are kept", bound, n, w.cache.Items())
		}
		if n := w.askStakes(t, 2*bound, 2*bound+1); n != 1 {
			t.Error("one more than the bound is kept")
		}
		w.askStakes(t, 0, 3*bound)
		if n := w.askStakes(t, 2*bound+1, 3*bound); n != 0 || w.cache.Items() != bound {
			t.Errorf("with room for %d, %d of the newest wallets were forgotten in a second round and %d answers are kept", bound, n, w.cache.Items())
		}
	}
}
