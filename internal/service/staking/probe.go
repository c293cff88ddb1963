package staking

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
)

// Found is what Probe has learned, also when it fails.
type Found struct {
	// ChainID is the node's; nil if it did not say.
	ChainID *big.Int
	// Block is its newest block. BlockTime is zero if the block has no possible time.
	Block     uint64
	BlockTime time.Time
	// Deployed counts the pools with code, and Missing the others; both are 0 if that
	// was not asked.
	Deployed, Missing int
	// Way says to operators how the pools are read; empty if that was not found out.
	Way string
}

// Probe asks the node, past the cache, for its chain's ID and its newest block,
// for the code at every pool's address, and for a stake. It fails also if the
// block is too old, or if a pool is no contract or does not answer the methods.
func (c *Client) Probe(ctx context.Context) (found Found, err error) {
	newest, err := c.readPinned(ctx, nil)
	if err == nil {
		if err = c.verify(newest); newest.Number.ToInt().IsUint64() {
			found = Found{ChainID: newest.chainID, Block: newest.Number.ToInt().Uint64(), BlockTime: newest.time()}
		}
	}
	if err != nil {
		return found, failure(err).During("check the chain")
	}
	missing, err := c.withoutCode(ctx)
	if err != nil {
		return found, err
	}
	found.Missing, found.Deployed = len(missing), len(c.settings.Pools)-len(missing)
	if len(missing) > 0 {
		return found, fmt.Errorf("no contract at %s", addresses(missing))
	}
	stake, err := c.readStake(ctx, anyWallet)
	if err != nil {
		return found, err
	}
	found.Way = "Multicall3 reads them in one call"
	if c.settings.Multicall == nil || c.noMulticall.active() {
		found.Way = "Multicall3 is off or does not work, so they are read by JSON-RPC batch"
	}
	switch {
	case len(stake.Failed) > 0:
		return found, fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(stake.Failed))
	case len(stake.UnbondingFailed) > 0:
		return found, fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(stake.UnbondingFailed))
	}
	return found, nil
}

// withoutCode are the pools without code. They are asked for one by one: the code
// of many may be larger than an answer is allowed to be.
func (c *Client) withoutCode(ctx context.Context) (missing []core.UnreadPool, err error) {
	pools := c.settings.Pools
	code := make([]hexutil.Bytes, len(pools))
	elems := make([]rpc.BatchElem, len(pools))
	for i, p := range pools {
		elems[i] = rpc.BatchElem{Method: "eth_getCode", Args: []any{p.Address, "latest"}, Result: &code[i]}
	}
	c.sendEach(ctx, elems)
	for i, e := range elems {
		if e.Error != nil {
			return nil, failure(e.Error).During("look for the contracts")
		}
		if len(code[i]) == 0 {
			missing = append(missing, core.UnreadPool{Pool: pools[i], Err: errNoData})
		}
	}
	return missing, nil
}

func addresses(pools []core.UnreadPool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Pool.Address.Hex())
	}
	return strings.Join(list, ", ")
}
