package market

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

const day = 24 * time.Hour

// provider is a price provider. It counts the calls of everybody who has its key, and refuses calls beyond the plan.
type provider struct {
	plan       int       // the credits of a month
	monthBegan time.Time // when the current month began
	refused    int       // how many calls were refused, because the plan was used up

	spent, maxSpent           int // credits of the current month, and of the busiest one
	byReplicas, maxByReplicas int // how many of these the replicas of the deployment spent
}

// pass lets time pass, and begins a new month if the current one is over.
func (p *provider) pass(d time.Duration) {
	time.Sleep(d)
	if time.Now().Before(p.monthEnds()) {
		return
	}
	p.monthBegan = p.monthEnds()
	p.maxSpent = max(p.maxSpent, p.spent)
	p.spent = 0
	p.maxByReplicas = max(p.maxByReplicas, p.byReplicas)
	p.byReplicas = 0
}

func (p *provider) monthEnds() time.Time { return p.monthBegan.Add(month) }

// reading returns what the provider says of the plan.
func (p *provider) reading() Reading {
	return Reading{
		Left:        p.plan - p.spent,
		Plan:        p.plan,
		MonthEndsIn: time.Until(p.monthEnds()),
	}
}

// call spends a credit, and reports whether the plan had one.
func (p *provider) call() bool {
	if p.spent == p.plan {
		p.refused++
		return false
	}
	p.spent++
	return true
}

// callByOthers spends n credits, as another program with the same key.
func (p *provider) callByOthers(n int) {
	for range n {
		p.call()
	}
}

// deployment is the Budgets of several replicas, which ask a provider for the price all the time, and share the latest
// price.
type deployment struct {
	*provider
	perMonth int  // the operator's limit; 0: none
	silent   bool // the provider does not say what is left
	replicas []*Budget
	pricedAt time.Time     // when the latest price was fetched
	maxAge   time.Duration // how old a price became at most
	readAt   time.Time     // when the replicas last got a Reading
}

func newDeployment(plan, perMonth, replicas int, silent bool) *deployment {
	start := time.Now()
	d := &deployment{
		provider: &provider{plan: plan, monthBegan: start},
		perMonth: perMonth,
		silent:   silent,
		replicas: make([]*Budget, replicas),
		pricedAt: start,
	}
	d.restart()
	return d
}

// restart replaces every replica. The new ones know nothing.
func (d *deployment) restart() {
	for i := range d.replicas {
		d.replicas[i] = newBudget(d.perMonth, nil, nil)
	}
	d.readAt = time.Time{}
}

// readPlan gives every replica a Reading.
func (d *deployment) readPlan() {
	d.readAt = time.Now()
	for _, b := range d.replicas {
		b.learn(d.reading())
	}
}

// step is the shortest time that run simulates. It is also the TTL of a price.
const step = 30 * time.Second

// ask makes replica i ask for the price, unless the latest one is fresh. It returns for how long the replica then has
// nothing to do.
func (d *deployment) ask(i int) (idle time.Duration) {
	if time.Since(d.pricedAt) < step {
		return step
	}
	if wait, reason := d.replicas[i].spend(); reason != "" {
		return wait
	}
	if !d.call() {
		d.replicas[i].giveBack()
		return step
	}
	d.byReplicas++
	d.maxAge = max(d.maxAge, time.Since(d.pricedAt))
	d.pricedAt = time.Now()
	for j, other := range d.replicas {
		if j != i {
			other.NoteReplicaCall()
		}
	}
	return step
}

// run simulates a time, and calls event every hour. If no replica has anything to do, it skips steps, but at most until
// the next Reading is due.
func (d *deployment) run(lasts time.Duration, event func(hour int)) {
	for past := time.Duration(0); past < lasts; {
		if past%time.Hour == 0 {
			event(int(past / time.Hour))
		}
		if !d.silent && time.Since(d.readAt) >= readEvery {
			d.readPlan()
		}
		idle := readEvery - past%readEvery
		for i := range d.replicas {
			// In each step another replica asks first.
			turn := (i + int(past/step)) % len(d.replicas)
			idle = min(idle, d.ask(turn))
		}
		wholeSteps := max((idle+step-1)/step, 1) // rounded up
		d.pass(wholeSteps * step)
		past += wholeSteps * step
	}
}

// hoursPerMonth is 744.
const hoursPerMonth = int(month / time.Hour)

// The following functions are events of a scenario. They get the number of hours since its beginning.

func nothing(*deployment, int) {}

func restartHourly(d *deployment, _ int) { d.restart() }

func restartDaily(d *deployment, hour int) {
	if hour%24 == 0 {
		d.restart()
	}
}

// silentForDays makes the provider silent on the first day of a month, and on three later days.
func silentForDays(d *deployment, hour int) {
	hour %= hoursPerMonth
	d.silent = hour < 24 || hour >= 240 && hour < 312
}

// othersSpendHourly makes others spend n credits in each hour.
func othersSpendHourly(n int) func(*deployment, int) {
	return func(d *deployment, _ int) { d.callByOthers(n) }
}

// othersSpendAt makes others spend n credits in one hour of each month.
func othersSpendAt(hourOfMonth, n int) func(*deployment, int) {
	return func(d *deployment, hour int) {
		if hour%hoursPerMonth == hourOfMonth {
			d.callByOthers(n)
		}
	}
}

// scenario is what happens to a deployment in three months, and what must be true afterwards.
type scenario struct {
	plan     int                           // the credits of a month
	perMonth int                           // the operator's limit; 0: none
	silent   bool                          // the provider does not say what is left
	event    func(d *deployment, hour int) // what happens in an hour

	minSpent    float64       // the part of the plan that must be spent in the busiest month
	maxAge      time.Duration // the age that a price must not exceed
	mayBeUsedUp bool          // whether calls may be refused because the plan is used up
}

var scenarios = map[string]scenario{
	"nothing happens": {
		plan:     15_000,
		event:    nothing,
		minSpent: 0.97,
		maxAge:   6 * time.Minute,
	},
	"a small plan": {
		plan:     300,
		event:    nothing,
		minSpent: 0.9,
		maxAge:   4 * time.Hour,
	},
	"a tiny plan": {
		plan:     10,
		event:    nothing,
		minSpent: 0.5,
		maxAge:   8 * day,
	},
	"restarts each hour": {
		plan:     10_000,
		event:    restartHourly,
		minSpent: 0.97,
		maxAge:   time.Hour,
	},
	"others spend half": {
		plan:     15_000,
		event:    othersSpendHourly(10),
		minSpent: 0.97,
		maxAge:   time.Hour,
	},
	"others spend a fifth at once": {
		plan:     15_000,
		event:    othersSpendAt(48, 3000),
		minSpent: 0.97,
		maxAge:   20 * time.Minute,
	},
	"others spend it all at once": {
		plan:        15_000,
		event:       othersSpendAt(743, 15_000),
		minSpent:    0.97,
		maxAge:      2 * time.Hour,
		mayBeUsedUp: true,
	},
	"the provider says nothing for three days": {
		plan:     15_000,
		event:    silentForDays,
		minSpent: 0.95,
		maxAge:   8 * time.Minute,
	},
	"an operator's limit": {
		plan:     15_000,
		perMonth: 5000,
		event:    nothing,
		minSpent: 0.25,
		maxAge:   20 * time.Minute,
	},
	"an operator's limit, restarts each day": {
		plan:     15_000,
		perMonth: 5000,
		event:    restartDaily,
		minSpent: 0.25,
		maxAge:   30 * time.Minute,
	},
	"an operator's small limit, restarts each day": {
		plan:     15_000,
		perMonth: 300,
		event:    restartDaily,
		minSpent: 0.01,
		maxAge:   8 * time.Hour,
	},
	"an operator's limit, others spend a third": {
		plan:     15_000,
		perMonth: 5000,
		event:    othersSpendHourly(7),
		minSpent: 0.6,
		maxAge:   20 * time.Minute,
	},
	"the provider does not say": {
		plan:     10_000,
		silent:   true,
		event:    nothing,
		minSpent: 0.8,
		maxAge:   6 * time.Minute,
	},
	"the provider does not say, restarts each day": {
		plan:     10_000,
		silent:   true,
		event:    restartDaily,
		minSpent: 0.8,
		maxAge:   6 * time.Minute,
	},
	"the provider does not say, an operator's limit": {
		plan:     10_000,
		perMonth: 5000,
		silent:   true,
		event:    nothing,
		minSpent: 0.4,
		maxAge:   12 * time.Minute,
	},
}

func TestAMonthsCreditsLastAMonth(t *testing.T) {
	for name, s := range scenarios {
		for _, replicas := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d replicas", name, replicas), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := newDeployment(s.plan, s.perMonth, replicas, s.silent)
					d.run(3*month, func(hour int) { s.event(d, hour) })
					d.verify(t, s)
				})
			})
		}
	}
}

// verify fails the test if credits ran out, too few were spent, or a price became too old.
func (d *deployment) verify(t *testing.T, s scenario) {
	t.Helper()
	if d.refused > 0 && !s.mayBeUsedUp {
		t.Errorf("%d calls were refused", d.refused)
	}
	if want := int(s.minSpent * float64(s.plan)); d.maxSpent < want {
		t.Errorf("%d credits in the busiest month, want at least %d", d.maxSpent, want)
	}
	if s.perMonth > 0 && d.maxByReplicas > s.perMonth {
		t.Errorf("%d credits in the busiest month, the operator allows %d", d.maxByReplicas, s.perMonth)
	}
	if d.maxAge > s.maxAge {
		t.Errorf("a price was %v old, want at most %v", d.maxAge, s.maxAge)
	}
}
