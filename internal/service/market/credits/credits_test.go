package credits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// fakeStore is a Store that can be away and can lose what it has.
type fakeStore struct {
	values map[string][]byte
	away   bool
	// beforeSwap runs before each Swap.
	beforeSwap func()
}

func (s *fakeStore) Load(_ context.Context, key string) ([]byte, error) {
	if s.away {
		return nil, errors.New("away")
	}
	return s.values[key], nil
}

func (s *fakeStore) Swap(_ context.Context, key string, old, value []byte, ttl time.Duration) bool {
	if s.beforeSwap != nil {
		s.beforeSwap()
	}
	if lost := ttl < month; lost || s.away || string(s.values[key]) != string(old) {
		return false
	}
	s.values[key] = value
	return true
}

// deployment is replicas that take every credit that they can.
type deployment struct {
	plan, replicas int
	pause          time.Duration // between two tries
	store          *fakeStore    // nil: replicas keep nothing
	budgets        []*Budget

	now time.Time
	// clockErrors are how far ahead the replicas' clocks are.
	clockErrors [3]time.Duration
	calls       []time.Time
}

func newDeployment(plan, replicas int) *deployment {
	d := &deployment{plan: plan, replicas: replicas, pause: 30 * time.Minute, store: &fakeStore{values: map[string][]byte{}}, now: time.Unix(1_800_000_000, 0)}
	d.restart()
	return d
}

func (d *deployment) restart() {
	d.budgets = nil
	for i := range d.replicas {
		c := Config{PerMonth: d.plan, Shared: d.replicas > 1}
		if d.store != nil {
			c.Store = d.store
		}
		b := New(c)
		b.now = func() time.Time { return d.now.Add(d.clockErrors[i]) }
		d.budgets = append(d.budgets, b)
	}
}

// takeAll takes all credits that there are, and returns how many.
func (d *deployment) takeAll(t *testing.T) int {
	t.Helper()
	before := len(d.calls)
	for _, b := range d.budgets {
		for b.Take(context.Background()) == 0 {
			d.calls = append(d.calls, d.now)
			if len(d.calls)-before > d.plan {
				t.Fatal("there are credits without end")
			}
		}
	}
	return len(d.calls) - before
}

// run takes all credits again and again for so long. event happens every hour.
func (d *deployment) run(t *testing.T, lasts time.Duration, event func(hour int)) {
	t.Helper()
	for past := time.Duration(0); past < lasts; past += d.pause {
		if past%time.Hour == 0 {
			event(int(past / time.Hour))
		}
		d.takeAll(t)
		d.now = d.now.Add(d.pause)
	}
}

// busiestMonth returns the largest number of calls in any 31 days.
func (d *deployment) busiestMonth() (most int) {
	first := 0
	for i, at := range d.calls {
		for !d.calls[first].After(at.Add(-month)) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func nothing(int) {}

// A year of each of these spends no month of the plan more than once, and most of it.
func TestNoMonthIsOverspent(t *testing.T) {
	const day = 24
	restartHourly := func(d *deployment, _ int) { d.restart() }
	flush := func(d *deployment) { clear(d.store.values) }
	// clocks are wrong by a day for a week, in turn ahead and behind.
	clocks := func(d *deployment, hour int) {
		wrong := []time.Duration{0, day * time.Hour, 0, -day * time.Hour}[hour/(7*day)%4]
		d.clockErrors = [3]time.Duration{wrong, wrong, wrong}
	}
	for _, test := range []struct {
		name  string
		event func(d *deployment, hour int)
		// plan is the smallest that holds, and least is the part of it that is spent.
		plan  int
		least float64
		// pause is the time between two tries; 0: half an hour. Where nothing outlives an
		// hour, a month with short pauses stands for a year.
		pause time.Duration
	}{
		{"nothing happens", func(*deployment, int) {}, 1, 0.81, 0},
		{"restarts every hour", restartHourly, 1, 0.81, 0},
		{"restarts every hour, nothing kept", func(d *deployment, _ int) {
			d.store, d.replicas = nil, 1
			d.restart()
		}, 10_000, 0.95, 20 * time.Second},
		{"FLUSHALL every hour", func(d *deployment, _ int) { flush(d) }, 100, 0.81, 0},
		{"FLUSHALL and a restart every hour", func(d *deployment, hour int) { restartHourly(d, hour); flush(d) }, 10_000, 0.95, 20 * time.Second},
		{"Redis is away for three days a week", func(d *deployment, hour int) { d.store.away = hour%(7*day) < 3*day }, 100, 0.5, 0},
		{"the clocks jump by a day", clocks, 100, 0.7, 0},
		{"clocks jump every hour", func(d *deployment, hour int) {
			d.clockErrors[0] = []time.Duration{0, day * time.Hour, 0, -day * time.Hour}[hour%4]
		}, 100, 0.8, 0},
		{"one clock jumps by a day", func(d *deployment, hour int) {
			clocks(d, hour)
			d.clockErrors[1], d.clockErrors[2] = 0, 0
		}, 100, 0.7, 0},
		{"all of it", func(d *deployment, hour int) {
			clocks(d, hour)
			restartHourly(d, hour)
			d.store.away = hour%(9*day) < 2*day
			if hour%(2*day) == 0 {
				flush(d)
			}
		}, 10_000, 0.5, 0},
	} {
		for _, replicas := range []int{1, 3} {
			for _, plan := range slices.Compact([]int{test.plan, 10_000}) {
				t.Run(fmt.Sprintf("%s, %d replicas, plan of %d", test.name, replicas, plan), func(t *testing.T) {
					d := newDeployment(plan, replicas)
					days := 366
					if test.pause > 0 {
						d.pause, days = test.pause, 35
					}
					d.run(t, time.Duration(days)*day*time.Hour, func(hour int) { test.event(d, hour) })
					if got := d.busiestMonth(); got > plan {
						t.Errorf("%d credits in a month, want at most %d", got, plan)
					}
					if want := int(test.least * float64(plan)); d.busiestMonth() < want {
						t.Errorf("%d credits in the busiest month, want at least %d", d.busiestMonth(), want)
					}
				})
			}
		}
	}
}

func TestPlanIsSpreadOverTheMonth(t *testing.T) {
	for _, test := range []struct {
		plan  int
		every time.Duration // rounded
		burst int
	}{
		{1, 744 * time.Hour, 1},
		{10, 99*time.Hour + 12*time.Minute, 1},
		{100, 8*time.Hour + 58*time.Minute, 2},
		{10_000, 5 * time.Minute, 255},
	} {
		d := newDeployment(test.plan, 1)
		b := d.budgets[0]
		if got := b.Every().Round(time.Minute); got != test.every {
			t.Errorf("plan of %d: a credit comes back after %v, want %v", test.plan, got, test.every)
		}
		if got, want := d.takeAll(t), min(test.burst, startCredits); got != want {
			t.Errorf("plan of %d: %d credits at first, want %d", test.plan, got, want)
		}
		d.now = d.now.Add(month)
		if got := b.Available(); got != float64(test.burst) {
			t.Errorf("plan of %d: %v credits available after a quiet month, want %d", test.plan, got, test.burst)
		}
		if got := d.takeAll(t); got != test.burst {
			t.Errorf("plan of %d: %d credits after a quiet month, want %d", test.plan, got, test.burst)
		}
		if got := b.Take(t.Context()); got != b.Every() {
			t.Errorf("plan of %d: the next credit is in %v, want %v", test.plan, got, b.Every())
		}
		d.clockErrors[0] = -24 * time.Hour
		if got := b.Available(); got != 0 {
			t.Errorf("plan of %d: %v credits available by a clock that is set back, want 0", test.plan, got)
		}
		if got := b.Take(t.Context()); got != b.Every() {
			t.Errorf("plan of %d: asks again in %v by a clock that is set back, want %v", test.plan, got, b.Every())
		}
	}
}

func TestCorruptTimeRecovers(t *testing.T) {
	for name, value := range map[string]string{
		"a century ahead": "4955500000000000000", "nonsense": "\x00", "nothing": "", "the year 1678": "-9000000000000000000",
		"four days ahead":       fmt.Sprint(time.Unix(1_800_000_000, 0).AddDate(0, 0, 4).UnixNano()),
		"a month and a day ago": fmt.Sprint(time.Unix(1_800_000_000, 0).AddDate(0, 0, -32).UnixNano()),
	} {
		d := newDeployment(10_000, 1)
		d.store.values[d.budgets[0].key()] = []byte(value)
		if got := d.takeAll(t); got != startCredits {
			t.Errorf("%s: %d credits at first, want %d", name, got, startCredits)
		}
		d.run(t, month, nothing)
		if got := d.busiestMonth(); got < 8000 {
			t.Errorf("%s: %d credits in a month, want at least 8000", name, got)
		}
	}
}

func TestNothingIsTakenWhileRedisIsAway(t *testing.T) {
	d := newDeployment(10_000, 3)
	d.now = d.now.Add(month)
	d.takeAll(t)
	d.store.away = true
	d.now = d.now.Add(time.Hour)
	for range 2 { // Also after a restart, which knows nothing.
		if got := d.takeAll(t); got != 0 {
			t.Errorf("%d credits while Redis is away, want 0", got)
		}
		if got := d.budgets[0].Take(t.Context()); got != recheck {
			t.Errorf("asks again in %v, want %v", got, recheck)
		}
		d.restart()
	}
	d.store.away = false
	if got := d.takeAll(t); got != 11 {
		t.Errorf("%d credits of the hour once Redis is back, want 11", got)
	}
}

func TestLostRaceTakesTheNextCredit(t *testing.T) {
	d := newDeployment(10_000, 3)
	raced := false
	d.store.beforeSwap = func() {
		if !raced {
			raced = true
			d.budgets[1].Take(t.Context())
		}
	}
	if wait := d.budgets[0].Take(t.Context()); wait != 0 {
		t.Errorf("the loser of a race waits for %v", wait)
	}
	d.store.beforeSwap = nil
	if got := d.takeAll(t); got != startCredits-2 {
		t.Errorf("%d more credits after two replicas took one each, want %d", got, startCredits-2)
	}
	if got := d.budgets[0].Take(t.Context()); got != recheck {
		t.Errorf("asks again in %v, though another may learn the price, want %v", got, recheck)
	}
}
