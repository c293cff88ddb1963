package market

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// readTime is how long Credits may take. A price may have to wait for that.
const readTime = 2 * time.Second

// Credits asks what is left of the plan, which costs no credit. It blocks for readTime at most.
// It fails if the provider does not say, as for a plan without a bound.
func (c *Client) Credits(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	resp, data, err := c.get(ctx, "credits", "/v1/key/info")
	if err != nil {
		return Reading{}, err
	}
	left, err := parseCredits(data, resp.Date)
	if err != nil {
		return Reading{}, Service.Fail(core.Malformed, err).During("credits")
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
func parseCredits(data any, now time.Time) (Reading, error) {
	left, err := count(valueAt(data, "usage", "current_month", "credits_left"))
	if err != nil {
		return Reading{}, err
	}
	plan := 0
	if monthly := valueAt(data, "plan", "credit_limit_monthly"); monthly != nil {
		if plan, err = count(monthly); err != nil {
			return Reading{}, err
		}
	}
	if plan > 0 {
		left = min(left, plan)
	}
	reset, err := time.Parse(time.RFC3339, rest.Text(valueAt(data, "plan", "credit_limit_monthly_reset_timestamp")))
	if err != nil {
		return Reading{}, errors.New("an impossible time of the next month")
	}
	resets := reset.Sub(now)
	if resets <= 0 || resets > 2*month {
		resets = month
	}
	return Reading{Left: left, Plan: plan, Resets: resets}, nil
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
