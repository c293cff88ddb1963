package market

import (
	"cmp"
	"time"

	"herald/internal/ratelimit"
)

const (
	// month is the longest month of a plan.
	month = 31 * 24 * time.Hour
	// defaultPlan is the number of credits per month if neither the operator nor the provider names one.
	// CoinMarketCap's smallest plan has 10,000. https://coinmarketcap.com/api/pricing/
	defaultPlan = 10_000
	// fallbackPercent is the percentage of a month's credits that fallbackLimit spreads. The rest is for `bot check` and
	// for one start per day.
	fallbackPercent = 85
	// burstDivisor: the bucket holds 1/400 of the credits for the rest of the month. A process starts with a full bucket,
	// so a restart costs that much.
	burstDivisor = 400
	// othersFactor: a credit takes three times as long to come back while others spend credits of the same key.
	othersFactor = 3
)

// fallbackLimit returns the limit if there is no Reading of this month.
//
// For example, 85 % of 10,000 credits in 31 days are one every 315 s, and 21 at once.
func (b *Budget) fallbackLimit() ratelimit.Limit { return spread(b.fallbackInterval(), month) }

// fallbackInterval returns how long a credit takes to come back by the operator's limit or the default plan.
func (b *Budget) fallbackInterval() time.Duration {
	credits := time.Duration(cmp.Or(b.perMonth, defaultPlan))
	return month / credits * 100 / fallbackPercent
}

// limitBy returns the limit that a Reading sets: the credits that are left are spread over the rest of the month.
//
// For example, 11,988 credits left for 10 days are one every 72 s, and 29 at once. If the operator's limit is 5,000 a
// month, they are one every 630 s, and 3 at once.
func (b *Budget) limitBy(r Reading) ratelimit.Limit {
	const minInterval = time.Millisecond // spread divides by the interval, so it must not be 0.
	every := max(r.MonthEndsIn/time.Duration(max(r.Left, 1)), minInterval)
	if r.othersSpend() {
		every *= othersFactor // If the Budget spread all that is left, the plan could be used up before the month ends.
	}
	if b.perMonth > 0 {
		every = max(every, b.fallbackInterval())
	}
	return spread(every, r.MonthEndsIn)
}

// spread returns the limit that lets one credit be spent per interval, for the rest of the month.
func spread(interval, rest time.Duration) ratelimit.Limit {
	credits := int(rest / interval)
	return ratelimit.Limit{Key: "credits", Burst: max(credits/burstDivisor, 1), Every: interval}
}

// othersSpend reports whether others seem to spend credits of the same key. A Budget spends its plan evenly. So if
// clearly fewer credits are left than after even spending, others spend, too. If the size of the plan is unknown,
// othersSpend returns false.
//
// For example, if 15,000 credits are spent evenly, 4,838 are left for the last 10 days. If fewer than 4,789 are left,
// others spend credits, too.
func (r Reading) othersSpend() bool {
	// A Budget alone may have spent this much more than evenly.
	const tolerance = 0.01 // of the credits that would be left
	const toleratedCredits = 2
	leftIfEven := float64(r.Plan) * float64(min(r.MonthEndsIn, month)) / float64(month)
	return float64(r.Left)+toleratedCredits < (1-tolerance)*leftIfEven
}
