package query

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

func TestSimultaneousCallersShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: pricedAfter(3 * time.Second)})
		var askers sync.WaitGroup
		for range 1000 {
			askers.Go(func() {
				if q, err := f.askPrice(t.Context()); err != nil || q.Value.Price.IntPart() != 7 {
					t.Errorf("got %v, %v", q, err)
				}
			})
		}
		askers.Wait()
		if n := f.calls.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

func TestACallContinuesAfterItsFirstCallerHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: pricedAfter(3 * time.Second)})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.askPrice(impatient); core.ReasonOf(err) != core.SlowAnswer {
			t.Errorf("the first caller got %v", err)
		}
		q, err := f.askPrice(t.Context())
		if err != nil || q.Value.Price.IntPart() != 7 || f.calls.Load() != 1 {
			t.Errorf("the second caller got %v, %v after %d calls", q, err, f.calls.Load())
		}
	})
}

func TestEachLookupIsReportedByItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: priced(7)})
		f.askPrice(t.Context()) // a miss
		time.Sleep(10 * time.Second)
		f.askPrice(t.Context()) // a hit, 10 seconds old
		f.setPrice(failing(core.Denied))
		time.Sleep(time.Minute)
		f.askPrice(t.Context()) // stale, 70 seconds old
		time.Sleep(time.Hour)
		f.askPrice(t.Context()) // failed
		wantResults := []LookupResult{Miss, Hit, Stale, Failed}
		if !slices.Equal(f.lookups.results, wantResults) {
			t.Errorf("results %v, want %v", f.lookups.results, wantResults)
		}
		wantAges := []time.Duration{0, 10 * time.Second, 70 * time.Second, 0}
		if !slices.Equal(f.lookups.ages, wantAges) {
			t.Errorf("ages %v, want %v", f.lookups.ages, wantAges)
		}
	})
}

func TestBothAsksAtOnceAndKeepsErrorsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: func(context.Context) (*core.Quote, error) {
			time.Sleep(3 * time.Second)
			return nil, marketService.Fail(core.Denied, errors.New("down"))
		}})
		f.setStake(func(context.Context) (core.Stake, error) {
			time.Sleep(2 * time.Second)
			return core.Stake{Checked: 1}, nil
		})
		start := time.Now()
		stake, price := Both(t.Context(), f.stakes, wallet(1), f.prices, struct{}{})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v, want 3s", took)
		}
		if stake.Err != nil || stake.Value.Checked != 1 {
			t.Errorf("stake: %+v", stake)
		}
		if core.ReasonOf(price.Err) != core.Denied || !price.At.IsZero() {
			t.Errorf("price: %+v", price)
		}
	})
}

// An answer is due for a refresh after 25 seconds, and expires after 30 seconds.
func TestAnAnswerIsRefreshedBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: priced(1)})
		first, _ := f.askPrice(t.Context())
		f.setPrice(pricedAfter(4900 * time.Millisecond))
		for _, step := range []struct {
			age       time.Duration
			wantCalls int64
		}{
			{age: 24900 * time.Millisecond, wantCalls: 1},
			{age: 25 * time.Second, wantCalls: 2}, // starts the refresh, which takes 4.9 seconds
			{age: 25100 * time.Millisecond, wantCalls: 2},
		} {
			askAtAge(t, f, first, step.age)
			if calls := f.calls.Load(); calls != step.wantCalls {
				t.Errorf("after %v: %d calls, want %d", step.age, calls, step.wantCalls)
			}
		}
		time.Sleep(5 * time.Second)
		q, err := f.askPrice(t.Context())
		if err != nil || q.Stale || q.Value.Price.IntPart() != 7 {
			t.Errorf("after the refresh: %+v, %v", q, err)
		}
		if at := time.Since(first.At); at != 30100*time.Millisecond {
			t.Errorf("the answer comes at %v, want it at once", at)
		}
	})
}

// askAtAge asks for the price when the first answer has this age. It fails the test unless it gets the first answer,
// without a wait.
func askAtAge(t *testing.T, f *fixture, first Snapshot[*core.Quote], age time.Duration) {
	t.Helper()
	time.Sleep(time.Until(first.At.Add(age)))
	q, err := f.askPrice(t.Context())
	if err != nil || q != first || time.Since(first.At) != age {
		t.Errorf("after %v, at %v: %+v, %v", age, time.Since(first.At), q, err)
	}
	synctest.Wait()
}

func TestARefreshThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: priced(1)})
		first, _ := f.askPrice(t.Context())
		f.setPrice(failing(core.Rejected))
		askAtAge(t, f, first, 25*time.Second) // starts the refresh, which fails
		askAtAge(t, f, first, 26*time.Second) // starts another one
		if f.calls.Load() != 3 {
			t.Errorf("%d calls, want 3", f.calls.Load())
		}
		time.Sleep(5 * time.Second)
		if q, err := f.askPrice(t.Context()); err != nil || !q.Stale {
			t.Errorf("once it has expired: %+v, %v", q, err)
		}
	})
}

func TestNoCallIsMadeWhileNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: priced(1)})
		f.askPrice(t.Context())
		time.Sleep(time.Hour)
		if f.calls.Load() != 1 {
			t.Errorf("%d calls, want 1", f.calls.Load())
		}
	})
}

// An answer past its TTL stands in for StaleFor, even in pauses. Its Why is why the service does not give a newer one.
func TestAStandInSaysWhyThereIsNoNewerAnswer(t *testing.T) {
	const useless = 30*time.Second + time.Hour // the TTL and StaleFor
	for name, test := range map[string]struct {
		price priceFunc
		want  core.Reason
	}{
		"down":    {price: failing(core.Unreachable), want: core.Unreachable},
		"hung":    {price: hung, want: core.SlowAnswer},
		"limited": {price: failing(core.Limited), want: core.Limited},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, setup{price: priced(7)})
			first, _ := f.askPrice(t.Context())
			f.setPrice(test.price)
			for range 150 {
				time.Sleep(31 * time.Second)
				q, err := f.askPrice(t.Context())
				age := time.Since(first.At)
				if age >= useless {
					if err == nil {
						t.Fatalf("%s, after %v: %+v, want an error", name, age, q)
					}
					continue
				}
				if err != nil || !q.Stale || !q.At.Equal(first.At) || !q.FreshUntil.IsZero() {
					t.Fatalf("%s, after %v: %+v, %v; want the first answer, stale", name, age, q, err)
				}
				if q.Why == nil || q.Why.Reason != test.want {
					t.Fatalf("%s: the reason is %v", name, q.Why)
				}
			}
		})
	}
}

func TestANewAnswerReplacesAStandIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{price: priced(7)})
		f.askPrice(t.Context())
		f.setPrice(failing(core.Unreachable))
		time.Sleep(31 * time.Second)
		f.askPrice(t.Context())
		f.setPrice(priced(8))
		q, err := f.askPrice(t.Context())
		if err != nil || q.Stale || q.Why != nil || q.Value.Price.IntPart() != 8 {
			t.Errorf("%+v, %v", q, err)
		}
	})
}
