package market

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

const day = 24 * time.Hour

// provider counts the calls of all who have its key, and refuses what the plan does not have.
type provider struct {
	plan  int
	spent int       // of this month
	month time.Time // begin of the month
	busy  int       // most spent in a month
	mine  int       // of spent, by replicas
	own   int       // most of these in a month
	full  int       // refusals for want of credits
}

func (p *provider) pass(d time.Duration) {
	time.Sleep(d)
	if !time.Now().Before(p.month.Add(month)) {
		p.busy, p.spent, p.month = max(p.busy, p.spent), 0, p.month.Add(month)
		p.own, p.mine = max(p.own, p.mine), 0
	}
}

func (p *provider) reading() Reading {
	return Reading{Left: p.plan - p.spent, Plan: p.plan, Resets: time.Until(p.month.Add(month))}
}

// call reports whether the plan still has a credit.
func (p *provider) call() bool {
	if p.spent == p.plan {
		p.full++
		return false
	}
	p.spent++
	return true
}

// deployment is replicas that ask for the price without a pause and share the last one.
type deployment struct {
	*provider
	perMonth int
	silent   bool // the provider does not say what is left
	replicas []*Budget
	priced   time.Time     // the last price
	gap      time.Duration // the longest time without one
	read     time.Time     // the last Reading
}

func newDeployment(plan, perMonth, replicas int, silent bool) *deployment {
	start := time.Now()
	d := &deployment{
		provider: &provider{plan: plan, month: start},
		perMonth: perMonth,
		silent:   silent,
		replicas: make([]*Budget, replicas),
		priced:   start,
	}
	d.restart()
	return d
}

func (d *deployment) restart() {
	for i := range d.replicas {
		d.replicas[i] = newBudget(d.perMonth, nil, nil)
	}
	d.read = time.Time{}
}

// step is the TTL of a price.
const step = 30 * time.Second

// ask has a replica ask for the price, if the last one is older than a TTL. It returns how long the replica has
// nothing to do then.
func (d *deployment) ask(i int) (idle time.Duration) {
	if time.Since(d.priced) < step {
		return step
	}
	if wait, reason := d.replicas[i].spend(); reason != "" {
		return wait
	}
	if !d.call() {
		d.replicas[i].giveBack()
		return step
	}
	d.mine++
	d.gap = max(d.gap, time.Since(d.priced))
	d.priced = time.Now()
	for j, other := range d.replicas {
		if j != i {
			other.Note()
		}
	}
	return step
}

// run lets a time pass, step by step, and leaves out steps in which nothing can happen. event happens every hour.
func (d *deployment) run(lasts time.Duration, event func(hour int)) {
	for past := time.Duration(0); past < lasts; {
		if past%time.Hour == 0 {
			event(int(past / time.Hour))
		}
		if !d.silent && time.Since(d.read) >= readEvery {
			d.read = time.Now()
			for _, b := range d.replicas {
				b.learn(d.reading())
			}
		}
		idle := readEvery - past%readEvery
		for i := range d.replicas {
			idle = min(idle, d.ask((i+int(past/step))%len(d.replicas)))
		}
		idle = max((idle+step-1)/step, 1) * step
		d.pass(idle)
		past += idle
	}
}

// A quarter of each of these never runs out of credits, spends most of them, and never leaves the
// price older than wanted.
func TestAMonthsCreditsLastAMonth(t *testing.T) {
	nothing := func(*deployment, int) {}
	restartDaily := func(d *deployment, hour int) {
		if hour%24 == 0 {
			d.restart()
		}
	}
	for _, test := range []struct {
		name           string
		plan, perMonth int
		silent         bool
		event          func(*deployment, int)
		least          float64 // part of the plan that is spent in the busiest month
		oldest         time.Duration
	}{
		{
			name:     "nothing happens",
			plan:     15_000,
			perMonth: 0,
			silent:   false,
			event:    nothing,
			least:    0.97,
			oldest:   6 * time.Minute,
		},
		{
			name:     "a small plan",
			plan:     300,
			perMonth: 0,
			silent:   false,
			event:    nothing,
			least:    0.9,
			oldest:   4 * time.Hour,
		},
		{
			name:     "a tiny plan",
			plan:     10,
			perMonth: 0,
			silent:   false,
			event:    nothing,
			least:    0.5,
			oldest:   8 * day,
		},
		{
			name:     "restarts each hour",
			plan:     10_000,
			perMonth: 0,
			silent:   false,
			event:    func(d *deployment, _ int) { d.restart() },
			least:    0.97,
			oldest:   time.Hour,
		},
		{
			name:     "others spend half",
			plan:     15_000,
			perMonth: 0,
			silent:   false,
			event: func(d *deployment, _ int) {
				for range 10 {
					d.call()
				}
			},
			least:  0.97,
			oldest: time.Hour,
		},
		{
			name:     "others spend a fifth at once",
			plan:     15_000,
			perMonth: 0,
			silent:   false,
			event: func(d *deployment, hour int) {
				for range 3000 * min(max(hour%744-47, 0), 1) * max(49-hour%744, 0) {
					d.call()
				}
			},
			least:  0.97,
			oldest: 20 * time.Minute,
		},
		{
			name:     "the provider says nothing for three days",
			plan:     15_000,
			perMonth: 0,
			silent:   false,
			event: func(d *deployment, hour int) {
				d.silent = hour%744 >= 240 && hour%744 < 312 || hour%744 < 24
			},
			least:  0.95,
			oldest: 8 * time.Minute,
		},
		{
			name:     "others spend it all at once",
			plan:     15_000,
			perMonth: 0,
			silent:   false,
			event: func(d *deployment, hour int) {
				for range 15_000 * min(hour%744/743, 1) {
					d.call()
				}
			},
			least:  0.97,
			oldest: 2 * time.Hour,
		},
		{
			name:     "an operator's bound",
			plan:     15_000,
			perMonth: 5000,
			silent:   false,
			event:    nothing,
			least:    0.25,
			oldest:   20 * time.Minute,
		},
		{
			name:     "an operator's bound, restarts each day",
			plan:     15_000,
			perMonth: 5000,
			silent:   false,
			event:    restartDaily,
			least:    0.25,
			oldest:   30 * time.Minute,
		},
		{
			name:     "an operator's small bound, restarts each day",
			plan:     15_000,
			perMonth: 300,
			silent:   false,
			event:    restartDaily,
			least:    0.01,
			oldest:   8 * time.Hour,
		},
		{
			name:     "an operator's bound, others spend a third",
			plan:     15_000,
			perMonth: 5000,
			silent:   false,
			event: func(d *deployment, _ int) {
				for range 7 {
					d.call()
				}
			},
			least:  0.6,
			oldest: 20 * time.Minute,
		},
		{
			name:     "the provider does not say",
			plan:     10_000,
			perMonth: 0,
			silent:   true,
			event:    nothing,
			least:    0.8,
			oldest:   6 * time.Minute,
		},
		{
			name:     "the provider does not say, restarts each day",
			plan:     10_000,
			perMonth: 0,
			silent:   true,
			event:    restartDaily,
			least:    0.8,
			oldest:   6 * time.Minute,
		},
		{
			name:     "the provider does not say, an operator's bound",
			plan:     10_000,
			perMonth: 5000,
			silent:   true,
			event:    nothing,
			least:    0.4,
			oldest:   12 * time.Minute,
		},
	} {
		for _, replicas := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d replicas", test.name, replicas), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := newDeployment(test.plan, test.perMonth, replicas, test.silent)
					d.run(3*month, func(hour int) { test.event(d, hour) })
					if d.full > 0 && test.name != "others spend it all at once" {
						t.Errorf("%d calls were refused", d.full)
					}
					if want := int(test.least * float64(test.plan)); d.busy < want {
						t.Errorf("%d credits in the busiest month, want at least %d", d.busy, want)
					}
					if bound := test.perMonth; bound > 0 && d.own > bound {
						t.Errorf("%d credits in the busiest month, the operator allows %d", d.own, bound)
					}
					if d.gap > test.oldest {
						t.Errorf("a price was %v old, want at most %v", d.gap, test.oldest)
					}
				})
			})
		}
	}
}

func TestAReadingSetsTheLimit(t *testing.T) {
	for _, test := range []struct {
		name     string
		perMonth int
		reading  Reading
		every    time.Duration
		burst    int
	}{
		{
			name:     "some left",
			perMonth: 0,
			reading:  Reading{Left: 11_988, Plan: 15_000, Resets: 10 * day},
			every:    72 * time.Second,
			burst:    29,
		},
		{
			name:     "an operator's bound",
			perMonth: 5000,
			reading:  Reading{Left: 11_988, Plan: 15_000, Resets: 10 * day},
			every:    630 * time.Second,
			burst:    3,
		},
		{
			name:     "less left than the operator allows",
			perMonth: 10_000,
			reading:  Reading{Left: 24, Resets: day},
			every:    time.Hour,
			burst:    1,
		},
		{
			name:     "others spend",
			perMonth: 0,
			reading:  Reading{Left: 2400, Plan: 15_000, Resets: 10 * day},
			every:    3 * 360 * time.Second,
			burst:    2,
		},
		{
			name:     "one left",
			perMonth: 0,
			reading:  Reading{Left: 1, Resets: 3 * day},
			every:    3 * day,
			burst:    1,
		},
		{
			name:     "none left",
			perMonth: 0,
			reading:  Reading{Left: 0, Resets: 3 * day},
			every:    3 * day,
			burst:    1,
		},
		{
			name:     "more than can be spent",
			perMonth: 0,
			reading:  Reading{Left: 1_000_000_000, Resets: time.Nanosecond},
			every:    time.Millisecond,
			burst:    1,
		},
	} {
		got := newBudget(test.perMonth, nil, nil).limitBy(test.reading)
		if got.Every.Round(time.Second) != test.every.Round(time.Second) || got.Burst != test.burst {
			t.Errorf("%s: got %d at once and one every %v", test.name, got.Burst, got.Every)
		}
	}
}

func TestOthersSpendIfLessIsLeftThanEvenSpendingLeaves(t *testing.T) {
	for _, test := range []struct {
		reading Reading
		want    bool
	}{
		{Reading{Left: 15_000, Plan: 15_000, Resets: month}, false},
		{Reading{Left: 14_860, Plan: 15_000, Resets: month}, false}, // a start
		{Reading{Left: 14_800, Plan: 15_000, Resets: month}, true},
		{Reading{Left: 4789, Plan: 15_000, Resets: 10 * day}, false},
		{Reading{Left: 4788, Plan: 15_000, Resets: 10 * day}, true},
		{Reading{Left: 8, Plan: 10, Resets: month}, false},
		{Reading{Left: 100, Plan: 0, Resets: month}, false}, // The provider does not name the plan.
	} {
		if got := test.reading.othersSpend(); got != test.want {
			t.Errorf("%+v: others spend: %t", test.reading, got)
		}
	}
}

// spendAll spends all credits that can be spent now, and returns how many.
func spendAll(b *Budget) (n int) {
	for {
		if _, reason := b.spend(); reason != "" {
			return n
		}
		n++
	}
}

func TestAStartIsAllowedSome(t *testing.T) {
	for _, test := range []struct {
		name     string
		perMonth int
		reading  *Reading
		want     int
	}{
		{
			name:     "nothing is known",
			perMonth: 0,
			reading:  nil,
			want:     21,
		},
		{
			name:     "an operator's bound",
			perMonth: 10_000,
			reading:  nil,
			want:     21,
		},
		{
			name:     "an operator's small bound",
			perMonth: 100,
			reading:  nil,
			want:     1,
		},
		{
			name:     "a whole month",
			perMonth: 0,
			reading:  &Reading{Left: 15_000, Resets: month},
			want:     21,
		},
		{
			name:     "half of a large plan",
			perMonth: 0,
			reading:  &Reading{Left: 100_000, Resets: month / 2},
			want:     21,
		},
		{
			name:     "some left",
			perMonth: 0,
			reading:  &Reading{Left: 3000, Resets: 3 * day},
			want:     7,
		},
		{
			name:     "one left",
			perMonth: 0,
			reading:  &Reading{Left: 1, Resets: 3 * day},
			want:     1,
		},
		{
			name:     "none left",
			perMonth: 0,
			reading:  &Reading{Left: 0, Resets: 3 * day},
			want:     0,
		},
	} {
		b := newBudget(test.perMonth, nil, nil)
		if test.reading != nil {
			b.learn(*test.reading)
		}
		if got := int(b.Available()); got != test.want {
			t.Errorf("%s: %d available, want %d", test.name, got, test.want)
		}
		if got := spendAll(b); got != test.want {
			t.Errorf("%s: %d credits at the start, want %d", test.name, got, test.want)
		}
	}
}

func TestQuietTimesSaveCreditsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.learn(Reading{Left: 14_400, Resets: 30 * day})
		spendAll(b)
		if wait, reason := b.spend(); wait != 3*time.Minute || reason != core.NoCredit {
			t.Errorf("the next credit is in %v: %s", wait, reason)
		}
		time.Sleep(30 * time.Minute)
		if got := spendAll(b); got != 10 {
			t.Errorf("%d credits after half an hour, want 10", got)
		}
		time.Sleep(3 * day)
		if got := spendAll(b); got != 36 {
			t.Errorf("%d credits after three days, want 36", got)
		}
	})
}

func TestACallThatIsNotCountedIsFree(t *testing.T) {
	for _, left := range []int{0, 1} { // 0: the provider does not say
		b := newBudget(0, nil, nil)
		if left > 0 {
			b.learn(Reading{Left: left, Resets: day})
		}
		for i := range 100 {
			if wait, reason := b.spend(); reason != "" {
				t.Fatalf("%d left: call %d has to wait for %v", left, i, wait)
			}
			b.giveBack()
		}
	}
}

func TestWithNoneLeftThePlanIsUsedUpUntilItResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.learn(Reading{Left: 0, Resets: 2 * day})
		if wait, reason := b.spend(); wait != 2*day || reason != core.UsedUp || b.Available() != 0 || b.Every() <= 0 {
			t.Errorf("wait %v: %s", wait, reason)
		}
		time.Sleep(2 * day)
		if _, reason := b.spend(); reason != "" {
			t.Errorf("no credit in a new month: %s", reason)
		}
	})
}

func TestARefusalLastsUntilItEndsOrTheNextReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.useUp(time.Hour)
		if wait, reason := b.spend(); wait != time.Hour || reason != core.UsedUp || b.Available() != 0 {
			t.Errorf("wait %v: %s", wait, reason)
		}
		time.Sleep(time.Hour)
		if _, reason := b.spend(); reason != "" {
			t.Errorf("no credit after the refusal: %s", reason)
		}
		b.useUp(20 * day)
		b.learn(Reading{Left: 500, Resets: 2 * day})
		if _, reason := b.spend(); reason != "" {
			t.Errorf("no credit after a reading: %s", reason)
		}
	})
}

func TestOthersCallsTakeAtMostOneCreditAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		for range 1000 {
			b.Note()
		}
		time.Sleep(2 * b.Every())
		if got := spendAll(b); got != 1 {
			t.Errorf("%d credits after the time of two", got)
		}
	})
}
