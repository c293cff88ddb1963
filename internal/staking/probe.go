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
	var id hexutil.Big
	err = c.rpc.CallContext(ctx, &id, "eth_chainId")
	if err == nil {
		err = c.sameChain(id.ToInt())
	}
	if err != nil {
		return "", failure(err).During("check the chain")
	}
	codeless, err := c.codeless(ctx, c.pools)
	switch {
	case err != nil:
		return "", err
	case len(codeless) > 0:
		return "", fmt.Errorf("no contract at %s", addresses(codeless))
	}
	detail = fmt.Sprintf("%d pools", len(c.pools))
	if c.multicall != nil {
		codeless, err := c.codeless(ctx, []core.Pool{{Address: *c.multicall}})
		switch {
		case err != nil:
			return "", err
		case len(codeless) > 0:
			detail += "; no contract at MULTICALL_ADDRESS, they are read by batch"
		}
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

func addresses(pools []core.Pool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Address.Hex())
	}
	return strings.Join(list, ", ")
}
