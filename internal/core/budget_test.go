package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// TestLackOfCreditsDoesNotHideAFailure has a service fail before each
// further call has to wait for a credit.
func TestLackOfCreditsDoesNotHideAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeBudget{every: 10 * time.Minute}
		w := newQueryTest(querySetup{budget: p, price: priced(7)})
		w.Quote(t.Context())
		start := time.Now()
		w.price(down)
		for time.Since(start) < 3*time.Hour {
			q, err := w.Quote(t.Context())
			age := time.Since(start)
			// It was good until the credit came with which the service failed.
			switch good := 10 * time.Minute; {
			case age < good && (err != nil || q.Stale),
				age > good+10*time.Second && age < time.Hour && (err != nil || !q.Stale),
				age > time.Hour+30*time.Second && err == nil:
				t.Fatalf("at an age of %v: stale %t, %v", age, q.Stale, err)
			}
			time.Sleep(7 * time.Second)
		}
		if n := p.spent.Load(); n > 19 {
			t.Errorf("%d credits in 3 h", n)
		}
		w.price(priced(8))
		time.Sleep(10 * time.Minute)
		if q, err := w.Quote(t.Context()); err != nil || q.Stale {
			t.Errorf("once it is well: %+v, %v", q, err)
		}
	})
}

func TestWithoutACreditTheLastPriceStays(t *testing.T) {
	for _, every := range []time.Duration{5 * time.Minute, 30 * time.Minute, 8 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := &fakeBudget{every: every}
			p.Spend(t.Context())
			w := newQueryTest(querySetup{budget: p, price: after(800 * time.Millisecond)})
			if _, err := w.Quote(t.Context()); reasonOf(err) != core.NoCredit {
				t.Errorf("no credit and no price: %v", err)
			}
			time.Sleep(every)
			w.Quote(t.Context())
			lasts := 3 * every
			for range int(lasts / (10 * time.Second)) {
				start := time.Now()
				q, err := w.Quote(t.Context())
				age := time.Since(q.At)
				old := age >= time.Hour+30*time.Second // STALE_FOR past its TTL
				if err != nil || q.Stale != old || time.Since(start) > 0 && every < time.Hour || age > every+10*time.Second ||
					!old && !q.FreshUntil.After(start) && age < every-time.Second {
					t.Fatalf("after %v: %v, %v old, fresh until %v", time.Since(start), err, age, q.FreshUntil)
				}
				// The refresh that found no credit has told how long there is none.
				if age > 30*time.Second && age < every && every < time.Hour && q.FreshUntil.Before(q.At.Add(every)) {
					t.Fatalf("a price %v old is fresh until %v, want until the credit in %v", age, q.FreshUntil, every-age)
				}
				time.Sleep(10 * time.Second)
			}
			if n := p.spent.Load(); n != 4 {
				t.Errorf("%d credits in %v", n, lasts)
			}
			// Somebody who comes later waits for what there is a credit for.
			time.Sleep(every)
			if q, err := w.Quote(t.Context()); err != nil || time.Since(q.At) > 0 {
				t.Errorf("later: %v old, %v", time.Since(q.At), err)
			}
		})
	}
}

func TestRetrySpendsACredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeBudget{}
		w := newQueryTest(querySetup{budget: p})
		w.price(func(ctx context.Context) (core.Quote, error) {
			if w.calls.Load() == 1 {
				return down(ctx)
			}
			return priced(7)(ctx)
		})
		if _, err := w.Quote(t.Context()); err != nil || p.spent.Load() != 2 {
			t.Errorf("%v after %d credits, want 2", err, p.spent.Load())
		}
	})
}

// An answer past its TTL says why there is no newer one.
func TestAnOldAnswerSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		fails func(context.Context) (core.Quote, error)
		want  core.Reason
	}{
		"down": {down, core.Unreachable}, "hung": {hung, core.SlowAnswer}, "limits": {failing(core.Limited), core.Limited},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := quoting(priced(7))
			if q, _ := w.Quote(t.Context()); q.Why != nil {
				t.Errorf("a fresh price has the reason %v", q.Why)
			}
			w.price(test.fails)
			for range 100 { // Also during pauses.
				time.Sleep(31 * time.Second)
				if q, err := w.Quote(t.Context()); err == nil && (!q.Stale || q.Why == nil || q.Why.Reason != test.want) {
					t.Fatalf("%s: stale %v, the reason is %v", name, q.Stale, q.Why)
				}
			}
			w.price(priced(8))
			time.Sleep(6 * time.Second)
			if q, err := w.Quote(t.Context()); err != nil || q.Why != nil {
				t.Errorf("%s, and well again: %+v, %v", name, q, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newQueryTest(querySetup{budget: &fakeBudget{every: 5 * time.Minute}, price: priced(7)})
		w.Quote(t.Context())
		for _, step := range []struct {
			wait time.Duration
			why  core.Reason
		}{{26 * time.Second, ""}, {time.Second, ""}, {3 * time.Second, core.NoCredit}, {30 * time.Second, core.NoCredit}} {
			time.Sleep(step.wait)
			q, err := w.Quote(t.Context())
			synctest.Wait() // The refresh of the first step finds no credit.
			if err != nil || q.Stale || (q.Why == nil) != (step.why == "") {
				t.Fatalf("a price %v old: %+v, %v", time.Since(q.At), q, err)
			}
			if left := 5*time.Minute - time.Since(q.At); q.Why != nil && (q.Why.Reason != step.why || q.Why.RetryAfter != left) {
				t.Errorf("a price %v old: the reason is %+v, want %s, retry after %v", time.Since(q.At), q.Why, step.why, left)
			}
		}
	})
}

// A plan that the service calls used up is as one that the Budget knows to be so.
func TestAUsedUpPlanLeavesTheLastPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quoting(priced(7))
		w.Quote(t.Context())
		w.price(func(context.Context) (core.Quote, error) {
			return core.Quote{}, &core.Error{Service: market, Reason: core.UsedUp, RetryAfter: time.Hour, Err: errors.New("1010")}
		})
		for begun := time.Now(); time.Since(begun) < 5*time.Hour; time.Sleep(31 * time.Second) {
			if q, err := w.Quote(t.Context()); err != nil || time.Since(q.At) > 31*time.Second && (q.Why == nil || q.Why.Reason != core.UsedUp) {
				t.Fatalf("after %v: %v, the reason is %v", time.Since(begun), err, q.Why)
			}
		}
	})
}

func TestAnotherReplicasPriceCostsACredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, p := mapStore{}, &fakeBudget{}
		one, two := newQueryTest(querySetup{store: store, price: priced(7)}), newQueryTest(querySetup{store: store, price: priced(8), budget: p})
		for want := range int64(4) {
			one.Quote(t.Context())
			for range 3 {
				two.Quote(t.Context())
			}
			if p.noted.Load() != want { // The first one may be its own, of before its start.
				t.Errorf("%d credits are noted, want %d", p.noted.Load(), want)
			}
			time.Sleep(time.Minute)
		}
		if p.spent.Load() != 0 {
			t.Errorf("%d credits are spent", p.spent.Load())
		}
	})
}
