package market

import (
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
	// readEvery is how often the provider is asked for a Reading while people ask for prices.
	readEvery = 10 * time.Minute
	// readSoonerEvery replaces readEvery while no credit can be spent, and while quotes fail.
	readSoonerEvery = time.Minute
)

// Reading is the state of the plan as the provider reports it.
type Reading struct {
	// Left is how many credits are left of the month, at least 0.
	Left int
	// Plan is how many credits a whole month has. It is 0 if the provider does not say.
	Plan int
	// MonthEndsIn is how long until the plan's month ends. It is above 0.
	MonthEndsIn time.Duration
}

// Budget spreads the credits of PRICE_API_KEY over the plan's month. One credit pays for one call.
//
// Each credit is a slot of one ratelimit.Limit. Every Reading sets the limit anew, from the credits that are left. So
// nothing has to be saved, and others may spend credits of the same key, such as replicas and other programs. If there
// is no Reading of this month, the limit is fallbackLimit.
//
// Budget implements query.Budget. It is safe for concurrent use.
type Budget struct {
	perMonth int // the operator's limit; 0: none
	// read asks the provider for a Reading. It blocks for at most readTime.
	read func(context.Context) (Reading, error)
	// isFailing reports whether quotes fail.
	isFailing func() bool
	bucket    *ratelimit.Memory

	mu     sync.Mutex
	readAt time.Time // when a Reading was last asked for; zero: never
	// limit is how often a credit comes back, and how many can be saved up.
	limit ratelimit.Limit
	// left is the latest Reading's Left, less the credits spent since. It is valid until monthEnds.
	left int
	// monthEnds is when the month of the latest Reading ends. It is zero if there is no Reading of this month.
	monthEnds time.Time
	// pausedUntil is when the provider accepts calls again, after it refused one because the plan was used up. It is in
	// the past if the provider accepts calls now.
	pausedUntil time.Time
}

// newBudget returns a Budget of perMonth credits a month. If perMonth is 0, the Budget spends what the provider says is
// left. If the provider does not say, it spends defaultPlan a month.
func newBudget(perMonth int, read func(context.Context) (Reading, error), isFailing func() bool) *Budget {
	b := &Budget{perMonth: perMonth, read: read, isFailing: isFailing, bucket: ratelimit.NewMemory()}
	b.limit = b.fallbackLimit()
	return b
}

var (
	errNotDue = errors.New("not called, the next credit is not due")
	errUsedUp = errors.New("not called, the plan has no credit left")
)

// Spend implements query.Budget. If a Reading is due, it first asks for one, and ignores it if that fails.
func (b *Budget) Spend(ctx context.Context) *core.Error {
	if b.takeReadingTurn() {
		if r, err := b.read(ctx); err == nil {
			b.learn(r)
		}
	}
	wait, reason := b.spend()
	switch reason {
	case core.UsedUp:
		return &core.Error{Service: Service, Reason: reason, RetryAfter: wait, Err: errUsedUp}
	case core.NoCredit:
		return &core.Error{Service: Service, Reason: reason, RetryAfter: wait, Err: errNotDue}
	}
	return nil
}

// takeReadingTurn reports whether a Reading is due, and records that it was asked for. The caller must then ask for it.
// A Reading is due readEvery after the last one or, while no credit can be spent or quotes fail, readSoonerEvery after
// it.
func (b *Budget) takeReadingTurn() bool {
	every := readEvery
	if b.Available() < 1 || b.isFailing() {
		every = readSoonerEvery
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.readAt) < every {
		return false
	}
	b.readAt = time.Now()
	return true
}

// learn replaces the previous Reading by r, and ends a pause.
func (b *Budget) learn(r Reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setLimit(b.limitBy(r))
	b.left = r.Left
	b.monthEnds = time.Now().Add(r.MonthEndsIn)
	b.pausedUntil = time.Time{}
}

// spend spends a credit and returns "". If there is no credit, it returns why, and how long until there is one.
func (b *Budget) spend() (wait time.Duration, reason core.Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	if usedUpFor := b.usedUpFor(); usedUpFor > 0 {
		return usedUpFor, core.UsedUp
	}
	const maxWait = 0 // take only a credit that is there already
	wait, isSpent := b.bucket.Reserve(context.Background(), maxWait, b.limit)
	if !isSpent {
		return wait, core.NoCredit
	}
	b.left--
	return 0, ""
}

// recordCall records the result of a call for which Spend spent a credit. status is the HTTP status of the response, or
// noResponse. recordCall gives the credit back if the provider cannot have counted the call, because its status is not
// 200 or because the request was never sent. If the provider says that the plan is used up, recordCall begins a pause.
func (b *Budget) recordCall(status int, err error) {
	isRefused := status != noResponse && status != http.StatusOK
	if isRefused || rest.NeverSent(err) {
		b.giveBack()
	}
	if failed, is := errors.AsType[*core.Error](err); is && failed.Reason == core.UsedUp {
		b.pauseFor(failed.RetryAfter)
	}
}

// giveBack undoes a spend.
func (b *Budget) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bucket.GiveBack(b.limit)
	b.left++
}

// pauseFor makes spend return UsedUp until wait has passed or there is a new Reading.
func (b *Budget) pauseFor(wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pausedUntil = time.Now().Add(wait)
}

// NoteReplicaCall implements query.Budget. For a call that another replica made, it spends a credit of this Budget,
// because each replica's Budget spreads all credits that are left. It takes a credit that is there, or else the next
// one that comes back. If that is taken already, only left goes down.
func (b *Budget) NoteReplicaCall() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	maxWait := b.limit.Every // until the next credit comes back
	_, _ = b.bucket.Reserve(context.Background(), maxWait, b.limit)
	b.left--
}

// hasReading reports whether there is a Reading of this month. The caller holds mu and has called endMonth.
func (b *Budget) hasReading() bool { return !b.monthEnds.IsZero() }

// endMonth discards the Reading if its month is over. The caller holds mu.
func (b *Budget) endMonth() {
	if b.monthEnds.IsZero() || time.Now().Before(b.monthEnds) {
		return
	}
	b.monthEnds = time.Time{}
	b.setLimit(b.fallbackLimit())
}

// setLimit sets the limit, and keeps the credits that are saved up. The caller holds mu.
func (b *Budget) setLimit(l ratelimit.Limit) {
	b.bucket.Change(b.limit, l)
	b.limit = l
}

// usedUpFor returns for how long the plan has no credit: until the month ends if none is left, and otherwise until the
// pause ends. It returns 0 or less if the plan may have a credit. The caller holds mu and has called endMonth.
func (b *Budget) usedUpFor() time.Duration {
	if b.hasReading() && b.left < 1 {
		return time.Until(b.monthEnds)
	}
	return time.Until(b.pausedUntil)
}

// Every returns how long a credit takes to come back.
func (b *Budget) Every() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	return b.limit.Every
}

// Left returns how many credits are left of the month, or NaN if there is no Reading of this month.
func (b *Budget) Left() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endMonth()
	if !b.hasReading() {
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
