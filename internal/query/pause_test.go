package query

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

func TestFiveFailuresInARowPauseTheCalls(t *testing.T) {
	for name, test := range map[string]struct {
		ttl        time.Duration
		retryAfter time.Duration // that each failure asks for
		want       time.Duration // length of the pause
	}{
		"a short TTL": {
			ttl:  2 * time.Second,
			want: 2 * time.Second,
		},
		"a long TTL": {
			ttl:  30 * time.Second,
			want: 5 * time.Second,
		},
		"the service asks to wait": {
			ttl:        30 * time.Second,
			retryAfter: time.Minute,
			want:       time.Minute,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			failed := marketService.Fail(core.Malformed, errors.New("down"))
			failed.RetryAfter = test.retryAfter
			f := newFixture(t, setup{ttl: test.ttl})
			f.setPrice(func(context.Context) (*core.Quote, error) { return nil, failed })
			for failures := 1; failures <= 5; failures++ {
				time.Sleep(max(test.ttl, test.retryAfter))
				_, _ = f.askPrice(t.Context())
				want := test.retryAfter
				if failures == 5 {
					want = test.want
				}
				if got := f.market.Health().PausedFor; got != want {
					t.Errorf("%s: paused for %v after %d failures, want %v", name, got, failures, want)
				}
			}
			if calls := f.calls.Load(); calls != 5 {
				t.Errorf("%s: %d calls, want 5", name, calls)
			}
		})
	}
}

func TestAnAnswerEndsARowOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{})
		ask := func(price priceFunc) {
			f.setPrice(price)
			time.Sleep(30 * time.Second) // The TTL passes.
			_, _ = f.askPrice(t.Context())
		}
		for range 3 {
			for range 4 {
				ask(failing(core.Malformed))
			}
			ask(priced(7))
		}
		if n := f.calls.Load(); n != 15 || f.market.Health().PausedFor != 0 {
			t.Errorf("%d calls, want 15: %+v", n, f.market.Health())
		}
	})
}

// A Rejected or Malformed answer may be due to the wallet. It neither pauses the service nor ends a row of failures. A
// slow answer is a failure of the service, and the fifth one pauses the calls. Every other call here is Rejected.
func TestAFailureThatMayBeDueToTheWalletDoesNotCount(t *testing.T) {
	for other, test := range map[core.Reason]struct {
		wantCalls int64
		wantFails bool
	}{
		core.Malformed: {
			wantCalls: 20,
		},
		core.SlowAnswer: {
			wantCalls: 10, // The tenth call is the fifth slow one.
			wantFails: true,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, setup{})
			for n := range 10 {
				f.setStake(failingStakes(core.Rejected))
				_, _ = f.stakes.Get(t.Context(), wallet(2*n))
				f.setStake(failingStakes(other))
				_, _ = f.stakes.Get(t.Context(), wallet(2*n+1))
			}
			h := f.chain.Health()
			if n := f.calls.Load(); n != test.wantCalls || h.LastCall.IsZero() {
				t.Errorf("%s: %d calls for 20 wallets, want %d: %+v", other, n, test.wantCalls, h)
			}
			if h.isFailing() != test.wantFails || (h.PausedFor > 0) != test.wantFails {
				t.Errorf("%s: %+v, want failing %t", other, h, test.wantFails)
			}
		})
	}
}

func TestDoObeysPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := chainService.Fail(core.Limited, errors.New("429"))
		limited.RetryAfter = time.Second
		f := newFixture(t, setup{})
		for range 20 {
			err := f.chain.Do(t.Context(), func(context.Context) error {
				f.calls.Add(1)
				return limited
			})
			if n := f.calls.Load(); n != 1 || core.ReasonOf(err) != core.Limited {
				t.Fatalf("%v after %d calls", err, n)
			}
		}
	})
}

func TestRetryAfterIsObeyedForAtMostFiveMinutes(t *testing.T) {
	const asked = 20 * 24 * time.Hour
	for reason, test := range map[core.Reason]struct {
		wantFirst time.Duration // RetryAfter of the failure
		wantLater time.Duration // RetryAfter a second before the pause ends
	}{
		core.Limited: {
			wantFirst: maxPause,
			wantLater: time.Second,
		},
		core.UsedUp: { // The plan is used up for longer than the pause lasts.
			wantFirst: asked,
			wantLater: asked - maxPause + time.Second,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			refused := marketService.Fail(reason, errors.New("429"))
			refused.RetryAfter = asked
			f := newFixture(t, setup{price: func(context.Context) (*core.Quote, error) { return nil, refused }})
			wantRetryAfter(t, f, reason, test.wantFirst)
			if h := f.market.Health(); h.PausedFor != maxPause {
				t.Errorf("%s: paused for %v", reason, h.PausedFor)
			}
			f.setPrice(priced(7))
			time.Sleep(maxPause - time.Second)
			wantRetryAfter(t, f, reason, test.wantLater)
			if f.calls.Load() != 1 {
				t.Errorf("%s: %d calls before the pause is over", reason, f.calls.Load())
			}
			time.Sleep(2 * time.Second)
			if _, err := f.askPrice(t.Context()); err != nil || f.market.Health().PausedFor != 0 {
				t.Errorf("%s, after the pause: %v", reason, err)
			}
		})
	}
}

// wantRetryAfter asks for the price, and wants a failure for the reason with this RetryAfter.
func wantRetryAfter(t *testing.T, f *fixture, reason core.Reason, want time.Duration) {
	t.Helper()
	_, err := f.askPrice(t.Context())
	failed, isFailed := errors.AsType[*core.Error](err)
	if !isFailed || failed.Reason != reason || failed.RetryAfter != want {
		t.Errorf("%s: got %+v, want a wait of %v", reason, failed, want)
	}
}

// fakeBudget is a Budget that gets one credit per every, and holds at most one.
type fakeBudget struct {
	every time.Duration
	spent atomic.Int64 // credits

	mu   sync.Mutex
	next time.Time // when the next credit comes
}

func (b *fakeBudget) Spend(context.Context) *core.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait := time.Until(b.next); wait > 0 {
		refused := marketService.Fail(core.NoCredit, errors.New("not due"))
		refused.RetryAfter = wait
		return refused
	}
	b.next = time.Now().Add(b.every)
	b.spent.Add(1)
	return nil
}

func (b *fakeBudget) NoteReplicaCall() {}

// bringForward makes the next credit come earlier, by this time.
func (b *fakeBudget) bringForward(earlier time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = b.next.Add(-earlier)
}

// While there is no credit, callers get the cached price. When a credit comes, the service is asked, even if the credit
// comes earlier than the Budget said.
func TestThePriceStaysUntilACreditComes(t *testing.T) {
	for name, test := range map[string]struct {
		every   time.Duration // between two credits, as the Budget says
		earlier time.Duration // how much earlier the second credit comes
	}{
		"a credit every five minutes": {
			every: 5 * time.Minute,
		},
		"a credit every eight hours": {
			every: 8 * time.Hour,
		},
		"a credit after two minutes instead of eight hours": {
			every:   8 * time.Hour,
			earlier: 8*time.Hour - 2*time.Minute,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			budget := &fakeBudget{every: test.every}
			f := newFixture(t, setup{budget: budget, price: pricedAfter(800 * time.Millisecond)})
			begun := time.Now()
			_, _ = f.askPrice(t.Context())
			time.AfterFunc(time.Minute, func() { budget.bringForward(test.earlier) })
			secondCredit := test.every - test.earlier
			thirdCredit := secondCredit + test.every
			for time.Since(begun) < thirdCredit+time.Minute {
				time.Sleep(10 * time.Second)
				wantPriceMeanwhile(t, f, name, test.every)
				isOverdue := time.Since(begun) > secondCredit+20*time.Second
				if isOverdue && budget.spent.Load() < 2 {
					t.Fatalf("%s: no call after %v", name, time.Since(begun))
				}
			}
			f.cache.Close()
			if budget.spent.Load() != 3 {
				t.Errorf("%s: %d credits, want 3", name, budget.spent.Load())
			}
		})
	}
}

// wantPriceMeanwhile asks for the price while credits come at this interval. It fails the test unless the price is at
// most 10 seconds older than the interval, and Stale only after its TTL and StaleFor.
func wantPriceMeanwhile(t *testing.T, f *fixture, name string, every time.Duration) {
	t.Helper()
	start := time.Now()
	q, err := f.askPrice(t.Context())
	age := time.Since(q.At)
	isOld := age >= time.Hour+30*time.Second
	if err != nil || q.Stale != isOld || age > every+10*time.Second {
		t.Fatalf("%s: %v, %v old, stale %t", name, err, age, q.Stale)
	}
	if took := time.Since(start); took > 0 && every < time.Hour {
		t.Errorf("%s: the price came after %v", name, took)
	}
}

func TestAPriceThatIsHeldSaysThatThereIsNoCredit(t *testing.T) {
	const every = 5 * time.Minute
	const extended = every + 5*time.Second // until the next credit, and for the call that it pays for
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{budget: &fakeBudget{every: every}, price: priced(7)})
		_, _ = f.askPrice(t.Context())
		for _, step := range []struct {
			age          time.Duration
			wantFreshFor time.Duration // from when the price was fetched
			wantWhy      core.Reason   // empty: none
		}{
			{age: 26 * time.Second, wantFreshFor: 30 * time.Second},
			{age: 27 * time.Second, wantFreshFor: extended},
			{age: 30 * time.Second, wantFreshFor: extended, wantWhy: core.NoCredit},
			{age: 60 * time.Second, wantFreshFor: extended, wantWhy: core.NoCredit},
		} {
			last, _ := f.prices.Last(struct{}{})
			time.Sleep(time.Until(last.At.Add(step.age)))
			q, err := f.askPrice(t.Context())
			synctest.Wait() // The refresh of the first step gets no credit.
			if err != nil || q.Stale || q.FreshUntil.Sub(q.At) != step.wantFreshFor {
				t.Fatalf("a price %v old: %+v, %v", step.age, q, err)
			}
			if hasWhy := q.Why != nil; hasWhy != (step.wantWhy != "") {
				t.Fatalf("a price %v old: the reason is %v", step.age, q.Why)
			}
			if q.Why != nil && (q.Why.Reason != step.wantWhy || q.Why.RetryAfter != every-step.age) {
				t.Errorf("a price %v old: the reason is %+v", step.age, q.Why)
			}
			if h := f.market.Health(); h.PausedFor != 0 {
				t.Errorf("a service that works is paused for %v", h.PausedFor)
			}
		}
	})
}

// lullStep is an attempt to call a service.
type lullStep struct {
	wait    time.Duration // before the attempt
	refused core.Reason   // why the Budget refuses a credit; empty: it gives one
	failed  core.Reason   // why the call fails; empty: it succeeds
}

// succeeds is a call that succeeds.
var succeeds = lullStep{}

// lullCases are attempts, and the reason of the lull after them. Each refusal and each failure asks to wait for an
// hour.
var lullCases = map[string]struct {
	steps []lullStep
	want  core.Reason // empty: no lull
}{
	"before any call": {
		steps: nil,
	},
	"a call succeeds": {
		steps: []lullStep{succeeds},
	},
	"a call succeeds, then there is no credit": {
		steps: []lullStep{succeeds, {refused: core.NoCredit}},
		want:  core.NoCredit,
	},
	"the Budget says that the plan is used up": {
		steps: []lullStep{{refused: core.UsedUp}},
		want:  core.UsedUp,
	},
	"the service says that the plan is used up": {
		steps: []lullStep{{failed: core.UsedUp}},
		want:  core.UsedUp,
	},
	"the service asks to wait": {
		steps: []lullStep{{failed: core.Limited}},
	},
	"a call fails, then there is no credit": {
		steps: []lullStep{{failed: core.Denied}, {wait: time.Hour, refused: core.NoCredit}},
	},
	"there is no credit, then a call succeeds": {
		steps: []lullStep{{refused: core.NoCredit}, {wait: time.Minute}},
	},
	"there is no credit, then the plan is used up": {
		steps: []lullStep{{refused: core.NoCredit}, {wait: time.Minute, refused: core.UsedUp}},
		want:  core.UsedUp,
	},
}

func TestALackOfCreditsIsALullUntilTheNextCall(t *testing.T) {
	for name, test := range lullCases {
		synctest.Test(t, func(t *testing.T) {
			var now lullStep
			budget := budgetFunc(func() *core.Error {
				if now.refused == "" {
					return nil
				}
				return waitAnHour(now.refused)
			})
			f := newFixture(t, setup{budget: budget})
			for _, step := range test.steps {
				time.Sleep(step.wait)
				now = step
				_ = f.market.call(t.Context(), allFailures, func(context.Context) error {
					if step.failed == "" {
						return nil
					}
					return waitAnHour(step.failed)
				})
			}
			got := f.market.creditLull()
			if test.want == "" {
				if got != (lull{}) {
					t.Errorf("%s: the lull is %+v", name, got)
				}
				return
			}
			if got.why == nil || got.why.Reason != test.want || time.Until(got.until) != time.Hour {
				t.Errorf("%s: the lull is %+v, want %s for an hour", name, got, test.want)
			}
		})
	}
}

// waitAnHour returns a failure that asks to wait for an hour.
func waitAnHour(reason core.Reason) *core.Error {
	failed := marketService.Fail(reason, errors.New("down"))
	failed.RetryAfter = time.Hour
	return failed
}

func TestARetrySpendsACredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &fakeBudget{}
		f := newFixture(t, setup{budget: budget})
		f.setPrice(func(ctx context.Context) (*core.Quote, error) {
			if isFirst := f.calls.Load() == 1; isFirst {
				return failing(core.Unreachable)(ctx)
			}
			return priced(7)(ctx)
		})
		if _, err := f.askPrice(t.Context()); err != nil || budget.spent.Load() != 2 {
			t.Errorf("%v after %d credits, want 2", err, budget.spent.Load())
		}
	})
}

// budgetFunc is a Budget whose Spend is this function.
type budgetFunc func() *core.Error

func (f budgetFunc) Spend(context.Context) *core.Error { return f() }

func (budgetFunc) NoteReplicaCall() {}

func TestAPanicOfTheBudgetMeansNoCall(t *testing.T) {
	f := newFixture(t, setup{price: priced(7), budget: budgetFunc(func() *core.Error { panic("boom") })})
	if _, err := f.askPrice(t.Context()); core.ReasonOf(err) != core.Malformed || f.calls.Load() != 0 {
		t.Errorf("%v after %d calls", err, f.calls.Load())
	}
}

func TestNoCallInAPauseThatBeganWhileTheBudgetBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := budgetFunc(func() *core.Error {
			time.Sleep(2 * time.Second)
			return nil
		})
		f := newFixture(t, setup{price: priced(7), budget: slow})
		var others sync.WaitGroup
		others.Go(func() {
			_ = f.market.Do(t.Context(), func(context.Context) error {
				time.Sleep(time.Second)
				return waitAnHour(core.Limited)
			})
		})
		time.Sleep(1500 * time.Millisecond) // The other call is limited after 3 seconds, and our Spend returns after 3.5.
		if _, err := f.askPrice(t.Context()); core.ReasonOf(err) != core.Limited || f.calls.Load() != 0 {
			t.Errorf("%v after %d calls", err, f.calls.Load())
		}
		others.Wait()
	})
}
