package staking

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/config"
	"herald/internal/core"
)

// Found is what Probe has learned, also when it fails.
type Found struct {
	// ChainID is the node's; nil if it did not say.
	ChainID *big.Int
	// Block is its newest block, 0 if it did not say. BlockTime is zero if the block
	// has no possible time.
	Block     uint64
	BlockTime time.Time
	// Deployed counts the pools with code, and Missing lists those without; neither
	// if that was not asked.
	Deployed int
	Missing  []core.Pool
	// Way says to operators how the pools are read; empty if that was not found out.
	Way string
}

// Probe asks the node, past the cache, for its chain's ID and its newest block,
// for the code at every pool's address, and for a stake. It fails also if the
// block is too old, if a pool is no contract or does not answer the methods, and
// if the Multicall3 that was configured does not work. There need not be one at
// the default's address.
func (c *Client) Probe(ctx context.Context) (found Found, err error) {
	var id hexutil.Big
	if err := c.rpc.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return found, failure(err).During("check the chain")
	}
	found.ChainID = id.ToInt()
	if err := c.sameChain(found.ChainID); err != nil {
		return found, err
	}
	newest, err := c.newestBlock(ctx)
	if err == nil {
		found.Block, found.BlockTime = newest.number, newest.time()
		err = c.recent(newest)
	}
	if err != nil {
		return found, failure(err).During("check the chain")
	}
	found.Missing, err = c.withoutCode(ctx)
	if err != nil {
		return found, err
	}
	found.Deployed = len(c.settings.Pools) - len(found.Missing)
	if len(found.Missing) > 0 {
		return found, fmt.Errorf("no contract at %s", addresses(found.Missing))
	}
	stake, err := c.readStake(ctx, anyWallet)
	if err != nil {
		return found, err
	}
	switch {
	case c.settings.Multicall == nil:
		found.Way = "Multicall3 is off, so they are read by JSON-RPC batch"
	case !c.noMulticall.active():
		found.Way = "Multicall3 reads them in one call"
	case c.settings.Multicall.Hex() != defaultMulticall:
		return found, &config.WrongError{
			Problem:  fmt.Sprintf("no Multicall3 works at %s", c.settings.Multicall.Hex()),
			Settings: "MULTICALL_ADDRESS (off: the pools are read by JSON-RPC batch)",
		}
	default:
		found.Way = "Multicall3 does not work here, so they are read by JSON-RPC batch"
	}
	switch {
	case len(stake.Failed) > 0:
		return found, fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(poolsOf(stake.Failed)))
	case len(stake.UnbondingFailed) > 0:
		return found, fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(poolsOf(stake.UnbondingFailed)))
	}
	return found, nil
}

// withoutCode are the pools without code. They are asked for one by one: the code
// of many may be larger than an answer is allowed to be.
func (c *Client) withoutCode(ctx context.Context) (missing []core.Pool, err error) {
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
			missing = append(missing, pools[i])
		}
	}
	return missing, nil
}

func poolsOf(unread []core.UnreadPool) []core.Pool {
	pools := make([]core.Pool, len(unread))
	for i, p := range unread {
		pools[i] = p.Pool
	}
	return pools
}

func addresses(pools []core.Pool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Address.Hex())
	}
	return strings.Join(list, ", ")
}
