package staking

import (
	"context"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
)

// multicall3 is the part of Multicall3 that is used
// (https://github.com/mds1/multicall3).
var multicall3 = parseABI(`[
	{"type":"function","name":"aggregate3","stateMutability":"payable",
	 "inputs":[{"name":"calls","type":"tuple[]","components":[
		{"name":"target","type":"address"},
		{"name":"allowFailure","type":"bool"},
		{"name":"callData","type":"bytes"}]}],
	 "outputs":[{"name":"returnData","type":"tuple[]","components":[
		{"name":"success","type":"bool"},
		{"name":"returnData","type":"bytes"}]}]},
	{"type":"function","name":"getBlockNumber","inputs":[],"outputs":[{"type":"uint256"}],"stateMutability":"view"},
	{"type":"function","name":"getChainId","inputs":[],"outputs":[{"type":"uint256"}],"stateMutability":"view"}
]`)

func parseABI(text string) abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	return parsed
}

type aggregateCall struct {
	Target       common.Address
	AllowFailure bool
	CallData     []byte
}

type aggregateResult struct {
	Success    bool
	ReturnData []byte
}

// aggregate makes all calls in one eth_call, and with them asks the very
// execution which chain and block it is on: behind a load balancer another
// request may reach another node. It fails with errUnfit if there is no
// Multicall3, or the node does not let it do so much.
func (c *Client) aggregate(ctx context.Context, calls []call) (reading, error) {
	self := *c.multicall
	input, err := packAggregate(append([]call{
		{to: self, data: multicall3.Methods["getChainId"].ID},
		{to: self, data: multicall3.Methods["getBlockNumber"].ID},
	}, calls...))
	if err != nil {
		return reading{}, err
	}
	var output hexutil.Bytes
	err = c.rpc.CallContext(ctx, &output, "eth_call", call{to: self, data: input}.params(), "latest")
	switch {
	case err != nil && failure(err).Reason == core.Rejected:
		return reading{}, errUnfit
	case err != nil:
		return reading{}, err
	}
	answers, err := unpackAggregate(output, len(calls)+2)
	if err != nil {
		return reading{}, errUnfit
	}
	id, idErr := answers[0].uint256()
	block, blockErr := answers[1].uint256()
	if idErr != nil || blockErr != nil {
		return reading{}, errUnfit
	}
	if err := c.sameChain(id); err != nil {
		return reading{}, err
	}
	if err := c.seenByContract.advance(block); err != nil {
		return reading{}, err
	}
	return reading{block: block.Uint64(), answers: answers[2:]}, nil
}

func packAggregate(calls []call) ([]byte, error) {
	packed := make([]aggregateCall, len(calls))
	for i, c := range calls {
		packed[i] = aggregateCall{Target: c.to, AllowFailure: true, CallData: c.data}
	}
	return multicall3.Pack("aggregate3", packed)
}

// unpackAggregate reads the output of an aggregate3 of n calls.
func unpackAggregate(output []byte, n int) ([]answer, error) {
	var results []aggregateResult
	if err := multicall3.UnpackIntoInterface(&results, "aggregate3", output); err != nil {
		return nil, errShape
	}
	if len(results) != n {
		return nil, errShape
	}
	answers := make([]answer, n)
	for i, r := range results {
		if !r.Success {
			answers[i].err = errReverted
			continue
		}
		answers[i].data = r.ReturnData
	}
	return answers, nil
}
