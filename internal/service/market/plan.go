package market

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// readTime is the time limit of Credits. Budget.Spend calls Credits while somebody waits for a price.
const readTime = 2 * time.Second

// Credits asks for a Reading, which costs no credit. It blocks for at most readTime. It fails if the provider does not
// say how many credits are left, as for a plan without a limit.
func (c *Client) Credits(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	called := c.callKeyInfo(ctx)
	if called.err != nil {
		return Reading{}, called.err
	}
	reading, err := parseCredits(called.data, called.date)
	if err != nil {
		return Reading{}, Service.Fail(core.Malformed, err).During("credits")
	}
	return reading, nil
}

// Reach makes a call that costs no credit. It fails if the host does not answer, or refuses the key. It returns nil if
// the host refuses the call because no key is set: quotes may need none there. It also returns nil if the host answers
// but does not know the path: CoinMarketCap knows it, and another host with the same API may not.
func (c *Client) Reach(ctx context.Context) error {
	err := c.callKeyInfo(ctx).err
	reason := core.ReasonOf(err)
	if lacksPath(reason) {
		return nil
	}
	if reason == core.Denied && !c.settings.APIKey.IsSet() {
		return nil
	}
	return err
}

// lacksPath reports whether a host may fail for this reason because it does not know the path: with status 404 it is
// Rejected, and with a page instead of JSON it is Malformed.
func lacksPath(reason core.Reason) bool {
	return reason == core.Rejected || reason == core.Malformed
}

// callKeyInfo asks for the plan of the API key, and for the credits used and left.
func (c *Client) callKeyInfo(ctx context.Context) call {
	return c.get(ctx, "credits", "/v1/key/info", nil)
}

// parseCredits reads the data of an answer about the plan. providerNow is the provider's time, or zero if it is
// unknown: this machine's clock may be a day off. parseCredits fails if credits_left is null, as for a plan without a
// limit, or if the plan's reset cannot be read. An impossible reset, and one that nobody can date, count as a month
// ahead.
func parseCredits(data any, providerNow time.Time) (Reading, error) {
	left, err := count(valueAt(data, "usage", "current_month", "credits_left"))
	if err != nil {
		return Reading{}, err
	}
	plan := 0 // unknown
	if monthly := valueAt(data, "plan", "credit_limit_monthly"); monthly != nil {
		plan, err = count(monthly)
		if err != nil {
			return Reading{}, err
		}
	}
	if plan > 0 {
		left = min(left, plan) // A wrong number must not let the Budget spend more than a month's credits.
	}
	reset, err := time.Parse(time.RFC3339, rest.Text(valueAt(data, "plan", "credit_limit_monthly_reset_timestamp")))
	if err != nil {
		return Reading{}, errors.New("the time of the plan's reset cannot be read")
	}
	monthEndsIn := reset.Sub(providerNow)
	isPossible := !providerNow.IsZero() && monthEndsIn > 0 && monthEndsIn <= 2*month
	if !isPossible {
		monthEndsIn = month
	}
	return Reading{Left: left, Plan: plan, MonthEndsIn: monthEndsIn}, nil
}

// valueAt returns the value at a path of names in nested objects, or nil if there is none.
func valueAt(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// count reads a whole number of credits, from 0 to a billion. It fails for anything else, such as null.
func count(v any) (int, error) {
	n, ok := rest.Decimal(v)
	if !ok || !n.IsInteger() || n.IsNegative() || n.GreaterThan(decimal.New(1, 9)) {
		return 0, errors.New("the number of credits cannot be read")
	}
	return int(n.IntPart()), nil
}
