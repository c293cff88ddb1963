package staking

import (
	"context"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
)

// defaultMulticall is where Multicall3 stands on most chains
// (https://github.com/mds1/multicall3#multicall3-contract-addresses).
const defaultMulticall = "0xcA11bde05977b3631167028862bE2a173976CA11"

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
	{"type":"function","name":"getChainId","inputs":[],"outputs":[{"type":"uint256"}],"stateMutability":"view"},
	{"type":"function","name":"getBlockNumber","inputs":[],"outputs":[{"type":"uint256"}],"stateMutability":"view"},
	{"type":"function","name":"getCurrentBlockTimestamp","inputs":[],"outputs":[{"type":"uint256"}],"stateMutability":"view"}
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

// aboutBlock are the methods of Multicall3 that say where it is executed.
var aboutBlock = []string{"getChainId", "getBlockNumber", "getCurrentBlockTimestamp"}

// aggregate makes all calls in one eth_call, and with them asks the very
// execution which chain and block it is on: behind a load balancer another
// request may reach another node. It fails with errUnfit if there is no
// Multicall3, or the node does not let it do so much.
func (c *Client) aggregate(ctx context.Context, calls []call) (reading, error) {
	self := *c.multicall
	var packed []aggregateCall
	for _, method := range aboutBlock {
		packed = append(packed, aggregateCall{self, true, multicall3.Methods[method].ID})
	}
	for _, call := range calls {
		packed = append(packed, aggregateCall{call.to, true, call.data})
	}
	input, err := multicall3.Pack("aggregate3", packed)
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
	answers, err := unpackAggregate(output, len(packed))
	if err != nil {
		return reading{}, err
	}
	id, idErr := decodeUint256(answers[0].data)
	number, numberErr := decodeUint256(answers[1].data)
	timestamp, timeErr := decodeUint256(answers[2].data)
	if idErr != nil || numberErr != nil || timeErr != nil {
		return reading{}, errUnfit
	}
	return reading{id, block{number, timestamp}, answers[len(aboutBlock):]}, nil
}

// unpackAggregate reads the output of an aggregate3 of n calls. It fails with
// errUnfit if it is none.
func unpackAggregate(output []byte, n int) ([]answer, error) {
	var results []aggregateResult
	if err := multicall3.UnpackIntoInterface(&results, "aggregate3", output); err != nil || len(results) != n {
		return nil, errUnfit
	}
	answers := make([]answer, n)
	for i, r := range results {
		if r.Success {
			answers[i].data = r.ReturnData
		} else {
			answers[i].err = errReverted
		}
	}
	return answers, nil
}
