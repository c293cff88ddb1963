package market

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"herald/internal/core"
	"herald/internal/ratelimit"
	"herald/internal/service/rest"
)

const (
	// month is the longest month of a plan.
	month = 31 * 24 * time.Hour
	// defaultPlan is the number of credits a month where neither the operator nor the provider names one:
	// CoinMarketCap's smallest plan has 10,000. https://coinmarketcap.com/api/pricing/
	defaultPlan = 10_000
	// countedPercent is the part of a plan that is spread over a month if the provider does not say what is
	// left, and of an operator's bound. The rest is for `bot check` and for a start each day.
	countedPercent = 85
	// burstShare is the part of the credits for the rest of the month that can be saved up: a 400th. A
	// process that starts has saved up so many, so this is also what a restart may cost.
	burstShare = 400
	// othersFactor is how many times as long a credit takes while others spend with the same key.
	othersFactor = 3
)

const (
	// readEvery is how often the provider is asked what is left, while people ask for prices.
	readEvery = 10 * time.Minute
	// readScarce is how often it is asked while no credit can be spent, or quotes fail.
	readScarce = time.Minute
)

// Reading is what the provider says about the plan.
type Reading struct {
	// Left is how many credits are left of the month, at least 0.
	Left int
	// Plan is how many credits a whole month has; 0: the provider does not say.
	Plan int
	// Resets is how long until the next month begins. It is above 0.
	Resets time.Duration
}

// Budget spreads the credits of PRICE_API_KEY over the month. Each credit is a slot of one ratelimit.Limit, which
// every Reading sets. So nothing has to outlive the process, and replicas and other programs may spend with the
// same key: the next Reading has what they left. Budget implements query.Budget. It is safe for concurrent use.
type Budget struct {
	perMonth int // the operator's bound; 0: none
	// ask asks the provider what is left, for at most readTime.
	ask func(context.Context) (Reading, error)
	// failing reports whether quotes fail.
	failing func() bool
	bucket  *ratelimit.Memory

	mu    sync.Mutex
	asked time.Time // when startReading last returned true
	limit ratelimit.Limit
	// left is the latest Reading's Left, less what was spent since. It counts until resets, which is zero
	// without a Reading of this month.
	left   int
	resets time.Time
	// usedUpUntil is the time before which the provider takes no call.
	usedUpUntil time.Time
}

// newBudget returns a Budget of perMonth credits a month. 0 stands for as many as the provider says are left or,
// if it does not say, 10,000 a month.
func newBudget(perMonth int, ask func(context.Context) (Reading, error), failing func() bool) *Budget {
	b := &Budget{perMonth: perMonth, ask: ask, failing: failing, bucket: ratelimit.NewMemory()}
	b.limit = b.counted()
	return b
}

// counted returns the limit without a Reading.
//
// For example, 85 % of 10,000 credits in 31 days are one every 315 s, and 21 at once.
func (b *Budget) counted() ratelimit.Limit { return spread(b.ownInterval(), month) }

// ownInterval returns how long a credit takes to come back by the operator's bound or the default plan.
func (b *Budget) ownInterval() time.Duration {
	credits := time.Duration(cmp.Or(b.perMonth, defaultPlan))
	return month / credits * 100 / countedPercent
}

// limitBy returns the limit that a Reading sets: what is left is spread over the rest of the month.
//
// For example, 11,988 credits left for 10 days are one every 72 s, and 29 at once. An operator's bound of 5,000 a
// month makes that one every 630 s, and 3 at once.
func (b *Budget) limitBy(r Reading) ratelimit.Limit {
	every := max(r.Resets/time.Duration(max(r.Left, 1)), time.Millisecond)
	if r.othersSpend() {
		every *= othersFactor
	}
	if b.perMonth > 0 {
		every = max(every, b.ownInterval())
	}
	return spread(every, r.Resets)
}

// spread returns a limit of one credit every so often, for the rest of a month.
func spread(every, rest time.Duration) ratelimit.Limit {
	credits := int(rest / every)
	return ratelimit.Limit{Key: "credits", Burst: max(credits/burstShare, 1), Every: every}
}

// othersSpend reports whether clearly less is left than if the plan were spent evenly. A Budget alone keeps to
// that line. If others spend half of the plan, and it only spread what they leave, there would be nothing left four
// days before the month ends. So it then takes othersFactor times as long.
//
// For example, 15,000 credits that are spent evenly leave 4,838 for the last 10 days. If fewer than 4,789 are left,
// others spend, too.
func (r Reading) othersSpend() bool {
	evenly := float64(r.Plan) * float64(r.Resets) / float64(month)
	return float64(r.Left)+2 < 0.99*evenly
}

// Spend implements query.Budget. It may first ask the provider what is left, and goes on
// without an answer if that fails.
func (b *Budget) Spend(ctx context.Context) *core.Error {
	if b.startReading() {
		if r, err := b.ask(ctx); err == nil {
			b.learn(r)
		}
	}
	wait, reason := b.spend()
	why := "not called, the next credit is not due"
	switch reason {
	case "":
		return nil
	case core.UsedUp:
		why = "not called, the plan has no credit left"
	}
	return &core.Error{Service: Service, Reason: reason, RetryAfter: wait, Err: errors.New(why)}
}

// startReading returns true if the caller must ask the provider what is left. It then returns
// false for readEvery or, while credits are scarce or quotes fail, for readScarce.
func (b *Budget) startReading() bool {
	every := readEvery
	if b.Available() < 1 || b.failing() {
		every = readScarce
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.asked) < every {
		return false
	}
	b.asked = time.Now()
	return true
}

// learn replaces what is known by what the provider says.
func (b *Budget) learn(r Reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setLimit(b.limitBy(r))
	b.left = r.Left
	b.resets = time.Now().Add(r.Resets)
	b.usedUpUntil = time.Time{}
}

// spend spends a credit and returns "". Without a credit it returns why, and how long to wait for the next one.
func (b *Budget) spend() (wait time.Duration, reason core.Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	if wait := b.usedUpFor(); wait > 0 {
		return wait, core.UsedUp
	}
	wait, ok := b.bucket.Reserve(context.Background(), 0, b.limit)
	if !ok {
		return wait, core.NoCredit
	}
	b.left--
	return 0, ""
}

// settle ends a call for which Spend has spent a credit. status is the response's, or 0 if there was none. settle
// gives the credit back if the provider cannot have counted the call: because it answered with another status than
// 200, or because the call was never sent.
func (b *Budget) settle(status int, err error) {
	answered := status != 0
	if answered && status != http.StatusOK || rest.NeverSent(err) {
		b.giveBack()
	}
	if failed, is := errors.AsType[*core.Error](err); is && failed.Reason == core.UsedUp {
		b.useUp(failed.RetryAfter)
	}
}

func (b *Budget) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bucket.GiveBack(b.limit)
	b.left++
}

// useUp makes spend refuse for so long, or until the next Reading.
func (b *Budget) useUp(lasts time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usedUpUntil = time.Now().Add(lasts)
}

// Note implements query.Budget. The credit comes from this Budget, too, so that replicas together spend what is
// left once. Note takes at most one credit ahead.
func (b *Budget) Note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	b.bucket.Reserve(context.Background(), b.limit.Every, b.limit)
	b.left--
}

// endMonth forgets the Reading of a month that is over. The caller holds mu.
func (b *Budget) endMonth() {
	if b.resets.IsZero() || time.Now().Before(b.resets) {
		return
	}
	b.resets = time.Time{}
	b.setLimit(b.counted())
}

// setLimit sets the limit, and keeps the credits that are saved up. The caller holds mu.
func (b *Budget) setLimit(l ratelimit.Limit) {
	b.bucket.Change(b.limit, l)
	b.limit = l
}

// usedUpFor returns how long the plan has no credit, or 0 or less if it may have one. The caller holds mu.
func (b *Budget) usedUpFor() time.Duration {
	if !b.resets.IsZero() && b.left < 1 {
		return time.Until(b.resets)
	}
	return time.Until(b.usedUpUntil)
}

// Every returns how long a credit takes to come back.
func (b *Budget) Every() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	return b.limit.Every
}

// Left returns how many credits are left of the month, or NaN if the provider has not said.
func (b *Budget) Left() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	if b.resets.IsZero() {
		return math.NaN()
	}
	return float64(max(b.left, 0))
}

// Available returns how many credits can be spent now.
func (b *Budget) Available() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	if b.usedUpFor() > 0 {
		return 0
	}
	return float64(b.bucket.Slots(b.limit))
}
