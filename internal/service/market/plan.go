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
	// readScarce is how often it is asked without a credit, and while quotes fail.
	readScarce = time.Minute
	// readTime is how long a reading may take, and so how long it may delay a price.
	readTime = 2 * time.Second
)

// plan spends the credits of PRICE_API_KEY, and asks the provider what is left of them. It
// implements core.Budget.
type plan struct {
	*credits.Budget
	client *Client

	mu   sync.Mutex
	read time.Time // when the provider was last asked
}

// Spend implements core.Budget. If that is due, it asks the provider first. What the provider
// does not say changes nothing.
func (p *plan) Spend(ctx context.Context) *core.Error {
	if p.readingIsDue() {
		if left, err := p.client.Credits(ctx); err == nil {
			p.Learn(left)
		}
	}
	wait, usedUp := p.Budget.Spend()
	switch {
	case wait == 0:
		return nil
	case usedUp:
		return &core.Error{Service: Service, Reason: core.UsedUp, RetryAfter: wait, Err: errors.New("not called, the plan has no credit left")}
	}
	return &core.Error{Service: Service, Reason: core.NoCredit, RetryAfter: wait, Err: errors.New("not called, the next credit is not due")}
}

// readingIsDue reports whether the caller must ask the provider what is left. It returns true
// once in readEvery, or in readScarce.
func (p *plan) readingIsDue() bool {
	every := readEvery
	if p.Available() < 1 || !p.client.Health().FailingSince.IsZero() {
		every = readScarce
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.read) < every {
		return false
	}
	p.read = time.Now()
	return true
}

// ended ends the call of a Spend. status is that of the response; 0: there was none. The
// provider counts a call that it answers with 200, perhaps too late for us.
func (p *plan) ended(status int, err error) {
	if status != http.StatusOK {
		p.Refund(status == 0 && core.ReasonOf(err) == core.SlowAnswer)
	}
	if failed, is := errors.AsType[*core.Error](err); is && failed.Reason == core.UsedUp {
		p.UseUp(failed.RetryAfter)
	}
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
