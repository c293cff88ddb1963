package core_test

import (
	"cmp"
	"context"
	"errors"
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
	prices *core.Cached[core.NoArgument, core.Quote]
	stakes *core.Cached[common.Address, core.Stake]

	calls atomic.Int64
	mu    sync.Mutex
	quote func(context.Context) (core.Quote, error)
	stake func(context.Context) (core.Stake, error)
}

func newWorld() *world { return newSharing(nil) }

func newSharing(store core.Store) *world { return newWorldOf(core.CacheConfig{Store: store}, "USD") }

// newWorldOf completes a configuration. The price is of source.
func newWorldOf(config core.CacheConfig, source string) *world {
	config.MaxItems = cmp.Or(config.MaxItems, 100)
	config.StaleFor, config.CallTimeout, config.Timeout = time.Hour, 5*time.Second, 20*time.Second
	config.Observer = silent{}
	c := core.NewCache(config)
	w := &world{cache: c}
	w.prices = core.NewCached(core.NewBreaker(c, market, 30*time.Second), core.Question[core.NoArgument, core.Quote]{
		Name: "price", TTL: 30 * time.Second,
		Shared: &core.Shared[core.Quote]{Source: source, Check: func(q core.Quote) error {
			if e := q.Price.Exponent(); e < -100 || e > 100 || !q.Price.IsPositive() {
				return errors.New("no price")
			}
			return nil
		}},
		Ask: func(ctx context.Context, _ core.NoArgument) (core.Quote, error) {
			w.calls.Add(1)
			w.mu.Lock()
			answer := w.quote
			w.mu.Unlock()
			return answer(ctx)
		},
	})
	w.stakes = core.NewCached(core.NewBreaker(c, chain, time.Minute), core.Question[common.Address, core.Stake]{
		Name: "stake", TTL: time.Minute, Keep: core.Stake.Complete, Clone: core.Stake.Clone,
		Ask: func(ctx context.Context, _ common.Address) (core.Stake, error) {
			w.calls.Add(1)
			return w.stake(ctx)
		},
	})
	return w
}

func (w *world) Quote(ctx context.Context) (core.Snapshot[core.Quote], error) {
	return w.prices.Get(ctx, core.NoArgument{})
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

func down(context.Context) (core.Quote, error) {
	return core.Quote{}, &core.Error{Service: market, Reason: core.Unreachable, Err: errors.New("down")}
}

func hung(ctx context.Context) (core.Quote, error) {
	<-ctx.Done()
	return core.Quote{}, ctx.Err()
}

func reasonOf(err error) core.Reason {
	var e *core.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func TestSimultaneousAskersShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(func(context.Context) (core.Quote, error) {
			time.Sleep(time.Second)
			return core.Quote{Price: decimal.NewFromInt(7)}, nil
		})
		var askers sync.WaitGroup
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

func TestCallGoesOnWhenItsFirstAskerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(func(ctx context.Context) (core.Quote, error) {
			select {
			case <-time.After(3 * time.Second):
				return core.Quote{Price: decimal.NewFromInt(7)}, nil
			case <-ctx.Done():
				return core.Quote{}, ctx.Err()
			}
		})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			if _, err := w.Quote(impatient); reasonOf(err) != core.SlowAnswer {
				t.Errorf("the impatient asker got %v", err)
			}
		}()
		synctest.Wait()
		if _, err := w.Quote(t.Context()); err != nil {
			t.Errorf("the patient asker got %v", err)
		}
		if n := w.calls.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

func TestLastGoodPriceStandsInMarkedWhileTheSourceFailsAndNotLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(7))
		first, _ := w.Quote(t.Context())

		w.price(down)
		time.Sleep(31 * time.Second)
		old, err := w.Quote(t.Context())
		if err != nil || !old.Stale || !old.At.Equal(first.At) {
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

func TestHungSourceIsGivenUpAfterTheTimeOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(hung)
		start := time.Now()
		_, err := w.Quote(t.Context())
		if reasonOf(err) != core.SlowAnswer || time.Since(start) != 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestDeadServiceIsNotAskedForEveryCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(down)
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

func TestRetryAfterIsObeyedUpToACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(func(context.Context) (core.Quote, error) {
			return core.Quote{}, &core.Error{Service: market, Reason: core.Limited, RetryAfter: 24 * time.Hour, Err: errors.New("429")}
		})
		for range 299 {
			w.Quote(t.Context())
			time.Sleep(time.Second)
		}
		if n := w.calls.Load(); n != 1 {
			t.Errorf("%d calls within five minutes, want 1", n)
		}
		w.price(priced(7))
		time.Sleep(2 * time.Second)
		if _, err := w.Quote(t.Context()); err != nil {
			t.Errorf("after the cap: %v", err)
		}
	})
}

func TestRetriesStayWithinTenPerCentOfTheCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		w := staking(func(context.Context) (core.Stake, error) {
			if n.Add(1)%3 == 0 {
				return core.Stake{}, &core.Error{Service: chain, Reason: core.Unreachable, Err: errors.New("flaky")}
			}
			return core.Stake{Checked: 1}, nil
		})
		const commands = 600
		for i := range commands {
			w.stakes.Get(t.Context(), common.BigToAddress(decimal.NewFromInt(int64(i)).BigInt()))
		}
		if calls := w.calls.Load(); calls <= commands || calls > commands*11/10+1 {
			t.Errorf("%d calls for %d commands", calls, commands)
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
		w.price(down)
		time.Sleep(30 * time.Second)
		if q, _ := w.Quote(t.Context()); !q.Stale || !q.FreshUntil.IsZero() {
			t.Errorf("an old answer is fresh until %v", q.FreshUntil)
		}

		w.stake = func(context.Context) (core.Stake, error) {
			return core.Stake{Checked: 20, Failed: []core.UnreadPool{{}}}, nil
		}
		if s, err := w.stakes.Get(t.Context(), common.Address{1}); err != nil || !s.FreshUntil.IsZero() {
			t.Errorf("what is not kept is fresh until %v, %v", s.FreshUntil, err)
		}
		w.stake = func(context.Context) (core.Stake, error) { return core.Stake{}, errors.New("down") }
		if s, err := w.stakes.Get(t.Context(), common.Address{2}); err == nil || !s.FreshUntil.IsZero() {
			t.Errorf("no answer is fresh until %v", s.FreshUntil)
		}
	})
}

func TestIncompleteStakeIsNotCached(t *testing.T) {
	w := staking(func(context.Context) (core.Stake, error) {
		return core.Stake{Checked: 20, Failed: []core.UnreadPool{{}}}, nil
	})
	w.stakes.Get(t.Context(), common.Address{1})
	w.stakes.Get(t.Context(), common.Address{1})
	if n := w.calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestCallersOwnWhatTheyAreGiven(t *testing.T) {
	w := staking(func(context.Context) (core.Stake, error) {
		return core.Stake{Checked: 1, Staked: []core.PoolAmount{{Amount: decimal.NewFromInt(5)}}}, nil
	})
	for range 3 {
		s, err := w.stakes.Get(t.Context(), common.Address{1})
		if err != nil || s.Value.Total().IntPart() != 5 {
			t.Fatalf("a caller changed the cached answer: %v, %v", s.Value, err)
		}
		s.Value.Staked[0].Amount = decimal.Zero
	}
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

func TestServiceThatAsksToWaitIsNotAskedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(func(context.Context) (core.Quote, error) {
			return core.Quote{}, &core.Error{Service: market, Reason: core.Unreachable, RetryAfter: 5 * time.Second, Err: errors.New("503")}
		})
		start := time.Now()
		_, err := w.Quote(t.Context())
		var failed *core.Error
		if !errors.As(err, &failed) || failed.Reason != core.Unreachable || time.Since(start) > 0 {
			t.Errorf("after %v: %v, want at once why it failed", time.Since(start), err)
		}
	})
}

func TestAServiceNamesTheSettingsForEachReason(t *testing.T) {
	s := &core.Service{Settings: map[core.Reason]string{"": "URL", core.Denied: "KEY"}}
	for reason, want := range map[core.Reason]string{core.Denied: "KEY", core.Limited: "URL"} {
		if got := s.SettingsFor(reason); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
}

func TestOddAnswersPauseAServiceOnlyIfTheyCannotBeAboutTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.stake = func(context.Context) (core.Stake, error) {
			return core.Stake{}, &core.Error{Service: chain, Reason: core.Rejected, Err: errors.New("odd")}
		}
		for i := range byte(20) {
			w.stakes.Get(t.Context(), common.Address{i})
		}
		if n := w.calls.Swap(0); n != 20 {
			t.Errorf("%d calls for 20 wallets", n)
		}
		w.price(func(context.Context) (core.Quote, error) {
			return core.Quote{}, &core.Error{Service: market, Reason: core.Malformed, Err: errors.New("odd")}
		})
		var err error
		for range 20 {
			_, err = w.Quote(t.Context())
		}
		if n := w.calls.Load(); n != 5 || reasonOf(err) != core.Paused {
			t.Errorf("%d calls for 20 prices, at last %v; want 5", n, err)
		}
	})
}

func TestCallsUnderWayAreBounded(t *testing.T) {
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
			t.Errorf("%d calls are under way, want %d", n, core.MaxCalls)
		}
		askers.Wait()
	})
}
