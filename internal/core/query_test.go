package core_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
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

// world is a price and wallets' stakes, as services answer that a test can
// change.
type world struct {
	cache  *core.Cache
	prices *core.Query[struct{}, core.Quote]
	stakes *core.Query[common.Address, core.Stake]

	market, chain *core.Upstream

	calls atomic.Int64
	mu    sync.Mutex
	quote func(context.Context) (core.Quote, error)
	stake func(context.Context) (core.Stake, error)
}

func newWorld() *world { return newWorldOf(core.CacheConfig{}, "USD") }

// newWorldOf completes a configuration. The price is of source.
func newWorldOf(config core.CacheConfig, source string) *world {
	config.MaxItems = cmp.Or(config.MaxItems, 100)
	config.StaleFor, config.CallTimeout, config.Timeout = time.Hour, 5*time.Second, 20*time.Second
	config.Observer = silent{}
	c := core.NewCache(config)
	w := &world{cache: c, market: core.NewUpstream(c, market, 30*time.Second, nil), chain: core.NewUpstream(c, chain, time.Minute, nil)}
	w.prices = core.NewQuery(w.market, &core.Query[struct{}, core.Quote]{
		Name: "price", TTL: 30 * time.Second,
		Source: source,
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

func (w *world) Quote(ctx context.Context) (core.Snapshot[core.Quote], error) {
	return w.prices.Get(ctx, struct{}{})
}

func (w *world) price(answer func(context.Context) (core.Quote, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quote = answer
}

func quoting(answer func(context.Context) (core.Quote, error)) *world {
	w := newWorld()
	w.price(answer)
	return w
}

func staking(answer func(context.Context) (core.Stake, error)) *world {
	w := newWorld()
	w.stake = answer
	return w
}

type silent struct{}

func (silent) Call(*core.Service, string, time.Duration) {}
func (silent) Lookup(string, string, time.Duration)      {}

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

func TestLastGoodPriceStandsInMarkedWhileTheSourceFailsAndNotLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(7))
		first, _ := w.Quote(t.Context())

		w.price(down)
		time.Sleep(31 * time.Second)
		old, err := w.Quote(t.Context())
		if err != nil || !old.Stale || !old.At.Equal(first.At) || !old.FreshUntil.IsZero() {
			t.Errorf("while failing: %+v, %v", old, err)
		}
		time.Sleep(time.Hour)
		if _, err := w.Quote(t.Context()); err == nil {
			t.Error("past STALE_FOR the old price is still shown")
		}
		w.price(priced(8))
		time.Sleep(30 * time.Second)
		if q, err := w.Quote(t.Context()); err != nil || q.Stale || q.Value.Price.IntPart() != 8 {
			t.Errorf("after the fault: %+v, %v", q, err)
		}
	})
}

func TestADeadOrHungServiceIsNotAskedForEveryCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(hung)
		start := time.Now()
		if _, err := w.Quote(t.Context()); reasonOf(err) != core.SlowAnswer || time.Since(start) != 20*time.Second {
			t.Errorf("hung: %v after %v", err, time.Since(start))
		}
		w = quoting(down)
		for range 1000 {
			if _, err := w.Quote(t.Context()); err == nil {
				t.Fatal("a dead service gave a price")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.calls.Load(); n > 20 {
			t.Errorf("%d calls in 10 s, want at most 20", n)
		}
	})
}

func TestAnAnswerSaysForHowLongItIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(7))
		asked := time.Now()
		for range 2 { // from the service, then from memory
			if q, err := w.Quote(t.Context()); err != nil || !q.FreshUntil.Equal(asked.Add(30*time.Second)) {
				t.Errorf("fresh until %v, want %v", q.FreshUntil, asked.Add(30*time.Second))
			}
			time.Sleep(10 * time.Second)
		}
		w.stake = func(context.Context) (core.Stake, error) {
			return core.Stake{Checked: 20, Failed: []core.UnreadPool{{}}}, nil
		}
		before := w.calls.Load()
		for range 2 {
			if s, err := w.stakes.Get(t.Context(), common.Address{1}); err != nil || !s.FreshUntil.IsZero() {
				t.Errorf("what is not kept is fresh until %v, %v", s.FreshUntil, err)
			}
		}
		if n := w.calls.Load() - before; n != 2 {
			t.Errorf("a stake without one of its pools is kept: %d calls for 2 questions", n)
		}
	})
}

func TestPanicOfASourceIsItsFailure(t *testing.T) {
	w := quoting(func(context.Context) (core.Quote, error) { panic("boom") })
	if _, err := w.Quote(t.Context()); reasonOf(err) != core.Malformed {
		t.Errorf("got %v", err)
	}
}

func TestStakeOutcome(t *testing.T) {
	found := []core.PoolAmount{{Amount: decimal.NewFromInt(1)}}
	for name, test := range map[string]struct {
		stake core.Stake
		want  core.Outcome
	}{
		"found everywhere":             {core.Stake{Staked: found, Checked: 21}, core.Staker},
		"found although others failed": {core.Stake{Staked: found, Checked: 1, Failed: make([]core.UnreadPool, 20)}, core.Staker},
		"none, all read":               {core.Stake{Checked: 21}, core.NotStaker},
		"none, one not read":           {core.Stake{Checked: 20, Failed: make([]core.UnreadPool, 1)}, core.Undetermined},
		"nothing read":                 {core.Stake{}, core.Undetermined},
	} {
		if got := test.stake.Outcome(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestOddAnswersPauseAServiceOnlyIfTheyCannotBeAboutTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.stake = func(context.Context) (core.Stake, error) {
			return core.Stake{}, chain.Fail(core.Rejected, errors.New("odd"))
		}
		for i := range byte(20) {
			w.stakes.Get(t.Context(), common.Address{i})
		}
		if n := w.calls.Swap(0); n != 20 {
			t.Errorf("%d calls for 20 wallets", n)
		}
		if h := w.chain.Health(); !h.FailingSince.IsZero() || h.Asked.IsZero() {
			t.Errorf("odd answers about wallets: %+v", h)
		}
		w.price(failing(core.Malformed))
		var err error
		for range 20 {
			_, err = w.Quote(t.Context())
		}
		if n := w.calls.Load(); n != 5 || reasonOf(err) != core.Paused || w.market.Health().Circuit != "open" {
			t.Errorf("%d calls for 20 prices, at last %v; want 5", n, err)
		}
	})
}

func TestCallsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := staking(func(ctx context.Context) (core.Stake, error) {
			<-ctx.Done()
			return core.Stake{}, ctx.Err()
		})
		var askers sync.WaitGroup
		for i := range byte(2 * core.MaxCalls) {
			askers.Go(func() { w.stakes.Get(t.Context(), common.Address{i}) })
		}
		synctest.Wait()
		if n := w.calls.Load(); n != core.MaxCalls {
			t.Errorf("%d calls are in flight, want %d", n, core.MaxCalls)
		}
		askers.Wait()
	})
}

func TestOnlyACallThatWasUnreachableIsMadeOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		err   *core.Error
		calls int64
	}{
		"unreachable":        {chain.Fail(core.Unreachable, errors.New("502")), 2},
		"asked to wait":      {&core.Error{Service: chain, Reason: core.Unreachable, RetryAfter: time.Second, Err: errors.New("503")}, 1},
		"slow":               {chain.Fail(core.SlowAnswer, errors.New("slow")), 1},
		"limited":            {chain.Fail(core.Limited, errors.New("429")), 1},
		"an answer, no such": {chain.Fail(core.Rejected, errors.New("400")), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.stake = func(context.Context) (core.Stake, error) {
				if w.calls.Load()%2 == 0 {
					return core.Stake{Checked: 1}, nil
				}
				return core.Stake{}, c.err
			}
			start := time.Now()
			_, err := w.stakes.Get(t.Context(), common.Address{1})
			maxDelay := time.Duration(c.calls-1) * 300 * time.Millisecond
			if took := time.Since(start); w.calls.Load() != c.calls || (err == nil) != (c.calls == 2) || took > maxDelay {
				t.Errorf("%s: %v after %d calls and %v", name, err, w.calls.Load(), took)
			}
		})
	}
}

func TestAServiceIsNotCalledForAsLongAsItAsksForUpToACap(t *testing.T) {
	const asked = 20 * 24 * time.Hour
	for reason, want := range map[core.Reason]time.Duration{core.UsedUp: asked, core.Limited: 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := quoting(func(context.Context) (core.Quote, error) {
				return core.Quote{}, &core.Error{Service: market, Reason: reason, RetryAfter: asked, Err: errors.New("429")}
			})
			w.Quote(t.Context())
			if h := w.market.Health(); h.PausedFor != want {
				t.Errorf("%s: paused for %v", reason, h.PausedFor)
			}
			w.price(priced(7))
			time.Sleep(want - time.Second)
			if _, err := w.Quote(t.Context()); reasonOf(err) != reason || w.calls.Load() != 1 {
				t.Errorf("%s, before the wait is over: %v", reason, err)
			}
			time.Sleep(2 * time.Second)
			if _, err := w.Quote(t.Context()); err != nil || w.market.Health().PausedFor != 0 {
				t.Errorf("%s, after it: %v", reason, err)
			}
		})
	}
}

func TestSimultaneousAskersShareOneCallThatOutlivesTheFirst(t *testing.T) {
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

func TestAJoinedAnswerIsAsOldAsItsOlderPartAndFreshAsLongAsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(7))
		w.stake = func(context.Context) (core.Stake, error) { return core.Stake{Checked: 1}, nil }
		older := time.Now()
		w.stakes.Get(t.Context(), common.Address{1})
		time.Sleep(10 * time.Second)
		newer := time.Now()
		w.Quote(t.Context())
		one := core.Join(t.Context(), w.stakes, common.Address{1}, w.prices, struct{}{})
		other := core.Join(t.Context(), w.prices, struct{}{}, w.stakes, common.Address{1})
		for i, got := range [][3]time.Time{
			{one.Checked(), one.AsOf(), one.FreshUntil()}, {other.Checked(), other.AsOf(), other.FreshUntil()},
		} {
			if want := [3]time.Time{older, newer, newer.Add(30 * time.Second)}; got != want {
				t.Errorf("%d: got %v, want %v", i, got, want)
			}
		}
		w.price(down)
		time.Sleep(time.Minute)
		if old := core.Join(t.Context(), w.stakes, common.Address{1}, w.prices, struct{}{}); !old.FreshUntil().IsZero() || old.ErrB != nil {
			t.Errorf("with an old part it is fresh until %v, %v", old.FreshUntil(), old.ErrB)
		}
	})
}

func TestAServiceFailsFromItsFirstFailureToItsNextAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
		w := quoting(nil)
		for minute, step := range []struct {
			answer func(context.Context) (core.Quote, error)
			want   core.Health
		}{
			{priced(1), core.Health{}},
			{failing(core.Denied), core.Health{FailingSince: at(1), Reason: core.Denied}},
			{failing(core.Malformed), core.Health{FailingSince: at(1), Reason: core.Malformed}},
			{priced(2), core.Health{}},
		} {
			w.price(step.answer)
			_, _ = w.Quote(t.Context())
			step.want.Service, step.want.Circuit, step.want.Asked = market, "closed", at(minute)
			if h := w.market.Health(); h != step.want {
				t.Errorf("got  %+v\nwant %+v", h, step.want)
			}
			time.Sleep(time.Minute)
		}
		if h := w.chain.Health(); h != (core.Health{Service: chain, Circuit: "closed"}) {
			t.Errorf("another service: %+v", h)
		}
	})
}

func failing(reason core.Reason) func(context.Context) (core.Quote, error) {
	return func(context.Context) (core.Quote, error) { return core.Quote{}, market.Fail(reason, errors.New("no")) }
}

func TestAnOldPriceThatStandsInIsLoggedOnceAMinuteWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newWorldOf(core.CacheConfig{Log: slog.New(slog.NewTextHandler(&log, nil))}, "USD")
		w.price(priced(7))
		w.Quote(t.Context())
		w.price(failing(core.Denied))
		time.Sleep(31 * time.Second)
		for range 119 { // two minutes
			if q, err := w.Quote(t.Context()); err != nil || !q.Stale {
				t.Fatalf("%+v, %v", q, err)
			}
			time.Sleep(time.Second)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 || strings.Count(log.String(), "level=WARN") != 2 ||
			strings.Count(log.String(), "outcome=stale reason=denied") != 2 {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
	})
}

// full makes a world whose cache holds that many answers.
func full(maxItems int) *world {
	w := newWorldOf(core.CacheConfig{MaxItems: maxItems}, "USD")
	w.stake = func(context.Context) (core.Stake, error) { return core.Stake{Checked: 21}, nil }
	w.price(priced(7))
	return w
}

func wallet(n int) (a common.Address) {
	binary.BigEndian.PutUint64(a[:], uint64(n))
	return a
}

// askStakes asks for the wallets from first up to but not last, and returns the
// calls that it took.
func (w *world) askStakes(t *testing.T, first, last int) int {
	t.Helper()
	before := w.calls.Load()
	for i := first; i < last; i++ {
		if _, err := w.stakes.Get(t.Context(), wallet(i)); err != nil {
			t.Fatal(err)
		}
	}
	return int(w.calls.Load() - before)
}

func TestExpiredAnswersLeaveTheCacheAndAreYoungWhenAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := full(3)
		w.askStakes(t, 0, 1)
		time.Sleep(45 * time.Second)
		w.askStakes(t, 1, 3)
		// The first has expired, and the next sweep is to come.
		time.Sleep(16 * time.Second)
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

func TestAFullCacheForgetsTheOldestWalletsAndNotThePrice(t *testing.T) {
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
	}
}
