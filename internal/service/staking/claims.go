package staking

import (
	"cmp"
	"context"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// Withdrawal is an entry in the result of PendingMethod.
type Withdrawal struct {
	Amount decimal.Decimal // tokens
	Block  *big.Int        // as the pool returned it: any uint256

	ahead uint64 // blocks until it can be claimed; 0: it can be, farAhead: when is unknown
}

const (
	// maxBlocksAhead bounds the blocks until a withdrawal can be claimed: twice maxClaimBlocks.
	maxBlocksAhead = 2 * maxClaimBlocks
	// farAhead stands for an unknown number of blocks.
	farAhead = maxBlocksAhead + 1
)

// tellsWhen reports whether it is known when withdrawals can be claimed. Their blocks can only be
// compared with the block's height, which may be unknown, and never with the number in its header.
func (c *Client) tellsWhen(at block) bool { return c.settings.ClaimBlocks != nil && at.height != nil }

// blocksAhead returns how many blocks after the block at w can be claimed: 0 if it can be
// claimed then, and farAhead if that is unknown. It fails above maxBlocksAhead.
func (c *Client) blocksAhead(w Withdrawal, at block) (uint64, error) {
	if !c.tellsWhen(at) {
		return farAhead, nil
	}
	ahead := new(big.Int).SetUint64(*c.settings.ClaimBlocks)
	ahead.Add(ahead, w.Block).Sub(ahead, at.height)
	switch {
	case ahead.Sign() <= 0:
		return 0, nil
	case ahead.Cmp(big.NewInt(maxBlocksAhead)) > 0:
		return 0, errImpossibleBlock
	}
	return ahead.Uint64(), nil
}

// withdrawals returns the result of a call of PendingMethod at a block, without amounts of
// zero. It fails if a block or the sum of the amounts is impossible.
func (c *Client) withdrawals(of ethCall, at block) ([]Withdrawal, error) {
	data, err := of.result()
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
		if list[i].ahead, err = c.blocksAhead(list[i], at); err != nil {
			return nil, err
		}
	}
	if sum.GreaterThanOrEqual(maxTokens) {
		return nil, errImpossible
	}
	return list, nil
}

// addWithdrawals adds to stake what calls, one for each pool, returned at a block. It may
// block for maxPaceWait to learn the chain's pace.
func (c *Client) addWithdrawals(ctx context.Context, stake *core.Stake, at block, calls []ethCall) {
	var next Withdrawal
	for i, pool := range c.settings.Pools {
		list, err := c.withdrawals(calls[i], at)
		if err != nil {
			stake.UnbondingFailed = append(stake.UnbondingFailed, core.UnreadPool{Pool: pool, Err: failure(err)})
		}
		var claimable, unbonding decimal.Decimal
		for _, w := range list {
			if w.ahead == 0 {
				claimable = claimable.Add(w.Amount)
				continue
			}
			unbonding = unbonding.Add(w.Amount)
			if next.ahead == w.ahead {
				next.Amount = next.Amount.Add(w.Amount)
			} else if next.ahead == 0 || w.ahead < next.ahead {
				next = w
			}
		}
		stake.Withdrawable = appendAmount(stake.Withdrawable, pool, claimable)
		stake.Unbonding = appendAmount(stake.Unbonding, pool, unbonding)
	}
	if c.tellsWhen(at) && next.ahead > 0 {
		stake.NextWithdrawal = core.NextWithdrawal{Amount: next.Amount, At: c.timeAhead(ctx, at, next.ahead)}
	}
}

// timeAhead returns the time of the block that comes so many blocks after the given one, or zero
// if it is unknown. It blocks for maxPaceWait at most.
func (c *Client) timeAhead(ctx context.Context, at block, blocks uint64) time.Time {
	// The product must fit into a Duration, which holds 292 years.
	const maxWait = 100 * 365 * 24 * time.Hour
	from := at.time()
	if from.IsZero() {
		return time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, maxPaceWait)
	defer cancel()
	pace, err := c.pace.Get(ctx, struct{}{})
	if err != nil || pace.Value <= 0 || blocks > uint64(maxWait/pace.Value) {
		return time.Time{}
	}
	return from.Add(time.Duration(blocks) * pace.Value)
}

const (
	// paceTTL is how long the chain's pace is remembered.
	paceTTL = time.Hour
	// maxPaceWait bounds the wait for the pace. The stake is known by then.
	maxPaceWait = time.Second
	// paceBlocks is over how many blocks the pace is measured if ClaimBlocks is 0: 14 hours with
	// two blocks a second, two weeks with a block in 12 seconds.
	paceBlocks = 100_000
	// noPace is the pace where contracts count another chain's blocks: no header tells it.
	noPace time.Duration = -1
	// anotherChain is how far the times of two blocks of one number differ, at least, if they are
	// of two chains and not only of two nodes.
	anotherChain = time.Hour
)

// measurePace returns the time between two blocks, as contracts count them, over ClaimBlocks or
// paceBlocks before the newest one. It returns noPace if the headers cannot tell it, and 0 if they
// do not tell it now. It goes back to block 1 at most: the time of a genesis block is arbitrary.
func (c *Client) measurePace(ctx context.Context, _ struct{}) (time.Duration, error) {
	at, err := c.read(ctx, nil)
	if err != nil {
		return 0, failure(err).During("find the newest block")
	}
	number := at.knownHeight()
	if number < 2 {
		return 0, nil
	}
	blocks := min(cmp.Or(*c.settings.ClaimBlocks, paceBlocks), number-1)
	numbers := [2]uint64{number, number - blocks}
	var headers [2]block
	var calls []rpcCall
	for i, n := range numbers {
		args := []any{hexutil.Uint64(n), false}
		calls = append(calls, rpcCall{method: "eth_getBlockByNumber", args: args, result: &headers[i]})
	}
	if err := c.sendAll(ctx, calls); err != nil {
		return 0, failure(err).During("measure the chain's pace")
	}
	for i, h := range headers {
		if h.Number == nil || h.Number.toInt().Cmp(new(big.Int).SetUint64(numbers[i])) != 0 || h.time().IsZero() {
			return 0, nil
		}
	}
	// Where contracts count another chain's blocks, this header is of another block with that number.
	switch differ := headers[0].time().Sub(at.time()).Abs(); {
	case differ >= anotherChain:
		return noPace, nil
	case differ > 0:
		return 0, nil
	}
	return max(headers[0].time().Sub(headers[1].time())/time.Duration(blocks), 0), nil
}
