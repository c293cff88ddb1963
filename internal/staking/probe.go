package staking

import (
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
)

// Report is what Check found amiss with a setting, though the node answers.
type Report struct {
	// Codeless are the pools at whose address there is no contract.
	Codeless []core.Pool
	// NoMulticall tells that Multicall3 is configured, but there is no contract
	// at its address: the pools are then read by batch.
	NoMulticall bool
}

// Check asks the node for its chain's id, and for the code at every configured
// address. It fails with a *core.Error of core.Chain if the chain is another
// one, or an address could not be looked at.
func (c *Client) Check(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	c.chainKnown.Store(false)
	if err := c.verifyChain(ctx); err != nil {
		return Report{}, failure("check the chain", err)
	}
	addresses := make([]common.Address, len(c.pools))
	for i, p := range c.pools {
		addresses[i] = p.Address
	}
	if c.multicall != nil {
		addresses = append(addresses, *c.multicall)
	}
	deployed, err := c.deployed(ctx, addresses)
	if err != nil {
		return Report{}, failure("look for the contracts", err)
	}
	var report Report
	for i, p := range c.pools {
		if !deployed[i] {
			report.Codeless = append(report.Codeless, p)
		}
	}
	report.NoMulticall = c.multicall != nil && !deployed[len(c.pools)]
	return report, nil
}

// deployed tells of each address whether there is code. The calls go one by
// one: the code of many pools may be larger than one answer is allowed to be.
func (c *Client) deployed(ctx context.Context, addresses []common.Address) ([]bool, error) {
	code := make([]hexutil.Bytes, len(addresses))
	elems := make([]rpc.BatchElem, len(addresses))
	for i, address := range addresses {
		elems[i] = rpc.BatchElem{Method: "eth_getCode", Args: []any{address, "latest"}, Result: &code[i]}
	}
	c.sendEach(ctx, elems)
	deployed := make([]bool, len(addresses))
	for i, e := range elems {
		if e.Error != nil {
			return nil, e.Error
		}
		deployed[i] = len(code[i]) > 0
	}
	return deployed, nil
}
