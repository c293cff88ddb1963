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
	// maxIntervalWait is the maximum time that a stake waits for the block interval. By then, everything else about the
	// stake has been read.
	maxIntervalWait = time.Second
	// intervalBlocks is the number of blocks over which the interval is measured if ClaimBlocks is 0: 14 hours at two
	// blocks per second, two weeks at one block every 12 seconds.
	intervalBlocks = 100_000
	// otherChainGap: two blocks with the same number are of two chains if their times are at least this far apart. If they
	// are closer, two nodes of the same chain may have answered.
	otherChainGap = time.Hour
)

// interval is the time between two blocks, as contracts count blocks.
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
	// intervalUnknowable: contracts count the blocks of another chain, whose headers the node does not have.
	intervalUnknowable
)

// isCacheable reports whether the measurement was conclusive: another one would give the same.
func (i interval) isCacheable() bool { return i.state != intervalUnknown }

// measureInterval measures the block interval: the average over the ClaimBlocks blocks before the newest block, or over
// intervalBlocks if ClaimBlocks is 0. It goes back to block 1 at most, because the time of a genesis block is
// arbitrary. ClaimBlocks must not be nil.
//
// For example, if the height of the newest block is 1000 and ClaimBlocks is 100, measureInterval compares the times of
// the blocks 1000 and 900.
//
// On some rollups, contracts count the blocks of another chain: on Arbitrum they read Ethereum's block number. If the
// node is asked for the header with that number, it returns an old block of its own chain. The times then are far
// apart, and the result is intervalUnknowable.
func (c *Client) measureInterval(ctx context.Context, _ struct{}) (interval, error) {
	now, err := c.read(ctx, nil)
	if err != nil {
		return interval{}, during("find the newest block", err)
	}
	height := now.knownHeight()
	if height < 2 {
		// The height is unknown, or there is no interval after block 1.
		return interval{state: intervalUnknown}, nil
	}
	wanted := cmp.Or(*c.settings.ClaimBlocks, intervalBlocks)
	blocks := min(wanted, height-1)
	oldestHeight := height - blocks
	newest, oldest, err := c.headers(ctx, height, oldestHeight)
	if err != nil {
		return interval{}, during("measure the time between blocks", err)
	}
	if !newest.isBlock(height) || !oldest.isBlock(oldestHeight) {
		return interval{state: intervalUnknown}, nil
	}
	gap := newest.time().Sub(now.time()).Abs()
	if gap >= otherChainGap {
		return interval{state: intervalUnknowable}, nil
	}
	if gap > 0 {
		// Two nodes may have answered, with different blocks of this number.
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
