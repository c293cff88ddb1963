package staking

import (
	"context"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// defaultMulticall is where Multicall3 stands on most chains
// (https://github.com/mds1/multicall3#multicall3-contract-addresses).
const defaultMulticall = "0xcA11bde05977b3631167028862bE2a173976CA11"

// aboutBlock are the methods of Multicall3 that say where it is executed.
var aboutBlock = [][]byte{
	evmabi.Selector("getChainId()"), evmabi.Selector("getBlockNumber()"), evmabi.Selector("getCurrentBlockTimestamp()"),
}

var aggregate3 = evmabi.Selector("aggregate3((address,bool,bytes)[])")

// aggregate makes all calls in one eth_call, and with them asks the very
// execution which chain and block it is on: behind a load balancer another
// request may reach another node. It fails with errUnfit if there is no
// Multicall3, or the node does not let it do so much.
func (c *Client) aggregate(ctx context.Context, calls []call) (reading, error) {
	self := *c.multicall
	var packed []evmabi.Call
	for _, method := range aboutBlock {
		packed = append(packed, evmabi.Call{Target: self, AllowFailure: true, Data: method})
	}
	for _, call := range calls {
		packed = append(packed, evmabi.Call{Target: call.to, AllowFailure: true, Data: call.data})
	}
	input := slices.Concat(aggregate3, evmabi.EncodeCalls(packed))
	var output hexutil.Bytes
	err := c.rpc.CallContext(ctx, &output, "eth_call", call{to: self, data: input}.params(), "latest")
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
	results, err := evmabi.DecodeResults(output)
	if err != nil || len(results) != n {
		return nil, errUnfit
	}
	answers := make([]answer, n)
	for i, r := range results {
		if r.Success {
			answers[i].data = r.Data
		} else {
			answers[i].err = errReverted
		}
	}
	return answers, nil
}
