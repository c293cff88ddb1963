package query

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocache "github.com/patrickmn/go-cache"

	"herald/internal/core"
)

func TestExpiredAnswersAreDeletedAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{})
		for n := range 3 {
			f.askStake(t, n)
		}
		time.Sleep(2 * time.Minute)
		f.askStake(t, 100)
		if n := f.cache.Items(); n != 1 {
			t.Errorf("%d answers are cached, want 1", n)
		}
	})
}

func TestExpiredAnswersMakeRoomForNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{maxItems: 2})
		f.askStake(t, 1)
		time.Sleep(59 * time.Second)
		f.askStake(t, 2)
		time.Sleep(2 * time.Second)
		f.askStake(t, 3)
		if calls := f.callsFor(func() { f.askStake(t, 2) }); calls != 0 || f.cache.Items() != 2 {
			t.Errorf("%d calls for the fresh answer, and %d answers are cached", calls, f.cache.Items())
		}
	})
}

func TestTheCacheNeverHoldsMoreThanItsMaximum(t *testing.T) {
	for _, maxItems := range []int{1, 2, 100} {
		f := newFixture(t, setup{maxItems: maxItems})
		for n := range 5 * maxItems {
			f.askStake(t, n)
			if items := f.cache.Items(); items > maxItems {
				t.Fatalf("%d answers are cached, want %d at most", items, maxItems)
			}
		}
	}
}

func TestAFullCacheStillCaches(t *testing.T) {
	f := newFixture(t, setup{maxItems: 10})
	for n := range 11 {
		f.askStake(t, n)
	}
	if calls := f.callsFor(func() { f.askStake(t, 10) }); calls != 0 {
		t.Error("the newest answer is not cached")
	}
}

func TestManyWalletsDoNotCrowdOutThePrice(t *testing.T) {
	f := newFixture(t, setup{maxItems: 2, price: priced(7)})
	f.askPrice(t.Context())
	for n := range 10 {
		f.askStake(t, n)
	}
	if calls := f.callsFor(func() { f.askPrice(t.Context()) }); calls != 0 {
		t.Error("the price is not cached any more")
	}
}

func TestCloseCancelsCallsAndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		f := newFixture(t, setup{price: func(ctx context.Context) (*core.Quote, error) {
			<-ctx.Done()
			for range 100 {
				runtime.Gosched()
			}
			ended.Store(true)
			return nil, ctx.Err()
		}})
		start := time.Now()
		time.AfterFunc(time.Second, func() {
			f.cache.Close()
			if !ended.Load() {
				t.Error("a call is still in flight")
			}
		})
		if _, err := f.askPrice(t.Context()); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		synctest.Wait()
	})
}

func TestNoCallBeginsAfterClose(t *testing.T) {
	f := newFixture(t, setup{price: priced(7), store: mapStore{}})
	f.cache.Close()
	_, err := f.askPrice(t.Context())
	if core.ReasonOf(err) != core.SlowAnswer || f.calls.Load() != 0 {
		t.Errorf("a query: %v after %d calls", err, f.calls.Load())
	}
	err = f.chain.Do(t.Context(), func(context.Context) error {
		f.calls.Add(1)
		return nil
	})
	if !errors.Is(err, errClosed) || f.calls.Load() != 0 {
		t.Errorf("Do: %v after %d calls", err, f.calls.Load())
	}
}

// go-cache can start a goroutine, its janitor, that deletes expired answers. Cache does not use the janitor, because it
// cannot be stopped. If a later version can stop it, this test fails.
func TestTheJanitorOfGoCacheStillCannotBeStopped(t *testing.T) {
	type constructor = func(ttl, sweepEvery time.Duration) *gocache.Cache
	if reflect.TypeOf(gocache.New) != reflect.TypeFor[constructor]() {
		t.Error("gocache.New has other parameters: if one stops the janitor, makeRoom need not sweep")
	}
	if n := reflect.TypeFor[*gocache.Cache]().NumMethod(); n != 46 {
		t.Errorf("gocache.Cache has %d methods, not 46: if one stops the janitor, makeRoom need not sweep", n)
	}
}
