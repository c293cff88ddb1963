package staking

import (
	"context"
	"math/big"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// Withdrawal is an entry in the result of PendingMethod: an amount that a wallet has unstaked and not yet withdrawn.
type Withdrawal struct {
	Amount decimal.Decimal // tokens
	Block  *big.Int        // as the pool returned it: any uint256

	state withdrawalState
	// blocksLeft is the number of blocks until the amount can be withdrawn. It is 0 unless the state is waiting.
	blocksLeft uint64
}

// withdrawalState is whether an amount can be withdrawn at the block at which it was read.
type withdrawalState int

const (
	// whenUnknown: it is not known from which block on the amount can be withdrawn.
	whenUnknown withdrawalState = iota
	// waiting: the amount can be withdrawn from a later block on.
	waiting
	// withdrawable: the amount can be withdrawn now.
	withdrawable
)

// maxBlocksAhead is the maximum number of blocks until an amount can be withdrawn: twice maxClaimBlocks.
const maxBlocksAhead = 2 * maxClaimBlocks

// errImpossibleBlock means that a Withdrawal has a Block that is too far ahead.
var errImpossibleBlock = malformed("the block of a withdrawal is impossible")

// setState sets the state and the blocksLeft of a Withdrawal that was read at a block. It fails if more than
// maxBlocksAhead blocks are left.
//
// For example, if ClaimBlocks is 100, w.Block is 950 and the height is 1000, 50 blocks are left.
//
// The state is whenUnknown if the height is unknown. The number in the block's header cannot take its place: w.Block
// comes from a contract, and on some rollups contracts count the blocks of another chain (block.go).
func (c *Client) setState(w *Withdrawal, at block) error {
	if c.settings.ClaimBlocks == nil || at.height == nil {
		w.state = whenUnknown
		return nil
	}
	left := new(big.Int).SetUint64(*c.settings.ClaimBlocks)
	left.Add(left, w.Block)
	left.Sub(left, at.height)
	switch {
	case left.Sign() <= 0:
		w.state = withdrawable
	case left.Cmp(big.NewInt(maxBlocksAhead)) > 0:
		return errImpossibleBlock
	default:
		w.state = waiting
		w.blocksLeft = left.Uint64()
	}
	return nil
}

// withdrawals returns the result of a call of PendingMethod that was made at a block. It leaves out amounts of zero. It
// fails if a block or the sum of the amounts is impossible.
func (c *Client) withdrawals(pending ethCall, at block) ([]Withdrawal, error) {
	data, err := pending.result()
	if err != nil {
		return nil, err
	}
	list, err := decodeWithdrawals(data, c.settings.Decimals)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(w Withdrawal) bool { return w.Amount.IsZero() })
	var sum decimal.Decimal
	for i := range list {
		sum = sum.Add(list[i].Amount)
		if err := c.setState(&list[i], at); err != nil {
			return nil, err
		}
	}
	if sum.GreaterThanOrEqual(maxTokens) {
		return nil, errImpossible
	}
	return list, nil
}

// addWithdrawals adds the withdrawals from the pools to stake. calls has one call of PendingMethod for each pool, made
// at the block. A pool whose result cannot be used is added to stake.UnbondingFailed. addWithdrawals may block for
// maxIntervalWait to learn the chain's block interval.
func (c *Client) addWithdrawals(ctx context.Context, stake *core.Stake, at block, calls []ethCall) {
	var next Withdrawal // of those that are waiting; at first, it is not waiting itself
	for i, pool := range c.settings.Pools {
		list, err := c.withdrawals(calls[i], at)
		if err != nil {
			stake.UnbondingFailed = append(stake.UnbondingFailed, core.UnreadPool{Pool: pool, Err: failure(err)})
		}
		var withdrawableNow, unbonding decimal.Decimal
		for _, w := range list {
			if w.state == withdrawable {
				withdrawableNow = withdrawableNow.Add(w.Amount)
				continue
			}
			unbonding = unbonding.Add(w.Amount)
			next = earlierOf(next, w)
		}
		stake.Withdrawable = appendAmount(stake.Withdrawable, pool, withdrawableNow)
		stake.Unbonding = appendAmount(stake.Unbonding, pool, unbonding)
	}
	if next.state == waiting {
		stake.NextWithdrawal = core.NextWithdrawal{Amount: next.Amount, At: c.timeAfter(ctx, at, next.blocksLeft)}
	}
}

// earlierOf returns the earlier one of two withdrawals that are waiting. If they wait for the same block, it returns
// one Withdrawal with the sum of their amounts. If only one is waiting, it returns that one.
func earlierOf(a, b Withdrawal) Withdrawal {
	switch {
	case b.state != waiting:
		return a
	case a.state != waiting:
		return b
	case a.blocksLeft < b.blocksLeft:
		return a
	case b.blocksLeft < a.blocksLeft:
		return b
	}
	a.Amount = a.Amount.Add(b.Amount)
	return a
}

// timeAfter returns the time of the block that comes this number of blocks after at, or zero if it is unknown. It
// blocks for at most maxIntervalWait.
func (c *Client) timeAfter(ctx context.Context, at block, blocks uint64) time.Time {
	from := at.time()
	if from.IsZero() {
		return time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, maxIntervalWait)
	defer cancel()
	interval, err := c.blockInterval.Get(ctx, struct{}{})
	if err != nil || interval.Value.state != intervalKnown {
		return time.Time{}
	}
	// The product must fit into a Duration, which holds 292 years.
	const maxWait = 100 * 365 * 24 * time.Hour
	each := interval.Value.length
	if blocks > uint64(maxWait/each) {
		return time.Time{}
	}
	return from.Add(time.Duration(blocks) * each)
}
