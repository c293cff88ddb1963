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
	// readScarce is how often it is asked while no credit can be spent, or quotes fail.
	readScarce = time.Minute
	// readTime is how long Credits may take. A price may have to wait for that.
	readTime = 2 * time.Second
)

// plan spends the credits of PRICE_API_KEY, and asks the provider what is left of them. It
// implements core.Budget.
type plan struct {
	client *Client

	mu   sync.Mutex
	read time.Time // when startReading last returned true
}

// Note implements core.Budget.
func (p *plan) Note() { p.client.Budget.Note() }

// Spend implements core.Budget. It may first ask the provider what is left, and goes on
// without an answer if that fails.
func (p *plan) Spend(ctx context.Context) *core.Error {
	if p.startReading() {
		if left, err := p.client.Credits(ctx); err == nil {
			p.client.Budget.Learn(left)
		}
	}
	wait, usedUp := p.client.Budget.Spend()
	if wait == 0 {
		return nil
	}
	if usedUp {
		return &core.Error{Service: Service, Reason: core.UsedUp, RetryAfter: wait, Err: errors.New("not called, the plan has no credit left")}
	}
	return &core.Error{Service: Service, Reason: core.NoCredit, RetryAfter: wait, Err: errors.New("not called, the next credit is not due")}
}

// startReading returns true if the caller must ask the provider what is left. It then returns
// false for readEvery or, while credits are scarce or quotes fail, for readScarce.
func (p *plan) startReading() bool {
	every := readEvery
	if p.client.Budget.Available() < 1 || !p.client.Health().FailingSince.IsZero() {
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

// settle ends a call for which Spend has spent a credit. status is the response's, or 0 if there
// was none. settle refunds the credit if the provider cannot have counted the call: because its
// answer was not a 200, or because the call was never sent.
func (p *plan) settle(status int, err error) {
	answered, sent := status != 0, !rest.NeverSent(err)
	switch {
	case answered && status != http.StatusOK, !sent:
		p.client.Budget.Refund()
	case !answered:
		p.client.Budget.MarkUnsure()
	}
	if failed, is := errors.AsType[*core.Error](err); is && failed.Reason == core.UsedUp {
		p.client.Budget.UseUp(failed.RetryAfter)
	}
}

// Credits asks what is left of the plan, which costs no credit. It blocks for readTime at most.
// It fails if the provider does not say, as for a plan without a bound.
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

// Reach asks the provider something that costs no credit. It fails if the provider does not answer or
// refuses the key. It returns nil if the provider only does not know that question.
func (c *Client) Reach(ctx context.Context) error {
	_, _, err := c.get(ctx, "credits", "/v1/key/info")
	failed, is := errors.AsType[*core.Error](err)
	switch {
	case !is:
		return err
	case failed.Reason == core.Rejected, failed.Reason == core.Malformed, failed.Reason == core.NoData,
		failed.Reason == core.Denied && !c.settings.APIKey.IsSet():
		return nil // Other hosts with this API may not know the path.
	}
	return err
}

// parseCredits reads the data of an answer about the plan. It fails for a plan without a bound,
// which has null for the credits left. now is the provider's time: this machine's clock may be a
// day off. A reset in the past, or more than two months ahead, is replaced by a whole month.
func parseCredits(data any, now time.Time) (credits.Reading, error) {
	left, err := count(valueAt(data, "usage", "current_month", "credits_left"))
	if err != nil {
		return credits.Reading{}, err
	}
	if monthly := valueAt(data, "plan", "credit_limit_monthly"); monthly != nil {
		limit, err := count(monthly)
		if err != nil {
			return credits.Reading{}, err
		}
		if limit > 0 {
			left = min(left, limit)
		}
	}
	reset, err := time.Parse(time.RFC3339, rest.Text(valueAt(data, "plan", "credit_limit_monthly_reset_timestamp")))
	if err != nil {
		return credits.Reading{}, errors.New("an impossible time of the next month")
	}
	resets := reset.Sub(now)
	if resets <= 0 || resets > 2*credits.Month {
		resets = credits.Month
	}
	return credits.Reading{Left: left, Resets: resets}, nil
}

// valueAt returns the value at a path of names in nested objects, or nil.
func valueAt(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// count reads a whole number of credits, from 0 to a billion. It fails for anything else, such
// as null.
func count(v any) (int, error) {
	n, ok := rest.Decimal(v)
	if !ok || !n.IsInteger() || n.IsNegative() || n.GreaterThan(decimal.New(1, 9)) {
		return 0, errors.New("no possible number of credits")
	}
	return int(n.IntPart()), nil
}
