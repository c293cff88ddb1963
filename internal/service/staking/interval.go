package staking

import (
	"cmp"
	"context"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

const (
	// intervalTTL is how long the chain's block interval is cached.
	intervalTTL = time.Hour
	// maxIntervalWait is the maximum time that a stake waits for the block interval. Everything else about the stake is
	// known by then.
	maxIntervalWait = time.Second
	// intervalBlocks is the number of blocks over which the interval is measured if ClaimBlocks is 0: 14 hours at two
	// blocks per second, two weeks at one block every 12 seconds.
	intervalBlocks = 100_000
	// anotherChain is the minimum difference between the times of two blocks with the same number if they are blocks of
	// two chains, and not one chain's block as two nodes see it.
	anotherChain = time.Hour
)

// interval is the time between two blocks as contracts count blocks.
type interval struct {
	state  intervalState
	length time.Duration // above 0 if the state is intervalKnown
}

// intervalState is whether an interval could be measured.
type intervalState int

const (
	// intervalUnknown: it could not be measured this time.
	intervalUnknown intervalState = iota
	// intervalKnown: it was measured.
	intervalKnown
	// intervalUnknowable: contracts count the blocks of another chain. The node does not have their headers.
	intervalUnknowable
)

// isCacheable reports whether another measurement would give the same.
func (i interval) isCacheable() bool { return i.state != intervalUnknown }

// measureInterval measures the block interval: the average of the ClaimBlocks or intervalBlocks before the newest
// block. It goes back to block 1 at most, because the time of a genesis block is arbitrary.
func (c *Client) measureInterval(ctx context.Context, _ struct{}) (interval, error) {
	at, err := c.read(ctx, nil)
	if err != nil {
		return interval{}, failedTo("find the newest block", err)
	}
	number := at.knownHeight()
	if number < 2 {
		return interval{}, nil
	}
	blocks := min(cmp.Or(*c.settings.ClaimBlocks, intervalBlocks), number-1)
	newest, oldest, err := c.headers(ctx, number, number-blocks)
	if err != nil {
		return interval{}, failedTo("measure the time between blocks", err)
	}
	if !newest.isBlock(number) || !oldest.isBlock(number-blocks) {
		return interval{}, nil
	}
	// If contracts count another chain's blocks, newest is another block, which only has the same number.
	switch differ := newest.time().Sub(at.time()).Abs(); {
	case differ >= anotherChain:
		return interval{state: intervalUnknowable}, nil
	case differ > 0:
		return interval{}, nil
	}
	length := newest.time().Sub(oldest.time()) / time.Duration(blocks)
	if length <= 0 {
		return interval{}, nil
	}
	return interval{state: intervalKnown, length: length}, nil
}

// headers returns the headers of two blocks of the node's chain. A header that the node does not have is zero.
func (c *Client) headers(ctx context.Context, first, second uint64) (a, b block, err error) {
	err = c.sendAll(ctx, []rpcCall{
		{method: "eth_getBlockByNumber", args: []any{hexutil.Uint64(first), withoutTransactions}, result: &a},
		{method: "eth_getBlockByNumber", args: []any{hexutil.Uint64(second), withoutTransactions}, result: &b},
	})
	return a, b, err
}

// isBlock reports whether b is a header with this number and a possible time.
func (b block) isBlock(number uint64) bool {
	return b.Number != nil && b.Number.toInt().Cmp(new(big.Int).SetUint64(number)) == 0 && !b.time().IsZero()
}
