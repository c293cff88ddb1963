package credits

import (
	"fmt"
	"math"
	"testing"
	"time"
)

const day = 24 * time.Hour

// start is the beginning of the first month of a simulation. Each month has 31 days.
var start = time.Unix(1_800_000_000, 0)

// provider counts the calls of all who have its key, and refuses what the plan does not have.
type provider struct {
	plan  int
	now   time.Time
	spent int       // of this month
	month time.Time // begin of the month
	busy  int       // most spent in a month
	mine  int       // of spent, by replicas
	own   int       // most of these in a month
	full  int       // refusals for want of credits
}

func (p *provider) pass(d time.Duration) {
	p.now = p.now.Add(d)
	if !p.now.Before(p.month.Add(Month)) {
		p.busy, p.spent, p.month = max(p.busy, p.spent), 0, p.month.Add(Month)
		p.own, p.mine = max(p.own, p.mine), 0
	}
}

func (p *provider) reading() Reading {
	return Reading{Left: p.plan - p.spent, Resets: p.month.Add(Month).Sub(p.now)}
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
	d := &deployment{provider: &provider{plan: plan, now: start, month: start}, perMonth: perMonth, silent: silent, priced: start, replicas: make([]*Budget, replicas)}
	d.restart()
	return d
}

func (d *deployment) restart() {
	for i := range d.replicas {
		d.replicas[i] = newBudget(d.perMonth, func() time.Time { return d.now })
	}
	d.read = time.Time{}
}

// ask has a replica ask for the price, if the last one is older than a TTL.
func (d *deployment) ask(i int) {
	if d.now.Sub(d.priced) < 30*time.Second {
		return
	}
	if wait, _ := d.replicas[i].Spend(); wait > 0 {
		return
	}
	if !d.call() {
		d.replicas[i].Refund()
		return
	}
	d.mine++
	d.gap, d.priced = max(d.gap, d.now.Sub(d.priced)), d.now
	for j, other := range d.replicas {
		if j != i {
			other.Note()
		}
	}
}

// run lets a time pass. event happens every hour.
func (d *deployment) run(lasts time.Duration, event func(hour int)) {
	const step = 30 * time.Second
	for past := time.Duration(0); past < lasts; past += step {
		if past%time.Hour == 0 {
			event(int(past / time.Hour))
		}
		if !d.silent && d.now.Sub(d.read) >= 10*time.Minute {
			d.read = d.now
			for _, b := range d.replicas {
				b.Learn(d.reading())
			}
		}
		for i := range d.replicas {
			d.ask((i + int(past/step)) % len(d.replicas))
		}
		d.pass(step)
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
		{"nothing happens", 15_000, 0, false, nothing, 0.97, 6 * time.Minute},
		{"a small plan", 300, 0, false, nothing, 0.9, 4 * time.Hour},
		{"a tiny plan", 10, 0, false, nothing, 0.5, 8 * day},
		{"restarts each hour", 10_000, 0, false, func(d *deployment, _ int) { d.restart() }, 0.97, time.Hour},
		{"others spend half", 15_000, 0, false, func(d *deployment, _ int) {
			for range 10 {
				d.call()
			}
		}, 0.97, time.Hour},
		{"others spend a fifth at once", 15_000, 0, false, func(d *deployment, hour int) {
			for range 3000 * min(max(hour%744-47, 0), 1) * max(49-hour%744, 0) {
				d.call()
			}
		}, 0.97, 20 * time.Minute},
		{"the provider says nothing for three days", 15_000, 0, false, func(d *deployment, hour int) {
			d.silent = hour%744 >= 240 && hour%744 < 312 || hour%744 < 24
		}, 0.95, 8 * time.Minute},
		{"others spend it all at once", 15_000, 0, false, func(d *deployment, hour int) {
			for range 15_000 * min(hour%744/743, 1) {
				d.call()
			}
		}, 0.97, 2 * time.Hour},
		{"an operator's bound", 15_000, 5000, false, nothing, 0.25, 20 * time.Minute},
		{"an operator's bound, restarts each day", 15_000, 5000, false, restartDaily, 0.25, 30 * time.Minute},
		{"an operator's small bound, restarts each day", 15_000, 300, false, restartDaily, 0.01, 8 * time.Hour},
		{"an operator's bound, others spend a third", 15_000, 5000, false, func(d *deployment, _ int) {
			for range 7 {
				d.call()
			}
		}, 0.6, 20 * time.Minute},
		{"the provider does not say", 10_000, 0, true, nothing, 0.8, 6 * time.Minute},
		{"the provider does not say, restarts each day", 10_000, 0, true, restartDaily, 0.8, 6 * time.Minute},
		{"the provider does not say, an operator's bound", 10_000, 5000, true, nothing, 0.4, 12 * time.Minute},
	} {
		for _, replicas := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d replicas", test.name, replicas), func(t *testing.T) {
				t.Parallel()
				d := newDeployment(test.plan, test.perMonth, replicas, test.silent)
				d.run(3*Month, func(hour int) { test.event(d, hour) })
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
		}
	}
}

// spendAll spends all credits that there are, and returns how many.
func spendAll(b *Budget) (n int) {
	for wait, _ := b.Spend(); wait == 0; wait, _ = b.Spend() {
		n++
	}
	return n
}

func TestAStartIsAllowedSome(t *testing.T) {
	for _, test := range []struct {
		name     string
		perMonth int
		reading  *Reading
		want     int
	}{
		{"nothing is known", 0, nil, 20},
		{"an operator's bound", 10_000, nil, 20},
		{"an operator's small bound", 100, nil, 1},
		{"an operator's bound of what is left", 10_000, &Reading{Left: 15_000, Resets: Month}, 20},
		{"a bound of one", 1, nil, 1},
		{"a whole month", 0, &Reading{Left: 15_000, Resets: Month}, 20},
		{"half of a large plan", 0, &Reading{Left: 100_000, Resets: Month / 2}, 20},
		{"some left", 0, &Reading{Left: 3000, Resets: 3 * day}, 7},
		{"one left", 0, &Reading{Left: 1, Resets: 3 * day}, 1},
		{"none left", 0, &Reading{Left: 0, Resets: 3 * day}, 0},
	} {
		b := newBudget(test.perMonth, func() time.Time { return start })
		if test.reading != nil {
			b.Learn(*test.reading)
		}
		if got := int(b.Available()); got != test.want {
			t.Errorf("%s: %d available, want %d", test.name, got, test.want)
		}
		if got := spendAll(b); got != test.want {
			t.Errorf("%s: %d credits at the start, want %d", test.name, got, test.want)
		}
	}
}

func TestCreditsComeBackAndAreSavedUp(t *testing.T) {
	now := start
	b := newBudget(0, func() time.Time { return now })
	b.Learn(Reading{Left: 14_400, Resets: 30 * day})
	if got := b.Every(); got != 3*time.Minute {
		t.Errorf("a credit comes back after %v, want 3m", got)
	}
	spendAll(b)
	if wait, usedUp := b.Spend(); wait <= 0 || wait > 3*time.Minute+time.Second || usedUp {
		t.Errorf("the next one is in %v, used up: %v", wait, usedUp)
	}
	now = now.Add(12 * time.Hour)
	if got := spendAll(b); got < 235 || got > 245 {
		t.Errorf("%d credits after half a day, want some 240", got)
	}
	now = now.Add(3 * day)
	if got := spendAll(b); got < 400 || got > 460 {
		t.Errorf("%d credits after three quiet days, want some 430", got)
	}
}

func TestAnOperatorsBoundIsNoMoreThanIsLeft(t *testing.T) {
	b := newBudget(10_000, func() time.Time { return start })
	b.Learn(Reading{Left: 24, Resets: day})
	if got := b.Every().Round(time.Second); got != time.Hour {
		t.Errorf("a credit comes back after %v, want an hour", got)
	}
}

// Others with the same key may spend more than there is. A quarter of the pace is kept then.
func TestOthersLeaveAQuarter(t *testing.T) {
	now := start
	b := newBudget(0, func() time.Time { return now })
	left := 14_400
	for range 24 {
		b.Learn(Reading{Left: left, Resets: 30 * day})
		now, left = now.Add(time.Hour), left-40
	}
	pace := 30 * day / time.Duration(left)
	if got := b.Every().Round(time.Second); got < 4*pace-5*time.Second || got > 4*pace+40*time.Second {
		t.Errorf("a credit comes back after %v, want some %v", got, 4*pace)
	}
}

func TestACallThatIsNotCountedIsFree(t *testing.T) {
	for _, left := range []int{0, 1} { // 0: the provider does not say
		b := newBudget(0, func() time.Time { return start })
		if left > 0 {
			b.Learn(Reading{Left: left, Resets: day})
		}
		for i := range 100 {
			if wait, _ := b.Spend(); wait > 0 {
				t.Fatalf("%d left: call %d has to wait for %v", left, i, wait)
			}
			b.Refund()
		}
	}
}

// Each row is how many calls had no answer, how many credits the next Reading finds spent, and how
// many there are then of 20. Only what others spend slows the pace.
func TestTheReadingTellsWhatUnansweredCallsCost(t *testing.T) {
	const every = time.Minute
	for _, tt := range []struct {
		unanswered, spent, credits int
		others                     bool
	}{
		{0, 0, 20, false}, {15, 0, 20, false}, {15, 5, 15, false}, {15, 15, 5, false}, {20, 20, 0, false}, {5, 600, 15, true},
	} {
		left := 15_000
		b := newBudget(0, func() time.Time { return start })
		b.Learn(Reading{Left: left, Resets: time.Duration(left) * every})
		for range tt.unanswered {
			b.Spend()
			b.MarkUnsure()
		}
		left -= tt.spent
		b.Learn(Reading{Left: left, Resets: time.Duration(left) * every})
		if slower := b.Every().Round(time.Second) > every; slower != tt.others {
			t.Errorf("%+v: a credit comes back after %v", tt, b.Every())
		}
		if got := spendAll(b); got != tt.credits {
			t.Errorf("%+v: %d credits", tt, got)
		}
	}
}

// What the provider has not counted makes no credits, and others no faster pace.
func TestMoreLeftThanExpectedIsNoUpgrade(t *testing.T) {
	b := newBudget(0, func() time.Time { return start })
	for range 3 {
		b.Learn(Reading{Left: 15_000, Resets: 15_000 * time.Minute})
		if got := b.Every().Round(time.Second); got != time.Minute {
			t.Errorf("a credit comes back after %v, want a minute", got)
		}
		spendAll(b)
	}
	if b.Learn(Reading{Left: 15_000, Resets: Month}); b.Available() != 0 {
		t.Errorf("%v credits", b.Available())
	}
}

func TestTheProviderDecides(t *testing.T) {
	now := start
	b := newBudget(0, func() time.Time { return now })
	b.UseUp(20 * day)
	b.Learn(Reading{Left: 500, Resets: 2 * day})
	if b.Available() == 0 {
		t.Error("the first reading does not end a refusal")
	}
	b.Learn(Reading{Left: 0, Resets: 2 * day})
	if wait, usedUp := b.Spend(); wait != 2*day || !usedUp || b.Available() != 0 || b.Every() <= 0 {
		t.Errorf("with none left: wait %v, used up: %v", wait, usedUp)
	}
	b.Learn(Reading{Left: 5000, Resets: 2 * day}) // an upgrade
	now = now.Add(time.Minute)
	if n := spendAll(b); n != 3 { // Most of the 500 are taken for what others spend.
		t.Errorf("after an upgrade: %d credits", n)
	}
	now = now.Add(time.Hour)
	b.UseUp(time.Hour)
	if wait, usedUp := b.Spend(); wait != time.Hour || !usedUp || b.Available() != 0 {
		t.Errorf("refused: wait %v, used up: %v", wait, usedUp)
	}
	now = now.Add(time.Hour)
	if n := spendAll(b); n == 0 {
		t.Error("no credit after the refusal")
	}
	b.Learn(Reading{Left: 0, Resets: time.Hour})
	now = now.Add(time.Hour) // A new month, of which nothing is known.
	if wait, _ := b.Spend(); wait > 0 {
		t.Errorf("in a new month: wait %v", wait)
	}
}

// Another's call takes no more than there is, and a clock that is set back grants nothing.
func TestNeverLessThanNothing(t *testing.T) {
	now := start
	b := newBudget(0, func() time.Time { return now })
	for range 1000 {
		b.Note()
	}
	now = now.Add(2*b.Every() + time.Second)
	if got := spendAll(b); got != 1 {
		t.Errorf("%d credits after the time of one", got)
	}
	now = now.Add(-day)
	if got := spendAll(b); got != 0 {
		t.Errorf("%d credits by a clock that is set back", got)
	}
	b.level = math.Nextafter(1, 0)
	if wait, _ := b.Spend(); wait == 0 {
		t.Error("rounding grants a credit")
	}
}
