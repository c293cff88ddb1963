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
	// minOtherChain is the minimum difference between the times of two blocks that shows that they are blocks of two
	// chains. A smaller difference between two blocks of the same number may be because two nodes answered.
	minOtherChain = time.Hour
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

// measureInterval measures the block interval: the average over the ClaimBlocks blocks before the newest block, or over
// intervalBlocks if ClaimBlocks is 0. It goes back to block 1 at most, because the time of a genesis block is
// arbitrary. ClaimBlocks must not be nil.
//
// If the height of the newest block is 1000 and ClaimBlocks is 100, it compares the times of the blocks 1000 and 900.
func (c *Client) measureInterval(ctx context.Context, _ struct{}) (interval, error) {
	at, err := c.read(ctx, nil)
	if err != nil {
		return interval{}, during("find the newest block", err)
	}
	height := at.knownHeight()
	if height < 2 {
		// The height is unknown, or there is no interval after block 1.
		return interval{state: intervalUnknown}, nil
	}
	blocks := min(cmp.Or(*c.settings.ClaimBlocks, intervalBlocks), height-1)
	newest, oldest, err := c.headers(ctx, height, height-blocks)
	if err != nil {
		return interval{}, during("measure the time between blocks", err)
	}
	if !newest.isBlock(height) || !oldest.isBlock(height-blocks) {
		return interval{state: intervalUnknown}, nil
	}
	// If contracts count another chain's blocks, newest is a block of the node's chain that only has the same number.
	difference := newest.time().Sub(at.time()).Abs()
	if difference >= minOtherChain {
		return interval{state: intervalUnknowable}, nil
	}
	if difference > 0 {
		// Two nodes answered, and have different blocks with this number.
		return interval{state: intervalUnknown}, nil
	}
	length := newest.time().Sub(oldest.time()) / time.Duration(blocks)
	if length <= 0 {
		return interval{state: intervalUnknown}, nil
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
	if b.Number == nil || b.time().IsZero() {
		return false
	}
	return b.Number.toInt().Cmp(new(big.Int).SetUint64(number)) == 0
}
