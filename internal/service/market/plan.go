package market

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/market/credits"
	"herald/internal/service/rest"
)

const (
	// readEvery is how often the provider is asked what is left, while people ask for prices.
	readEvery = 10 * time.Minute
	// readScarce is how often it is asked while there is no credit, and after a failure.
	readScarce = time.Minute
	// readTime is how long a reading may take, and so how long it may delay a price.
	readTime = 2 * time.Second
)

// plan spends the credits of PRICE_API_KEY, and asks the provider what is left of them. It
// implements core.Budget. readBeside and ended do nothing on a nil plan.
type plan struct {
	*credits.Budget
	client *Client

	mu sync.Mutex
	// read is when the last reading began: a request for what is left.
	read time.Time
}

func newPlan(c *Client) *plan {
	return &plan{Budget: credits.New(c.settings.MonthlyCredits), client: c}
}

// Take implements core.Budget.
func (p *plan) Take(ctx context.Context) *core.Error {
	wait, usedUp := p.Budget.Take()
	if wait > 0 {
		p.readAfter(ctx, readScarce)
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

// readBeside starts a reading if one is due. The caller must call wait, which blocks until the
// reading ends.
func (p *plan) readBeside(ctx context.Context) (wait func()) {
	if p == nil {
		return func() {}
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.readAfter(ctx, readEvery) })
	return reading.Wait
}

// readAfter reads what is left unless the last reading began less than pause ago. A reading
// that fails changes nothing.
func (p *plan) readAfter(ctx context.Context, pause time.Duration) {
	p.mu.Lock()
	due := time.Since(p.read) >= pause
	if due {
		p.read = time.Now()
	}
	p.mu.Unlock()
	if !due {
		return
	}
	if left, err := p.client.Credits(ctx); err == nil {
		p.Learn(left)
	}
}

// ended ends the call of a Take with a response of that status: the provider counts those with
// 200. After a failure it makes the next reading due in readScarce,
// because nobody knows what the provider counted.
func (p *plan) ended(status int, err error) {
	if p == nil {
		return
	}
	cost := credits.Free
	switch status {
	case http.StatusOK:
		cost = credits.Counted
	case 0: // no response, or none in time
		cost = credits.Unknown
	}
	p.End(cost)
	failed, is := errors.AsType[*core.Error](err)
	if !is {
		return
	}
	if failed.Reason == core.UsedUp {
		p.UseUp(failed.RetryAfter)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = core.Earlier(p.read, time.Now().Add(readScarce-readEvery))
}

// Credits asks what is left of the plan, which costs no credit. It blocks for at most 2
// seconds. It fails if the provider does not say.
func (c *Client) Credits(ctx context.Context) (credits.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	resp, data, err := c.get(ctx, "credits", "/v1/key/info")
	if err != nil {
		return credits.Reading{}, err
	}
	left, err := parseCredits(data, resp.Date)
	if err != nil {
		return credits.Reading{}, Service.Fail(core.Malformed, err).During("credits")
	}
	return left, nil
}

// parseCredits reads the data of an answer. now is the provider's time: this machine's clock
// may be a day off. A reset in the past, or more than two months ahead, is replaced by a whole
// month.
func parseCredits(data any, now time.Time) (r credits.Reading, err error) {
	member := func(v any, names ...string) any {
		for _, name := range names {
			object, _ := v.(map[string]any)
			v = object[name]
		}
		return v
	}
	if r.Left, err = count(member(data, "usage", "current_month", "credits_left")); err != nil {
		return r, err
	}
	if limit := member(data, "plan", "credit_limit_monthly"); limit != nil {
		most, err := count(limit)
		if err != nil {
			return r, err
		}
		if most > 0 {
			r.Left = min(r.Left, most)
		}
	}
	resets, err := time.Parse(time.RFC3339, rest.Text(member(data, "plan", "credit_limit_monthly_reset_timestamp")))
	if err != nil {
		return r, errors.New("an impossible time of the next month")
	}
	if r.Resets = resets.Sub(now); r.Resets <= 0 || r.Resets > 2*credits.Month {
		r.Resets = credits.Month
	}
	return r, nil
}

// count returns a whole number of credits, from 0 to a billion. A plan without a bound has
// null.
func count(v any) (int, error) {
	n, ok := rest.Decimal(v)
	if !ok || !n.IsInteger() || n.IsNegative() || n.GreaterThan(decimal.New(1, 9)) {
		return 0, errors.New("no possible number of credits")
	}
	return int(n.IntPart()), nil
}
