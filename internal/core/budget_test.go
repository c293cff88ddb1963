package core_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// The price stays until a credit comes, and then the service is asked: even if the credit
// comes earlier than the Budget said.
func TestWithoutACreditTheLastPriceStays(t *testing.T) {
	for _, c := range []struct{ every, earlier time.Duration }{{5 * time.Minute, 0}, {8 * time.Hour, 0}, {8 * time.Hour, 8*time.Hour - 2*time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			p := &fakeBudget{every: c.every}
			w := newQueryTest(querySetup{budget: p, price: after(800 * time.Millisecond)})
			begun := time.Now()
			w.Quote(t.Context())
			time.AfterFunc(time.Minute, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.next = p.next.Add(-c.earlier)
			})
			for range int((2*c.every - c.earlier + time.Minute) / (10 * time.Second)) {
				time.Sleep(10 * time.Second)
				start := time.Now()
				q, err := w.Quote(t.Context())
				age := time.Since(q.At)
				if old := age >= time.Hour+30*time.Second; err != nil || q.Stale != old || age > c.every+10*time.Second {
					t.Fatalf("%+v: %v, %v old, stale %t", c, err, age, q.Stale)
				}
				if time.Since(begun) > c.every-c.earlier+20*time.Second && p.spent.Load() < 2 {
					t.Fatalf("%+v: no call after %v", c, time.Since(begun))
				}
				if time.Since(start) > 0 && c.every < time.Hour {
					t.Errorf("%+v: the price came after %v", c, time.Since(start))
				}
			}
			w.cache.Close()
			if p.spent.Load() != 3 {
				t.Errorf("%+v: %d credits, want 3", c, p.spent.Load())
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

// An answer past its TTL stands in for StaleFor, and says why there is no newer one.
func TestAnOldAnswerSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		fails func(context.Context) (core.Quote, error)
		want  core.Reason
	}{
		"down": {down, core.Unreachable}, "hung": {hung, core.SlowAnswer}, "limits": {failing(core.Limited), core.Limited},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := quoting(priced(7))
			first, _ := w.Quote(t.Context())
			if first.Why != nil || first.Stale {
				t.Errorf("a fresh price has the reason %v", first.Why)
			}
			w.price(test.fails)
			for range 150 { // Also during pauses.
				time.Sleep(31 * time.Second)
				q, err := w.Quote(t.Context())
				if over := time.Since(first.At) >= time.Hour+30*time.Second; over != (err != nil) {
					t.Fatalf("%s, after %v: %v", name, time.Since(first.At), err)
				}
				if err == nil && (!q.Stale || !q.At.Equal(first.At) || !q.FreshUntil.IsZero() || q.Why == nil || q.Why.Reason != test.want) {
					t.Fatalf("%s: %+v, the reason is %v", name, q, q.Why)
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
			wait  time.Duration
			why   core.Reason
			fresh time.Duration // how long after its time
		}{
			{26 * time.Second, "", 30 * time.Second}, {time.Second, "", 5*time.Minute + 5*time.Second},
			{3 * time.Second, core.NoCredit, 5*time.Minute + 5*time.Second}, {30 * time.Second, core.NoCredit, 5*time.Minute + 5*time.Second},
		} {
			time.Sleep(step.wait)
			q, err := w.Quote(t.Context())
			synctest.Wait() // The refresh of the first step finds no credit.
			if err != nil || q.Stale || (q.Why == nil) != (step.why == "") || q.FreshUntil.Sub(q.At) != step.fresh {
				t.Fatalf("a price %v old: %+v, %v", time.Since(q.At), q, err)
			}
			if h := w.market.Health(); h.PausedFor != 0 {
				t.Errorf("without a credit a service that works is paused for %v", h.PausedFor)
			}
			if left := 5*time.Minute - time.Since(q.At); q.Why != nil && (q.Why.Reason != step.why || q.Why.RetryAfter != left) {
				t.Errorf("a price %v old: the reason is %+v, want %s, retry after %v", time.Since(q.At), q.Why, step.why, left)
			}
		}
	})
}

// budgetFunc is a Budget that is asked at every call.
type budgetFunc func() *core.Error

func (f budgetFunc) Spend(context.Context) *core.Error { return f() }

func (budgetFunc) Note() {}

func TestAPanicIsAnErrorAndOfTheBudgetMeansNoCall(t *testing.T) {
	for calls, setup := range []querySetup{
		{price: priced(7), budget: budgetFunc(func() *core.Error { panic("boom") })},
		{price: func(context.Context) (core.Quote, error) { panic("boom") }},
	} {
		w := newQueryTest(setup)
		if _, err := w.Quote(t.Context()); reasonOf(err) != core.Malformed || w.calls.Load() != int64(calls) {
			t.Errorf("%v after %d calls, want %d", err, w.calls.Load(), calls)
		}
	}
}

func TestNoCallInAPauseThatBeganWhileTheBudgetBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueryTest(querySetup{price: priced(7), budget: budgetFunc(func() *core.Error {
			time.Sleep(2 * time.Second)
			return nil
		})})
		var others sync.WaitGroup
		others.Go(func() {
			_ = w.market.Do(t.Context(), func(context.Context) error {
				time.Sleep(time.Second)
				return &core.Error{Service: market, Reason: core.Limited, RetryAfter: time.Minute, Err: errors.New("429")}
			})
		})
		time.Sleep(1500 * time.Millisecond)
		if _, err := w.Quote(t.Context()); reasonOf(err) != core.Limited || w.calls.Load() != 0 {
			t.Errorf("%v after %d calls", err, w.calls.Load())
		}
		others.Wait()
	})
}
