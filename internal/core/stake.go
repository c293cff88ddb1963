package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"
)

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

// UnreadPool is a pool that could not be read.
type UnreadPool struct {
	Pool Pool
	Err  *Error // why
}

// NextWithdrawal is an amount of tokens that can be withdrawn from a time on.
type NextWithdrawal struct {
	Amount decimal.Decimal // in tokens; zero: there is no next withdrawal
	At     time.Time       // zero: unknown
}

// Stake holds the amounts that one wallet, or all wallets together, have in the pools at one block. Its lists are in
// the order of the setting STAKING_POOLS.
type Stake struct {
	// Block is the block's number as contracts read it. On some rollups, contracts count the blocks of another chain.
	// Block is 0 if the node does not report it.
	Block uint64
	// BlockTime is the block's time. It is zero if the node reports an impossible time and MAX_BLOCK_AGE is off.
	BlockTime time.Time
	// Staked holds the amounts that are staked.
	Staked []PoolAmount
	// Withdrawable holds the unstaked amounts that can be withdrawn at Block. It is empty if STAKING_CLAIM_BLOCKS is not
	// set, and if Block is unknown.
	Withdrawable []PoolAmount
	// Unbonding holds the other unstaked amounts. Neither Withdrawable nor Unbonding counts as staked.
	Unbonding []PoolAmount
	// NextWithdrawal is the part of Unbonding that becomes Withdrawable first.
	NextWithdrawal NextWithdrawal
	// Checked is the number of pools from which the stake could be read.
	Checked int
	// Failed are the pools from which the stake could not be read.
	Failed []UnreadPool
	// UnbondingFailed are the pools from which the withdrawals could not be read.
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

// Reaches returns whether the wallet stakes at least this amount, in tokens. An amount of 0 means any stake above 0.
func (s Stake) Reaches(amount decimal.Decimal) StakerStatus {
	isReached := len(s.Staked) > 0 && s.Total().GreaterThanOrEqual(amount)
	isAllRead := len(s.Failed) == 0 && s.Checked > 0 // The zero Stake has not been read.
	switch {
	case isReached:
		return Staker
	case isAllRead:
		return NotStaker
	}
	return Undetermined
}

// Total returns the sum of Staked, in tokens.
func (s Stake) Total() decimal.Decimal { return Sum(s.Staked) }

// Sum returns the sum of the amounts in pools, in tokens.
func Sum(pools []PoolAmount) decimal.Decimal {
	sum := decimal.Zero
	for _, p := range pools {
		sum = sum.Add(p.Amount)
	}
	return sum
}

// Complete reports whether the stake and the withdrawals of every pool could be read.
func (s Stake) Complete() bool { return len(s.Unread()) == 0 }

// Unread returns the pools in Failed and in UnbondingFailed. It returns each pool once.
func (s Stake) Unread() []UnreadPool {
	unread := slices.Clone(s.Failed)
	for _, p := range s.UnbondingFailed {
		if !slices.ContainsFunc(s.Failed, func(f UnreadPool) bool { return f.Pool == p.Pool }) {
			unread = append(unread, p)
		}
	}
	return unread
}

// WithoutWithdrawals returns the number of pools from which the stake could be read, but not the withdrawals.
func (s Stake) WithoutWithdrawals() int { return len(s.Unread()) - len(s.Failed) }

// Err returns nil if the stake is Complete. Otherwise it returns an error with the number of unread pools and the error
// of one of them.
func (s Stake) Err() error {
	unread := s.Unread()
	if len(unread) == 0 {
		return nil
	}
	return fmt.Errorf("pools unread: %d, such as %s: %w", len(unread), unread[0].Pool.Address, unread[0].Err)
}
