package market

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/market/credits"
	"herald/internal/service/rest"
)

const (
	// readEvery is how often the provider is asked what is left, while the price is asked.
	readEvery = 10 * time.Minute
	// readScarce is how often, while there is no credit, and after a failure.
	readScarce = time.Minute
	// readTime bounds the request. A price never waits longer for it.
	readTime = 2 * time.Second
)

// plan is what the provider counts of this client's calls. It implements core.Budget. A nil
// plan counts nothing.
type plan struct {
	*credits.Budget
	client *Client

	mu  sync.Mutex
	due time.Time // when the provider is asked next what is left
}

func newPlan(c *Client) *plan {
	return &plan{Budget: credits.New(c.settings.MonthlyCredits), client: c}
}

// isDue reports whether to ask the provider now what is left. It returns true once in
// readEvery or, if scarce, in readScarce.
func (p *plan) isDue(scarce bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	due, now := p.due, time.Now()
	if scarce {
		due = due.Add(readScarce - readEvery)
	}
	if now.Before(due) {
		return false
	}
	p.due = now.Add(readEvery)
	return true
}

// Take implements core.Budget.
func (p *plan) Take(ctx context.Context) *core.Error {
	wait, usedUp := p.Budget.Take()
	if wait > 0 && p.isDue(true) {
		p.read(ctx)
		wait, usedUp = p.Budget.Take()
	}
	switch {
	case wait == 0:
		return nil
	case usedUp:
		return &core.Error{Service: Service, Reason: core.UsedUp, RetryAfter: wait, Err: errors.New("not called, the plan has no credit left")}
	}
	return &core.Error{Service: Service, Reason: core.NoCredit, RetryAfter: wait, Err: errors.New("not called, the next credit is not due")}
}

// readBeside asks what is left if that is due, beside the caller's own request. The caller
// must call wait, which blocks until the answer is known.
func (p *plan) readBeside(ctx context.Context) (wait func()) {
	if p == nil || !p.isDue(false) {
		return func() {}
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(ctx) })
	return reading.Wait
}

// ended counts a call for which Take has spent a credit.
func (p *plan) ended(counted bool, err error) {
	if p == nil {
		return
	}
	p.End(counted)
	failed, is := errors.AsType[*core.Error](err)
	if !is {
		return
	}
	if failed.Reason == core.UsedUp {
		p.UseUp(failed.RetryAfter)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// What was counted meanwhile is not known.
	p.due = core.Earlier(p.due, time.Now().Add(readScarce))
}

// read asks the provider what is left of the plan. It learns nothing if the provider does not
// say.
func (p *plan) read(ctx context.Context) {
	r, err := p.client.Credits(ctx)
	if err != nil {
		return
	}
	p.Learn(credits.Reading{Left: r.Left, Resets: r.Resets})
	if r.LeftToday == 0 {
		p.UseUp(r.Midnight)
	}
}

// Credits is what the provider says about the plan of PRICE_API_KEY.
type Credits struct {
	// Left is how many credits are left of the month; at most Limit, if that is above 0.
	Left, Limit int
	// Resets is how long it is until the next month begins.
	Resets time.Duration
	// LeftToday is how many are left of the day, which ends at Midnight; -1: as many as of the
	// month.
	LeftToday int
	Midnight  time.Duration
}

// maxCredits bounds the numbers of a plan.
const maxCredits = 1_000_000_000

// count returns a whole number of credits, from 0 to maxCredits. It returns absent for null.
func count(v any, absent int) (int, error) {
	if v == nil {
		return absent, nil
	}
	n, ok := rest.Decimal(v)
	if !ok || !n.IsInteger() || n.IsNegative() || n.GreaterThan(decimal.NewFromInt(maxCredits)) {
		return 0, errors.New("an impossible number of credits")
	}
	return int(n.IntPart()), nil
}

// Credits asks what is left of the plan, which costs no credit. It blocks for at most 2
// seconds. It fails if the provider does not say.
func (c *Client) Credits(ctx context.Context) (Credits, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	resp, data, err := c.get(ctx, "credits", "/v1/key/info")
	if err != nil {
		return Credits{}, err
	}
	now := resp.Date
	if now.IsZero() {
		now = time.Now()
	}
	found, err := parseCredits(data, now.UTC())
	if err != nil {
		return Credits{}, Service.Fail(core.Malformed, err).During("credits")
	}
	return found, nil
}

// parseCredits reads the data of an answer. now is the provider's time: this machine's clock
// may be a day off. A month that should be over, or is longer than two, counts as a whole one.
func parseCredits(data any, now time.Time) (c Credits, err error) {
	member := func(v any, name string) any {
		object, _ := v.(map[string]any)
		return object[name]
	}
	plan, usage := member(data, "plan"), member(data, "usage")
	var errs [3]error
	c.Left, errs[0] = count(member(member(usage, "current_month"), "credits_left"), -1)
	c.Limit, errs[1] = count(member(plan, "credit_limit_monthly"), 0)
	c.LeftToday, errs[2] = count(member(member(usage, "current_day"), "credits_left"), -1)
	if err = errors.Join(errs[:]...); err == nil && c.Left < 0 {
		err = errors.New("no bound of the month")
	}
	if err != nil {
		return Credits{}, err
	}
	if c.Limit > 0 {
		c.Left = min(c.Left, c.Limit)
	}
	reset, err := time.Parse(time.RFC3339, rest.Text(member(plan, "credit_limit_monthly_reset_timestamp")))
	if err != nil {
		return Credits{}, errors.New("an impossible time of the next month")
	}
	if c.Resets = reset.Sub(now); c.Resets <= 0 || c.Resets > 2*credits.Month {
		c.Resets = credits.Month
	}
	c.Midnight = untilMidnight(now)
	return c, nil
}
