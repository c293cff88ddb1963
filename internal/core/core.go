// Package core holds the domain: prices, supplies, stakes, accounts and logins;
// the services and their failures; and the Query, with which commands ask.
//
// It imports no service and no platform, so that each of them can be replaced
// alone. A service is a package elsewhere that makes an Upstream and its Queries;
// app joins them.
package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"
)

// Quote is the token's market price in USD. Numbers that the provider does
// not have are not Valid.
type Quote struct {
	Price       decimal.Decimal
	Change1h    decimal.NullDecimal // per cent
	Change24h   decimal.NullDecimal // per cent
	Change7d    decimal.NullDecimal // per cent
	Change30d   decimal.NullDecimal // per cent
	MarketCap   decimal.NullDecimal
	Volume24h   decimal.NullDecimal
	LastUpdated time.Time // as the provider says; zero if it does not
	// Source is what people call the provider, and Page is its page of the token, or
	// empty.
	Source, Page string
	// OldFrom is when the quote is too old to be shown as today's; zero: never.
	OldFrom time.Time
}

// Changes are the changes in per cent by the time over which they happened.
func (q Quote) Changes() map[time.Duration]decimal.NullDecimal {
	const day = 24 * time.Hour
	return map[time.Duration]decimal.NullDecimal{
		time.Hour: q.Change1h, day: q.Change24h, 7 * day: q.Change7d, 30 * day: q.Change30d,
	}
}

// Old reports whether the provider's own quote is too old to be shown as today's.
func (q Quote) Old() bool { return !q.OldFrom.IsZero() && !time.Now().Before(q.OldFrom) }

// Chart is the price over a period.
type Chart struct {
	PNG []byte
	// Line reports whether the picture shows the price as a line. Where too little of
	// the period is known for one, it shows what is known as a card.
	Line bool
	// Since is when First was the price.
	Since time.Time
	// First and Last are the first and the last price seen in the period; without
	// any, the quote's. Lowest and Highest are zero unless the whole period was seen.
	First, Last, Lowest, Highest decimal.Decimal
	// Change is the change in per cent over the period, as the picture shows it. It is
	// not Valid if neither the provider nor the prices seen tell.
	Change decimal.NullDecimal
	// Seen is the part of the period, from 0 to 1, in which prices were seen and not
	// derived.
	Seen float64
	// Spark is the Line in forty prices, the last at its end. NaN is a gap.
	Spark []float64
}

// Supply counts tokens. Total is above zero, Circulating between zero and it.
type Supply struct {
	Total       decimal.Decimal
	Circulating decimal.Decimal
}

// Account is a person's account with the partner's service. DID is personal, and
// empty if they are not registered.
type Account struct {
	DID string
}

// Registered reports whether the account exists.
func (a Account) Registered() bool { return a.DID != "" }

// Login is one login of a person into a dapp.
type Login struct {
	Dapp     string
	Platform string
	At       time.Time
}

// Pool is one staking pool. Name may be empty.
type Pool struct {
	Address common.Address
	Name    string
}

// PoolAmount is an amount of tokens in a pool.
type PoolAmount struct {
	Pool   Pool
	Amount decimal.Decimal // tokens, above zero
}

// UnreadPool is a pool that could not be read, and why.
type UnreadPool struct {
	Pool Pool
	Err  *Error
}

// Stake is what one wallet has in the pools at one block.
type Stake struct {
	Block uint64
	// BlockTime is the time of Block, or zero if implausible, which is accepted only with
	// MAX_BLOCK_AGE=off.
	BlockTime time.Time
	// Staked are the pools with a stake, in the order of the setting.
	Staked []PoolAmount
	// Unbonding is what is being withdrawn; it is not staked.
	Unbonding []PoolAmount
	// Checked counts the pools whose stake could be read.
	Checked int
	// Failed are the pools whose stake could not be read.
	Failed []UnreadPool
	// UnbondingFailed are the pools whose withdrawals could not be read.
	UnbondingFailed []UnreadPool
}

// Outcome is the answer to "does this wallet stake?".
type Outcome int

// The three outcomes.
const (
	// Undetermined: no stake found, and not every pool could be read.
	Undetermined Outcome = iota
	// Staker: a stake was found; pools that failed do not change that.
	Staker
	// NotStaker: every pool was read and none holds a stake.
	NotStaker
)

// Outcome tells a staker from everybody else.
func (s Stake) Outcome() Outcome {
	switch {
	case len(s.Staked) > 0:
		return Staker
	case len(s.Failed) == 0 && s.Checked > 0:
		return NotStaker
	default:
		return Undetermined
	}
}

// Total returns the sum of Staked, in tokens.
func (s Stake) Total() decimal.Decimal {
	total := decimal.Zero
	for _, p := range s.Staked {
		total = total.Add(p.Amount)
	}
	return total
}

// Complete reports whether every pool could be read.
func (s Stake) Complete() bool { return len(s.Unread()) == 0 }

// Unread lists the pools that could not be read wholly, each once.
func (s Stake) Unread() []UnreadPool {
	unread := slices.Clone(s.Failed)
	for _, p := range s.UnbondingFailed {
		if !slices.ContainsFunc(s.Failed, func(f UnreadPool) bool { return f.Pool == p.Pool }) {
			unread = append(unread, p)
		}
	}
	return unread
}

// Err says for the log how much could not be read, and why the first pool. It is
// nil if the stake is Complete.
func (s Stake) Err() error {
	unread := s.Unread()
	if len(unread) == 0 {
		return nil
	}
	return fmt.Errorf("pools unread: %d, such as %s: %w", len(unread), unread[0].Pool.Address, unread[0].Err)
}
