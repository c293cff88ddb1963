package credits_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/service/market/credits"
	"herald/internal/store"
)

const month = 31 * 24 * time.Hour

// shelf is a Store that forgets nothing.
type shelf map[string][]byte

func (s shelf) Load(_ context.Context, key string) ([]byte, bool) {
	v, found := s[key]
	return v, found
}

func (s shelf) Save(_ context.Context, key string, value []byte, _ time.Duration) { s[key] = value }

// keptIn is the Limiter of a process that keeps its buckets there.
func keptIn(s shelf) chat.Limiter {
	slots := store.NewSlots()
	slots.Kept = s
	return slots
}

// replica is the Limiter of one of several. While Redis is away it knows only its
// own.
type replica struct {
	shared, own *store.Slots
	away        *bool
}

func (r replica) Reserve(ctx context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	switch {
	case !*r.away:
		return r.shared.Reserve(ctx, within, limits...)
	case limits[0].Start > 0:
		return time.Second, false
	}
	return r.own.Reserve(ctx, within, limits...)
}

// ledger are the times of calls.
type ledger []time.Time

// max is the largest number of calls in any month, half open.
func (l ledger) max() (best int) {
	first := 0
	for i, at := range l {
		for !l[first].After(at.Add(-month)) {
			first++
		}
		best = max(best, i-first+1)
	}
	return best
}

// takeAll takes every credit that is there, and returns how long to wait for one
// more.
func (l *ledger) takeAll(b *credits.Budget) time.Duration {
	for range 10_000 {
		if wait := b.Take(context.Background()); wait > 0 {
			return wait
		}
		*l = append(*l, time.Now())
	}
	panic("there are credits without end")
}

// spend takes every credit that it can for so long.
func spend(lasts time.Duration, b *credits.Budget) (spent ledger) {
	for start := time.Now(); time.Since(start) < lasts; {
		time.Sleep(spent.takeAll(b))
	}
	return spent
}

func TestAPlanIsSpreadOverAnyMonth(t *testing.T) {
	for _, plan := range []struct {
		credits int
		every   time.Duration // rounded
		max     int           // in any month, after a quiet one
	}{
		{1, 744 * time.Hour, 1},
		{10, 87*time.Hour + 32*time.Minute, 9},
		{100, 8 * time.Hour, 95},
		{10_000, 5 * time.Minute, 9500},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(plan.credits, " shared ", shared), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := credits.New(credits.Config{PerMonth: plan.credits, Limiter: keptIn(shelf{}), Kept: true, Shared: shared})
					if got := b.Limit().Every().Round(time.Minute); got != plan.every {
						t.Errorf("a credit comes back after %v, want %v", got, plan.every)
					}
					time.Sleep(month)
					var spent ledger
					for range 40 * 24 {
						spent.takeAll(b)
						time.Sleep(time.Hour)
					}
					if n := spent.max(); n > plan.max+plan.credits/400 || n < plan.max*9/10 || int(b.Taken()) != len(spent) {
						t.Errorf("%d credits in a month, want %d; %d are said to be taken", n, plan.max, b.Taken())
					}
				})
			})
		}
	}
}

func TestANewBucketIsNearlyEmptyAndAQuietDaySavesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := func(what string, c credits.Config, want int) *credits.Budget {
			t.Helper()
			b := credits.New(c)
			var spent ledger
			if spent.takeAll(b); len(spent) != want {
				t.Errorf("%s: %d credits can be taken, want %d", what, len(spent), want)
			}
			return b
		}
		config := credits.Config{PerMonth: 10_000, Plan: "a", Limiter: keptIn(shelf{}), Kept: true}
		every := take("at first", config, 20).Limit().Every()
		time.Sleep(12 * every)
		take("after an hour", config, 12)
		time.Sleep(25 * time.Hour)
		take("after a day", config, 285) // 3 % of 95 %
		config.Plan = "b"
		take("another plan", config, 20)
		take("a small plan", credits.Config{PerMonth: 100, Limiter: store.NewSlots()}, 2)
	})
}

// TestStartsThatForgetStayWithinThePlan has a process start again and again and
// take all that it can. It keeps nothing, or what it kept is lost each time.
func TestStartsThatForgetStayWithinThePlan(t *testing.T) {
	for _, c := range []struct {
		starts, plan int
		loses        bool
	}{{10, 200, false}, {10, 1000, false}, {125, 10_000, false}, {31, 10_000, true}} {
		for _, apart := range []time.Duration{month / time.Duration(c.starts), 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				var spent ledger
				for range c.starts {
					config := credits.Config{PerMonth: c.plan, Limiter: store.NewSlots(), Kept: c.loses}
					spent = append(spent, spend(apart, credits.New(config))...)
				}
				if n := spent.max(); n > c.plan || n < c.starts*2 {
					t.Errorf("%d starts %v apart: %d of %d credits in a month", c.starts, apart, n, c.plan)
				}
			})
		}
	}
}

func TestWhatIsKeptOfAnotherTimeOrDamagedDoesNotLastForEver(t *testing.T) {
	for name, value := range map[string]string{
		"a clock a century ahead": "9000000000000000000", "nonsense": "\x00", "nothing": "", "the year 1678": "-9000000000000000000",
	} {
		synctest.Test(t, func(t *testing.T) {
			b := credits.New(credits.Config{PerMonth: 10_000, Limiter: keptIn(shelf{"credits ": []byte(value)}), Kept: true})
			if spent := spend(month, b); len(spent) < 9000 || spent.max() > 9500 {
				t.Errorf("%s: %d credits in a month", name, len(spent))
			}
		})
	}
}

// TestReplicasStayWithinThePlanHoweverOftenRedisIsAway has ten replicas take
// all that they can, while Redis comes and goes.
func TestReplicasStayWithinThePlanHoweverOftenRedisIsAway(t *testing.T) {
	for _, plan := range []int{1, 100, 400, 10_000} {
		for name, away := range map[string]func(hour int) bool{
			"always":            func(int) bool { return true },
			"every other hour":  func(hour int) bool { return hour%2 == 1 },
			"from the start on": func(hour int) bool { return hour < 24 },
		} {
			synctest.Test(t, func(t *testing.T) {
				shared, isAway := store.NewSlots(), false
				var replicas []*credits.Budget
				for range 10 {
					limiter := replica{shared: shared, own: store.NewSlots(), away: &isAway}
					replicas = append(replicas, credits.New(credits.Config{PerMonth: plan, Limiter: limiter, Shared: true}))
				}
				var spent ledger
				for hour := range 40 * 24 {
					isAway = away(hour)
					for _, b := range replicas {
						if wait := spent.takeAll(b); wait > 5*time.Second {
							t.Fatalf("a replica waits for %v, though another may learn the price", wait)
						}
					}
					time.Sleep(time.Hour)
				}
				if n := spent.max(); n > plan || n == 0 && (name != "always" || plan >= 400) {
					t.Errorf("a plan of %d, away %s: %d credits in a month", plan, name, n)
				}
			})
		}
	}
}
