package staking

import (
	"context"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
)

// anyWallet is whose stake is asked for; the answer does not matter. It is not
// the zero address, which some contracts refuse.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// Probe asks the node, past the cache, for its chain's id, for the code at
// every configured address, and for a stake. It fails also if a pool is no
// contract, or does not answer the methods.
func (c *Client) Probe(ctx context.Context) (detail string, err error) {
	c.chainKnown.Store(false)
	if err := c.verifyChain(ctx); err != nil {
		return "", failure(err).During("check the chain")
	}
	at := make([]common.Address, len(c.pools))
	for i, p := range c.pools {
		at[i] = p.Address
	}
	if c.multicall != nil {
		at = append(at, *c.multicall)
	}
	deployed, err := c.deployed(ctx, at)
	if err != nil {
		return "", failure(err).During("look for the contracts")
	}
	var codeless []core.Pool
	for i, p := range c.pools {
		if !deployed[i] {
			codeless = append(codeless, p)
		}
	}
	if len(codeless) > 0 {
		return "", fmt.Errorf("no contract at %s", addresses(codeless))
	}
	detail = fmt.Sprintf("%d pools", len(c.pools))
	if c.multicall != nil && !deployed[len(c.pools)] {
		detail += "; no contract at MULTICALL_ADDRESS, they are read by batch"
	}
	stake, err := c.readStake(ctx, anyWallet)
	switch {
	case err != nil:
		return "", err
	case len(stake.Failed) > 0:
		return "", fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(stake.Failed))
	case len(stake.UnbondingFailed) > 0:
		return "", fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(stake.UnbondingFailed))
	}
	return detail, nil
}

// deployed reports of each address whether there is code. The calls go one by
// one: the code of many pools may be larger than one answer is allowed to be.
func (c *Client) deployed(ctx context.Context, at []common.Address) ([]bool, error) {
	code := make([]hexutil.Bytes, len(at))
	elems := make([]rpc.BatchElem, len(at))
	for i, address := range at {
		elems[i] = rpc.BatchElem{Method: "eth_getCode", Args: []any{address, "latest"}, Result: &code[i]}
	}
	c.sendEach(ctx, elems)
	deployed := make([]bool, len(at))
	for i, e := range elems {
		if e.Error != nil {
			return nil, e.Error
		}
		deployed[i] = len(code[i]) > 0
	}
	return deployed, nil
}

func addresses(pools []core.Pool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Address.Hex())
	}
	return strings.Join(list, ", ")
}
