// Package core holds the domain: prices, supplies, stakes, accounts and logins, and the
// services with their failures.
//
// It asks nobody and keeps nothing: package query asks a service, and the package of a service
// knows how.
package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"
)

// Quote is the token's market price in USD. A number that the provider lacks is not Valid.
type Quote struct {
	Price     decimal.Decimal
	Change1h  decimal.NullDecimal // per cent
	Change24h decimal.NullDecimal // per cent
	Change7d  decimal.NullDecimal // per cent
	Change30d decimal.NullDecimal // per cent
	MarketCap decimal.NullDecimal
	Volume24h decimal.NullDecimal
	// Circulating and Total are the provider's own counts of the tokens.
	Circulating decimal.NullDecimal
	Total       decimal.NullDecimal
	LastUpdated time.Time // the provider's time of the price; zero: unknown
	// CurrentUntil is when the price stops being current, and is old; zero: never.
	CurrentUntil time.Time
	Source       string // the provider's name
	Page         string // URL of the token's page at the provider; empty: none
	Endpoint     string // the path at the provider that gave the quote
}

// Changes returns the changes in per cent, by their period.
func (q Quote) Changes() map[time.Duration]decimal.NullDecimal {
	const day = 24 * time.Hour
	return map[time.Duration]decimal.NullDecimal{
		time.Hour: q.Change1h, day: q.Change24h, 7 * day: q.Change7d, 30 * day: q.Change30d,
	}
}

// Old reports whether CurrentUntil has passed. The price must then not be shown as current.
func (q Quote) Old() bool { return !q.CurrentUntil.IsZero() && !time.Now().Before(q.CurrentUntil) }

// PricedAt is what a token cost at a time, in USD.
type PricedAt struct {
	At    time.Time
	Price decimal.Decimal
}

// IsPossible reports whether the time is after 1970 and the price from 1e-30 to 1e30. It does not compare the time with
// the clock.
func (p PricedAt) IsPossible() bool {
	price := p.Price.InexactFloat64()
	return p.At.Unix() > 0 && price > 1e-30 && price < 1e30
}

// Chart is the price over a period. Prices are in USD.
type Chart struct {
	PNG []byte
	// HasLine reports whether PNG shows the price as a line. It is false if too little of
	// the period was seen; PNG then shows figures only.
	HasLine bool
	// LineFrom is when there will be a line, if quotes are seen without long pauses until then. It
	// is zero if HasLine is set, and if the quote is old or has no time. For a period of more than a
	// day it is the beginning of a day in UTC.
	LineFrom time.Time
	// Since is the time of First.
	Since time.Time
	// First and Last are the first and the last price seen in the period. Without any, both
	// are the quote's. Lowest and Highest are zero unless Seen is almost 1.
	First, Last, Lowest, Highest decimal.Decimal
	// Change is the change in per cent that PNG shows. It is not Valid if unknown.
	Change decimal.NullDecimal
	// Seen is the part of the period, from 0 to 1, in which prices were seen.
	Seen float64
}

// Supply counts tokens. Total is above zero. Circulating is from zero to Total.
type Supply struct {
	Total       decimal.Decimal
	Circulating decimal.Decimal
}

// Account is a person's account with the partner's service. DID is personal data; it is
// empty if the person is not registered.
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

// NextWithdrawal is an amount of tokens that can be withdrawn from a time on.
type NextWithdrawal struct {
	Amount decimal.Decimal // zero: there is none
	At     time.Time       // zero: unknown
}

// Stake is what one wallet, or all wallets together, have in the pools at one block.
type Stake struct {
	// Block is the block's number as contracts read it, which on some rollups counts the blocks
	// of another chain. It is 0 if the node does not tell it.
	Block uint64
	// BlockTime is the block's time. It is zero if the chain gives an implausible time and
	// MAX_BLOCK_AGE is off.
	BlockTime time.Time
	// Staked holds the stakes above zero, in the order of the setting STAKING_POOLS.
	Staked []PoolAmount
	// Withdrawable holds the unstaked amounts that can be withdrawn at Block. It is empty if STAKING_CLAIM_BLOCKS is not
	// set, and if Block is unknown.
	Withdrawable []PoolAmount
	// Unbonding holds the other unstaked amounts. Neither Withdrawable nor Unbonding counts as staked.
	Unbonding []PoolAmount
	// NextWithdrawal is the part of Unbonding that becomes Withdrawable first.
	NextWithdrawal NextWithdrawal
	// Checked counts the pools whose stake could be read.
	Checked int
	// Failed are the pools whose stake could not be read.
	Failed []UnreadPool
	// UnbondingFailed are the pools whose withdrawals could not be read.
	UnbondingFailed []UnreadPool
}

// StakerStatus is whether a wallet stakes enough.
type StakerStatus int

const (
	// Undetermined means that too little was found, and not every pool could be read.
	Undetermined StakerStatus = iota
	// Staker means that enough was found, even if not every pool could be read.
	Staker
	// NotStaker means that every pool was read, and too little was found.
	NotStaker
)

// StakerStatus returns whether the wallet stakes any amount.
func (s Stake) StakerStatus() StakerStatus { return s.Reaches(decimal.Zero) }

// Reaches returns whether the wallet stakes at least this amount, in tokens. 0 stands for any stake above 0.
func (s Stake) Reaches(amount decimal.Decimal) StakerStatus {
	switch {
	case len(s.Staked) > 0 && s.Total().GreaterThanOrEqual(amount):
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

// Unread returns the pools whose stake or withdrawals could not be read, each once.
func (s Stake) Unread() []UnreadPool {
	unread := slices.Clone(s.Failed)
	for _, p := range s.UnbondingFailed {
		if !slices.ContainsFunc(s.Failed, func(f UnreadPool) bool { return f.Pool == p.Pool }) {
			unread = append(unread, p)
		}
	}
	return unread
}

// Err returns an error with the number of unread pools and the first one's error, or nil if
// the stake is Complete.
func (s Stake) Err() error {
	unread := s.Unread()
	if len(unread) == 0 {
		return nil
	}
	return fmt.Errorf("pools unread: %d, such as %s: %w", len(unread), unread[0].Pool.Address, unread[0].Err)
}

// Earlier returns the earlier of two times. The zero Time is earlier than all others.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
