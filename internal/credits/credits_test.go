package credits_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/credits"
)

const month = 31 * 24 * time.Hour

// shelf is a Store that forgets nothing.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
}

func newShelf() *shelf { return &shelf{values: map[string][]byte{}} }

func (s *shelf) Load(_ context.Context, key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, found := s.values[key]
	return v, found
}

func (s *shelf) Save(_ context.Context, key string, value []byte, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// counter is chat.Turns of one rate, as replicas share it. While it is away,
// nobody knows whose turn it is.
type counter struct {
	mu   sync.Mutex
	full time.Time
	away bool
}

func (c *counter) Take(_ context.Context, within time.Duration, rates ...chat.Rate) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

func (c *counter) leave(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
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

// gap is the longest time without a call.
func (l ledger) gap() (gap time.Duration) {
	for i := range l[1:] {
		gap = max(gap, l[i+1].Sub(l[i]))
	}
	return gap
}

// spend takes every credit that it can for so long.
func spend(t *testing.T, lasts time.Duration, b *credits.Budget) (spent ledger) {
	t.Helper()
	for start := time.Now(); time.Since(start) < lasts; {
		if wait := b.Take(t.Context()); wait > 0 {
			time.Sleep(wait)
		} else {
			spent = append(spent, time.Now())
		}
	}
	return spent
}

func TestAPlanIsSpreadOverAnyMonth(t *testing.T) {
	for _, plan := range []struct {
		credits int
		every   time.Duration // rounded
		most    int           // in any month, after a quiet one
		shared  time.Duration
	}{
		{1, 744 * time.Hour, 1, 744 * time.Hour},
		{2, 744 * time.Hour, 1, 744 * time.Hour},
		{10, 87*time.Hour + 32*time.Minute, 9, 99*time.Hour + 12*time.Minute},
		{100, 8 * time.Hour, 95, 8*time.Hour + 58*time.Minute},
		{1000, 48 * time.Minute, 950, 54 * time.Minute},
		{10000, 5 * time.Minute, 9500, 5 * time.Minute},
		{333333, 0, 316666, 0},
	} {
		t.Run(fmt.Sprint(plan.credits), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := credits.New(credits.Config{PerMonth: plan.credits, Store: newShelf()})
				if got := b.Every().Round(time.Minute); got != plan.every {
					t.Errorf("a credit comes back after %v, want %v", got, plan.every)
				}
				shared := credits.New(credits.Config{PerMonth: plan.credits, Turns: &counter{}})
				if got := shared.Every().Round(time.Minute); got != plan.shared {
					t.Errorf("one shared between replicas comes back after %v, want %v", got, plan.shared)
				}
				time.Sleep(month)
				spent := spend(t, 40*24*time.Hour, b)
				if n := spent.most(); n > plan.most || n < plan.most-1 {
					t.Errorf("%d credits in a month, want %d", n, plan.most)
				}
				if gap := spent.gap(); gap > b.Every() {
					t.Errorf("%v without a credit", gap)
				}
				if n := int(b.Taken()); n != len(spent) {
					t.Errorf("%d are said to be taken, not %d", n, len(spent))
				}
			})
		})
	}
}

// TestStartsThatForgetStayWithinThePlan has a process that keeps nothing start
// again and again, and take all that it can.
func TestStartsThatForgetStayWithinThePlan(t *testing.T) {
	for _, plan := range []int{200, 1000, 10_000, 333_333} {
		for name, apart := range map[string]time.Duration{"20 in a month": month / 20, "20 in a minute": 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				var spent ledger
				for range 20 {
					spent = append(spent, spend(t, apart, credits.New(credits.Config{PerMonth: plan}))...)
				}
				if n := spent.most(); n > plan || n < plan/10 {
					t.Errorf("%s: %d of %d credits in a month", name, n, plan)
				}
			})
		}
	}
}

func TestANewBucketHasAHundredthOfThePlanAndAQuietDaySavesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := func(b *credits.Budget, want int) {
			t.Helper()
			if left, known := b.Left(); left != want || !known {
				t.Errorf("%d credits are left, want %d", left, want)
			}
			for range want {
				if wait := b.Take(t.Context()); wait != 0 {
					t.Fatalf("wait for %v", wait)
				}
			}
			if left, _ := b.Left(); left != 0 || b.Take(t.Context()) <= 0 {
				t.Error("a credit too many")
			}
		}
		b := credits.New(credits.Config{PerMonth: 10_000, Store: newShelf()})
		take(b, 100)
		time.Sleep(12 * b.Every())
		take(b, 12)
		time.Sleep(25 * time.Hour)
		take(b, 285) // 3 % of 95 %
		take(credits.New(credits.Config{PerMonth: 100}), 2)
		take(credits.New(credits.Config{PerMonth: 10}), 1)
	})
}

func TestARestartGoesOnWithWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newShelf()
		start := func() *credits.Budget { return credits.New(credits.Config{PerMonth: 10_000, Plan: "a", Store: kept}) }
		var spent ledger
		for began := time.Now(); time.Since(began) < month; time.Sleep(time.Minute) {
			for b := start(); b.Take(t.Context()) == 0; {
				spent = append(spent, time.Now())
			}
		}
		if n := spent.most(); n > 9500 || n < 9000 {
			t.Errorf("%d credits in a month of restarts", n)
		}
		time.Sleep(48 * time.Hour)
		saved := 0
		for b := start(); b.Take(t.Context()) == 0; saved++ {
		}
		if saved != 285 {
			t.Errorf("%d credits after two quiet days", saved)
		}
		other := credits.New(credits.Config{PerMonth: 10_000, Plan: "b", Store: kept})
		if other.Take(t.Context()) != 0 {
			t.Error("another plan has no credit")
		}
	})
}

func TestTwoProcessesWithOneStoreDoNotSpendTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newShelf()
		config := credits.Config{PerMonth: 10_000, Store: kept}
		one, two := credits.New(config), credits.New(config)
		spent := 0
		for began := time.Now(); time.Since(began) < month; time.Sleep(time.Minute) {
			for _, b := range []*credits.Budget{one, two} {
				if b.Take(t.Context()) == 0 {
					spent++
				}
			}
		}
		if spent > 9500 {
			t.Errorf("%d credits", spent)
		}
	})
}

func TestWhatIsKeptOfAnotherTimeOrDamagedDoesNotLastForEver(t *testing.T) {
	for name, value := range map[string]string{
		"a clock a century ahead": "9000000000000000000",
		"nonsense":                "\x00",
		"nothing":                 "",
		"the year 1678":           "-9000000000000000000",
	} {
		synctest.Test(t, func(t *testing.T) {
			kept := newShelf()
			kept.Save(t.Context(), "credits ", []byte(value), 0)
			b := credits.New(credits.Config{PerMonth: 10_000, Store: kept})
			if spent := spend(t, month, b); len(spent) < 9000 || spent.most() > 9500 {
				t.Errorf("%s: %d credits in a month", name, len(spent))
			}
		})
	}
}

// TestReplicasStayWithinThePlanHoweverOftenRedisIsAway has ten replicas take
// all that they can, while Redis comes and goes.
func TestReplicasStayWithinThePlanHoweverOftenRedisIsAway(t *testing.T) {
	for _, plan := range []int{1, 50, 100, 10_000} {
		for name, away := range map[string]func(minute int) bool{
			"never":             func(int) bool { return false },
			"always":            func(int) bool { return true },
			"every other hour":  func(minute int) bool { return minute/60%2 == 1 },
			"now and then":      func(minute int) bool { return minute%20 == 10 },
			"for half a month":  func(minute int) bool { return minute > 15*24*60 },
			"from the start on": func(minute int) bool { return minute < 60 },
		} {
			t.Run(fmt.Sprint(plan, " away ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					shared := &counter{}
					var replicas []*credits.Budget
					for range 10 {
						replicas = append(replicas, credits.New(credits.Config{PerMonth: plan, Turns: shared}))
					}
					var spent ledger
					for i := range 40 * 24 * 6 {
						shared.leave(away(10 * i))
						for _, b := range replicas {
							for b.Take(t.Context()) == 0 {
								spent = append(spent, time.Now())
							}
						}
						time.Sleep(10 * time.Minute)
					}
					if n := spent.most(); n > plan {
						t.Errorf("%d credits in a month", n)
					}
					if len(spent) == 0 && (plan >= 100 || name != "always") {
						t.Error("no credit at all")
					}
				})
			})
		}
	}
}

// day is a load and how it ends.
type day struct {
	askers  int
	apart   time.Duration
	restart bool
}

// TestNoLoadExceedsAPlan draws loads and restarts.
func TestNoLoadExceedsAPlan(t *testing.T) {
	days := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) day {
		askers := rapid.IntRange(1, 200).Draw(r, "askers")
		return day{askers, 24 * time.Hour / time.Duration(rapid.IntRange(askers, 10*askers).Draw(r, "pace")), rapid.Bool().Draw(r, "restart")}
	}), 1, 60)
	rapid.Check(t, func(r *rapid.T) {
		config := credits.Config{PerMonth: rapid.IntRange(1, 3000).Draw(r, "plan"), Store: newShelf()}
		drawn := days.Draw(r, "days")
		var spent ledger
		synctest.Test(t, func(t *testing.T) {
			b := credits.New(config)
			for _, d := range drawn {
				for range d.askers {
					if b.Take(t.Context()) == 0 {
						spent = append(spent, time.Now())
					}
					time.Sleep(d.apart)
				}
				if d.restart {
					b = credits.New(config)
				}
				time.Sleep(24*time.Hour - time.Duration(d.askers)*d.apart)
			}
		})
		if n := spent.most(); n > max(1, config.PerMonth*95/100) {
			r.Errorf("%d of %d credits in a month", n, config.PerMonth)
		}
	})
}
