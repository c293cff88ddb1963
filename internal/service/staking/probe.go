package staking

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/config"
	"herald/internal/core"
)

// anyWallet is whose stake Probe and Pools ask for; the answer does not matter.
// It is not the zero address, which some contracts refuse.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// sameTime is how far apart the times of two blocks may be that a node says are
// its newest. Their numbers are not compared: see Client.seenByContract.
const sameTime = 10 * time.Minute

// Found is what Probe has learned, also when it fails.
type Found struct {
	// ChainID is the node's; nil if it did not say.
	ChainID *big.Int
	// Block is its newest block, nil if it did not say, and BlockTime that
	// block's time, zero if it gives none that is possible.
	Block     *big.Int
	BlockTime time.Time
	// Deployed counts the pools with code, and Missing are those without;
	// neither if that was not asked.
	Deployed int
	Missing  []core.Pool
	// Multicall says, to operators, how the pools are read; empty if that was not
	// asked.
	Multicall string
}

const (
	multicallWorks   = "Multicall3 reads them in one call"
	multicallMissing = "this chain has no Multicall3, so they are read by JSON-RPC batch"
	multicallOff     = "Multicall3 is off, so they are read by JSON-RPC batch"
)

// Probe asks the node, past the cache, for its chain's id and its newest block,
// for the code at every configured address, and for a stake. It fails also if
// the block is too old, if a pool is no contract or does not answer the
// methods, and if there is no Multicall3 where one is configured. That there is
// none at the default's address is no failure.
func (c *Client) Probe(ctx context.Context) (found Found, err error) {
	newest, err := c.probeNode(ctx, &found)
	if err != nil {
		return found, failure(err).During("check the chain")
	}
	missing, err := c.codeless(ctx, c.pools)
	if err != nil {
		return found, err
	}
	found.Deployed, found.Missing = len(c.pools)-len(missing), missing
	if len(missing) > 0 {
		return found, fmt.Errorf("no contract at %s", addresses(missing))
	}
	if found.Multicall, err = c.probeMulticall(ctx, newest); err != nil {
		return found, err
	}
	stake, err := c.readStake(ctx, anyWallet)
	switch {
	case err != nil:
		return found, err
	case len(stake.Failed) > 0:
		return found, fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(poolsOf(stake.Failed)))
	case len(stake.UnbondingFailed) > 0:
		return found, fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(poolsOf(stake.UnbondingFailed)))
	}
	return found, nil
}

// probeNode returns the node's newest block, and fails if the node is of another
// chain or that block is too old.
func (c *Client) probeNode(ctx context.Context, found *Found) (block, error) {
	var id hexutil.Big
	if err := c.rpc.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return block{}, err
	}
	found.ChainID = id.ToInt()
	if err := c.sameChain(found.ChainID); err != nil {
		return block{}, err
	}
	newest, err := c.newestBlock(ctx)
	if err != nil {
		return block{}, err
	}
	found.Block, found.BlockTime = newest.number, newest.time()
	return newest, c.recent(newest)
}

// probeMulticall fails unless the contract at MULTICALL_ADDRESS aggregates
// calls, and says of the chain and its newest block what the node says. That
// the default's address has no contract is no failure: perhaps nobody chose it,
// and the pools are read without it.
func (c *Client) probeMulticall(ctx context.Context, newest block) (string, error) {
	if c.multicall == nil {
		return multicallOff, nil
	}
	missing, err := c.codeless(ctx, []core.Pool{{Address: *c.multicall}})
	switch {
	case err != nil:
		return "", err
	case len(missing) > 0 && c.multicall.Hex() == defaultMulticall:
		return multicallMissing, nil
	case len(missing) > 0:
		return "", multicallError("no contract at " + c.multicall.Hex())
	}
	r, err := c.aggregate(ctx, nil)
	switch {
	case errors.Is(err, errUnfit):
		return "", multicallError(fmt.Sprintf("the contract at %s is no Multicall3", c.multicall.Hex()))
	case err != nil:
		return "", failure(err).During("ask Multicall3")
	case c.sameChain(r.chainID) != nil, r.block.time().Sub(newest.time()).Abs() > sameTime:
		return "", multicallError(fmt.Sprintf("the contract at %s is no Multicall3: it contradicts the node", c.multicall.Hex()))
	}
	return multicallWorks, nil
}

func multicallError(problem string) error {
	return &config.WrongError{Problem: problem, Settings: "MULTICALL_ADDRESS (off: the pools are read by JSON-RPC batch)"}
}

// codeless are the contracts without code. They are asked for one by one: the
// code of many may be larger than one answer is allowed to be.
func (c *Client) codeless(ctx context.Context, contracts []core.Pool) ([]core.Pool, error) {
	code := make([]hexutil.Bytes, len(contracts))
	elems := make([]rpc.BatchElem, len(contracts))
	for i, contract := range contracts {
		elems[i] = rpc.BatchElem{Method: "eth_getCode", Args: []any{contract.Address, "latest"}, Result: &code[i]}
	}
	c.sendEach(ctx, elems)
	var codeless []core.Pool
	for i, e := range elems {
		if e.Error != nil {
			return nil, failure(e.Error).During("look for the contracts")
		}
		if len(code[i]) == 0 {
			codeless = append(codeless, contracts[i])
		}
	}
	return codeless, nil
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
