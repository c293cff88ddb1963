package credits_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/service/market/credits"
)

const month = 31 * 24 * time.Hour

// shelf is a Store that forgets nothing.
type shelf map[string][]byte

func (s shelf) Load(_ context.Context, key string) ([]byte, bool) {
	v, found := s[key]
	return v, found
}

func (s shelf) Save(_ context.Context, key string, value []byte, _ time.Duration) { s[key] = value }

// counter is chat.Turns of one rate, as replicas share it. While it is away,
// nobody knows whose turn it is.
type counter struct {
	full time.Time
	away bool
}

func (c *counter) Take(_ context.Context, within time.Duration, rates ...chat.Rate) (time.Duration, bool) {
	if c.away {
		return 0, false
	}
	now, r := time.Now(), rates[0]
	if c.full.Before(now) {
		c.full = now
	}
	if wait := c.full.Add(-r.Every * time.Duration(r.Burst-1)).Sub(now); wait > max(0, within) {
		return wait, true
	}
	c.full = c.full.Add(r.Every)
	return 0, true
}

// ledger are the times of calls.
type ledger []time.Time

// most is the largest number of calls in any month, half open.
func (l ledger) most() (most int) {
	first := 0
	for i, at := range l {
		for !l[first].After(at.Add(-month)) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
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
		most    int           // in any month, after a quiet one
	}{
		{1, 744 * time.Hour, 1},
		{10, 87*time.Hour + 32*time.Minute, 9},
		{100, 8 * time.Hour, 95},
		{10_000, 5 * time.Minute, 9500},
	} {
		for name, config := range map[string]credits.Config{"kept": {Store: shelf{}}, "shared": {Turns: &counter{}}} {
			t.Run(fmt.Sprint(plan.credits, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config.PerMonth = plan.credits
					b := credits.New(config)
					if got := b.Every().Round(time.Minute); got != plan.every {
						t.Errorf("a credit comes back after %v, want %v", got, plan.every)
					}
					time.Sleep(month)
					var spent ledger
					for range 40 * 24 {
						spent.takeAll(b)
						time.Sleep(time.Hour)
					}
					if n := spent.most(); n > plan.most || n < plan.most*9/10 || int(b.Taken()) != len(spent) {
						t.Errorf("%d credits in a month, want %d; %d are said to be taken", n, plan.most, b.Taken())
					}
				})
			})
		}
	}
}

func TestANewBucketIsNearlyEmptyAndAQuietDaySavesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := func(b *credits.Budget, want int) {
			t.Helper()
			var spent ledger
			left, known := b.Left()
			if spent.takeAll(b); left != want || !known || len(spent) != want {
				t.Errorf("%d credits are left and %d can be taken, want %d", left, len(spent), want)
			}
		}
		config := credits.Config{PerMonth: 10_000, Plan: "a", Store: shelf{}}
		b := credits.New(config)
		take(b, 20)
		time.Sleep(12 * b.Every())
		take(b, 12)
		time.Sleep(25 * time.Hour)
		take(b, 285) // 3 % of 95 %
		time.Sleep(25 * time.Hour)
		var restarted ledger
		if restarted.takeAll(credits.New(config)); len(restarted) != 285 {
			t.Errorf("after a restart there are %d credits", len(restarted))
		}
		config.Plan = "b"
		take(credits.New(config), 20)
		take(credits.New(credits.Config{PerMonth: 100}), 2)
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
					config := credits.Config{PerMonth: c.plan}
					if c.loses {
						config.Store = shelf{}
					}
					spent = append(spent, spend(apart, credits.New(config))...)
				}
				if n := spent.most(); n > c.plan || n < c.starts*2 {
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
			b := credits.New(credits.Config{PerMonth: 10_000, Store: shelf{"credits ": []byte(value)}})
			if spent := spend(month, b); len(spent) < 9000 || spent.most() > 9500 {
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
				shared := &counter{}
				var replicas []*credits.Budget
				for range 10 {
					replicas = append(replicas, credits.New(credits.Config{PerMonth: plan, Turns: shared, Store: shelf{}}))
				}
				var spent ledger
				for hour := range 40 * 24 {
					shared.away = away(hour)
					for _, b := range replicas {
						if wait := spent.takeAll(b); wait > 5*time.Second {
							t.Fatalf("a replica waits for %v, though another may learn the price", wait)
						}
					}
					time.Sleep(time.Hour)
				}
				if n := spent.most(); n > plan || n == 0 && (name != "always" || plan >= 400) {
					t.Errorf("a plan of %d, away %s: %d credits in a month", plan, name, n)
				}
				if _, known := replicas[0].Left(); known {
					t.Error("what replicas share is said to be known")
				}
			})
		}
	}
}

// TestNoLoadExceedsAPlan draws loads of two processes with one Store, and when
// they start again.
func TestNoLoadExceedsAPlan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		config := credits.Config{PerMonth: rapid.IntRange(1, 3000).Draw(r, "plan"), Plan: "a", Store: shelf{}}
		askers := rapid.SliceOfN(rapid.IntRange(0, 200), 1, 60).Draw(r, "askers of each day")
		restarts := rapid.SliceOfN(rapid.Bool(), len(askers), len(askers)).Draw(r, "restarts")
		var spent ledger
		synctest.Test(t, func(t *testing.T) {
			one, two := credits.New(config), credits.New(config)
			for i, n := range askers {
				for range n {
					for _, b := range []*credits.Budget{one, two} {
						if b.Take(t.Context()) == 0 {
							spent = append(spent, time.Now())
						}
					}
					time.Sleep(24 * time.Hour / time.Duration(n))
				}
				if restarts[i] {
					one = credits.New(config)
				}
				time.Sleep(time.Hour)
			}
		})
		if n := spent.most(); n > max(1, config.PerMonth*95/100) {
			r.Errorf("%d of %d credits in a month", n, config.PerMonth)
		}
	})
}
