package staking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
	"herald/internal/transport"
)

// ethCall is one eth_call and, once it is made, its result: data or an error.
type ethCall struct {
	to    common.Address
	input []byte
	data  hexutil.Bytes
	err   error
}

func (c ethCall) params() map[string]any {
	// "data" rather than the newer "input": every node knows it.
	return map[string]any{"to": c.to, "data": hexutil.Bytes(c.input)}
}

// heightCall is the parameter of an eth_call that returns the block's number as contracts read
// it. Without "to" the node runs the data as code: NUMBER, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0,
// RETURN.
var heightCall = map[string]string{"data": "0x4360005260206000f3"}

// cooldown is how long Multicall3 is not used after it failed.
const cooldown = 5 * time.Minute

// usesMulticall reports whether Multicall3 is on, and did not fail within cooldown.
func (c *Client) usesMulticall() bool {
	return c.settings.Multicall != nil && time.Now().UnixNano() >= c.noMulticallUntil.Load()
}

// read makes all calls at one block, and returns that block: through Multicall3, or by
// readPinned if Multicall3 is off or fails, or if request or result are too large. read
// fails if the block is of another chain or too old.
func (c *Client) read(ctx context.Context, calls []ethCall) (block, error) {
	if !c.usesMulticall() {
		return c.readPinned(ctx, calls)
	}
	at, err := c.aggregate(ctx, calls)
	switch {
	case errors.Is(err, errUnsupported):
		c.noMulticallUntil.Store(time.Now().Add(cooldown).UnixNano())
		return c.readPinned(ctx, calls)
	case isTooLarge(err):
		return c.readPinned(ctx, calls)
	}
	return at, err
}

// isTooLarge reports whether the node, or maxBody, refused a request or its answer for its size.
func isTooLarge(err error) bool {
	return errors.Is(err, errTooLarge) || errors.Is(err, transport.ErrBodyTooLarge)
}

var aggregate3 = evmabi.Selector("aggregate3((address,bool,bytes)[])")

// aggregate makes all calls in one eth_call to Multicall3, and sets their results. The
// same eth_call asks for the chain and the block, because a load balancer may pass another
// request to another node. aggregate fails with errUnsupported if the call is executed and fails,
// or if its result is not Multicall3's. It also fails as verify does.
func (c *Client) aggregate(ctx context.Context, calls []ethCall) (block, error) {
	self := *c.settings.Multicall
	var packed []evmabi.Tuple
	pack := func(to common.Address, input []byte) {
		words := append(evmabi.Address(to), evmabi.Uint256(common.Big1)...) // allowFailure: true
		packed = append(packed, evmabi.Tuple{Words: words, Content: input})
	}
	for _, method := range blockMethods {
		pack(self, evmabi.Selector(method))
	}
	for _, call := range calls {
		pack(call.to, call.input)
	}
	all := ethCall{to: self, input: slices.Concat(aggregate3, evmabi.EncodeList(packed))}
	err := c.rpc.call(ctx, &all.data, "eth_call", all.params(), "latest")
	switch {
	case errors.Is(err, errExecution):
		return block{}, errUnsupported
	case err != nil:
		return block{}, err
	}
	results, err := evmabi.DecodeList(all.data, 1)
	if err != nil || len(results) != len(packed) {
		return block{}, errUnsupported
	}
	for i, r := range results[len(blockMethods):] {
		calls[i].data = r.Content
		if !isWord(r.Words, 1) {
			calls[i].err = errReverted
		}
	}
	at, err := blockOf(results)
	if err != nil {
		return block{}, err
	}
	return at, c.verify(at)
}

// readPinned makes each call as an eth_call of its own, at the node's newest block, and
// sets its result. It also asks for the chain's ID and for the block's height; the height of the
// block that it returns is nil if the node refuses that call. It reads the block's header, because
// eth_blockNumber does not return the block's time. It fails as verify does, and then still
// returns the block.
func (c *Client) readPinned(ctx context.Context, calls []ethCall) (at block, err error) {
	if err := c.rpc.call(ctx, &at, "eth_getBlockByNumber", "latest", false); err != nil {
		return block{}, err
	}
	if at.Number == nil || !at.Number.toInt().IsUint64() {
		return block{}, errNotBlock
	}
	var id quantity
	var height hexutil.Bytes
	sent := []rpcCall{
		{method: "eth_chainId", result: &id},
		{method: "eth_call", args: []any{heightCall, at.Number}, result: &height},
	}
	first := len(sent)
	for i, call := range calls {
		args := []any{call.params(), at.Number}
		sent = append(sent, rpcCall{method: "eth_call", args: args, result: &calls[i].data})
	}
	if err := c.sendAll(ctx, sent); err != nil {
		return block{}, err
	}
	for _, call := range sent {
		if errors.Is(call.err, errUnknownBlock) {
			return block{}, call.err
		}
	}
	if sent[0].err != nil {
		return block{}, sent[0].err
	}
	at.chainID = id.toInt()
	if n, err := decodeUint256(height); err == nil && sent[1].err == nil && n.IsUint64() {
		at.height = n
	}
	for i := range calls {
		calls[i].err = sent[first+i].err
	}
	return at, c.verify(at)
}

// sendAll makes the calls as one batch. If the node refuses the batch, answers only a part of it,
// or answers more than maxBody, sendAll makes them one by one. It does not if the node limits
// calls; calls without an answer are then Limited, too. A call holds its own error.
func (c *Client) sendAll(ctx context.Context, calls []rpcCall) error {
	err := c.rpc.callBatch(ctx, calls)
	if err != nil {
		if !refusesBatch(err) {
			return err
		}
		c.sendEach(ctx, calls)
		return nil
	}
	if !slices.ContainsFunc(calls, rpcCall.isUnanswered) {
		return nil
	}
	limited := slices.IndexFunc(calls, rpcCall.isLimited)
	if limited < 0 {
		c.sendEach(ctx, calls)
		return nil
	}
	for i := range calls {
		if calls[i].isUnanswered() {
			calls[i].err = calls[limited].err
		}
	}
	return nil
}

// refusesBatch reports whether the calls of a batch that failed with err may be answered one by one.
func refusesBatch(err error) bool {
	return errors.Is(err, errMismatch) || isTooLarge(err) || failure(err).Reason == core.Rejected
}

// sendEach makes each call as a request of its own. It blocks until all are answered. A call
// holds its own error.
func (c *Client) sendEach(ctx context.Context, calls []rpcCall) {
	var asking sync.WaitGroup
	for i := range calls {
		call := &calls[i]
		asking.Go(func() { call.err = c.rpc.call(ctx, call.result, call.method, call.args...) })
	}
	asking.Wait()
}
