package staking

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
	"herald/internal/transport"
)

// ethCall is a call of a contract. Making the call sets data or err.
type ethCall struct {
	to    common.Address
	input []byte // the method's selector and its arguments
	data  hexutil.Bytes
	err   error
}

// params returns the call as the first parameter of eth_call.
func (c ethCall) params() map[string]any {
	// "input" is newer than "data", but not every node knows it.
	return map[string]any{"to": c.to, "data": hexutil.Bytes(c.input)}
}

// heightParams is the first parameter of an eth_call that returns the block's number as contracts read it. Because it
// has no "to", the node runs the data as code: NUMBER, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN.
var heightParams = map[string]string{"data": "0x4360005260206000f3"}

// cooldown is how long Multicall3 is not used after it failed.
const cooldown = 5 * time.Minute

// usesMulticall reports whether Multicall3 is configured and has not failed within cooldown.
func (c *Client) usesMulticall() bool {
	return c.settings.Multicall != nil && time.Now().UnixNano() >= c.noMulticallUntil.Load()
}

// errNoMulticall means that there is no Multicall3 at the address, or that executing the call of Multicall3 failed.
var errNoMulticall = errors.New("Multicall3 does not answer")

// read makes all calls at one block, sets their results, and returns the block. It uses Multicall3. If Multicall3 is
// off or fails, or if the request or its answer would be too large, it uses readPinned. It also fails if verify refuses
// the block.
func (c *Client) read(ctx context.Context, calls []ethCall) (block, error) {
	if !c.usesMulticall() {
		return c.readPinned(ctx, calls)
	}
	at, err := c.aggregate(ctx, calls)
	if errors.Is(err, errNoMulticall) {
		c.noMulticallUntil.Store(time.Now().Add(cooldown).UnixNano())
		return c.readPinned(ctx, calls)
	}
	if isTooLarge(err) {
		return c.readPinned(ctx, calls)
	}
	return at, err
}

// isTooLarge reports whether the node refused a request or its answer because of its size, or the answer exceeds
// maxBody.
func isTooLarge(err error) bool {
	return errors.Is(err, errTooLarge) || errors.Is(err, transport.ErrBodyTooLarge)
}

// aggregate3 is the method of Multicall3 that makes calls of which each may fail.
var aggregate3 = evmabi.Selector("aggregate3((address,bool,bytes)[])")

// errReverted is the err of an ethCall that failed when Multicall3 executed it.
var errReverted = Service.Fail(core.Rejected, errors.New("the pool reverted the call"))

// aggregate makes all calls in one eth_call to Multicall3, sets their results, and returns the block. The same eth_call
// asks for the chain and the block, because a load balancer may pass a second request on to another node. aggregate
// returns errNoMulticall if the eth_call fails when it is executed, or if its result is not a result of Multicall3. It
// also fails if verify refuses the block.
func (c *Client) aggregate(ctx context.Context, calls []ethCall) (block, error) {
	self := *c.settings.Multicall
	var packed []evmabi.Tuple
	for _, method := range blockMethods {
		packed = append(packed, call3(self, evmabi.Selector(method)))
	}
	for _, call := range calls {
		packed = append(packed, call3(call.to, call.input))
	}
	all := ethCall{to: self, input: slices.Concat(aggregate3, evmabi.EncodeList(packed))}
	err := c.rpc.call(ctx, &all.data, "eth_call", all.params(), "latest")
	if errors.Is(err, errExecution) {
		return block{}, errNoMulticall
	}
	if err != nil {
		return block{}, err
	}
	const wordsOfResult = 1 // whether the call succeeded
	results, err := evmabi.DecodeList(all.data, wordsOfResult)
	if err != nil || len(results) != len(packed) {
		return block{}, errNoMulticall
	}
	ofBlock, ofCalls := results[:len(blockMethods)], results[len(blockMethods):]
	for i, result := range ofCalls {
		calls[i].data = result.Content
		if succeeded := wordIs(result.Words, 1); !succeeded {
			calls[i].err = errReverted
		}
	}
	at, err := blockOf(ofBlock)
	if err != nil {
		return block{}, err
	}
	return at, c.verify(at)
}

// call3 returns a call in the form of Multicall3's Call3.
func call3(to common.Address, input []byte) evmabi.Tuple {
	allowFailure := evmabi.Uint256(common.Big1)
	return evmabi.Tuple{Words: append(evmabi.Address(to), allowFailure...), Content: input}
}

// readPinned finds the node's newest block, makes each call as an eth_call of its own at the number of that block, and
// sets the results. With the calls it also asks for the chain's ID and for the block's height. If the node refuses to
// report the height, the height of the returned block is nil. readPinned also fails if verify refuses the block, and
// then still returns the block.
func (c *Client) readPinned(ctx context.Context, calls []ethCall) (at block, err error) {
	at, err = c.newestBlock(ctx)
	if err != nil {
		return block{}, err
	}
	var id quantity
	var height hexutil.Bytes
	sent := []rpcCall{
		{method: "eth_chainId", result: &id},
		{method: "eth_call", args: []any{heightParams, at.Number}, result: &height},
	}
	for i, call := range calls {
		args := []any{call.params(), at.Number}
		sent = append(sent, rpcCall{method: "eth_call", args: args, result: &calls[i].data})
	}
	if err := c.sendAll(ctx, sent); err != nil {
		return block{}, err
	}
	if i := slices.IndexFunc(sent, rpcCall.lacksBlock); i >= 0 {
		return block{}, sent[i].err
	}
	idCall, heightCall, contractCalls := sent[0], sent[1], sent[2:]
	if idCall.err != nil {
		return block{}, idCall.err
	}
	at.chainID = id.toInt()
	if heightCall.err == nil {
		at.height = heightIn(height)
	}
	for i := range calls {
		calls[i].err = contractCalls[i].err
	}
	return at, c.verify(at)
}

// newestBlock returns the node's newest block. The block has no chainID and no height.
func (c *Client) newestBlock(ctx context.Context) (newest block, err error) {
	// eth_blockNumber would not return the block's time.
	err = c.rpc.call(ctx, &newest, "eth_getBlockByNumber", "latest", withoutTransactions)
	if err != nil {
		return block{}, err
	}
	if newest.Number == nil || !newest.Number.toInt().IsUint64() {
		return block{}, errNotBlock
	}
	return newest, nil
}

// heightIn returns the block number in the result of the call with heightParams, or nil if there is no possible one.
func heightIn(data []byte) *big.Int {
	n, err := decodeUint256(data)
	if err != nil || !n.IsUint64() {
		return nil
	}
	return n
}

// sendAll makes the calls as one batch, and sets their results or errors. If the node refuses the batch, answers only
// some of its calls, or sends more than maxBody, sendAll makes all calls again, one by one.
//
// There is one exception: if the node says of a call that there were too many calls, sendAll does not make more. The
// calls that the node left unanswered then get the same error.
func (c *Client) sendAll(ctx context.Context, calls []rpcCall) error {
	err := c.rpc.callBatch(ctx, calls)
	if err != nil {
		if !refusesBatch(err) {
			return err
		}
		c.sendEach(ctx, calls)
		return nil
	}
	isComplete := !slices.ContainsFunc(calls, rpcCall.isUnanswered)
	if isComplete {
		return nil
	}
	firstLimited := slices.IndexFunc(calls, rpcCall.isLimited)
	if firstLimited < 0 {
		c.sendEach(ctx, calls)
		return nil
	}
	for i := range calls {
		if calls[i].isUnanswered() {
			calls[i].err = calls[firstLimited].err
		}
	}
	return nil
}

// refusesBatch reports whether the node may answer the calls of a batch one by one, although the batch failed with err.
func refusesBatch(err error) bool {
	return errors.Is(err, errMismatch) || isTooLarge(err) || failure(err).Reason == core.Rejected
}

// sendEach makes each call as a request of its own, and sets its result or error. It blocks until all have ended.
func (c *Client) sendEach(ctx context.Context, calls []rpcCall) {
	var inFlight sync.WaitGroup
	for i := range calls {
		call := &calls[i]
		inFlight.Go(func() { call.err = c.rpc.call(ctx, call.result, call.method, call.args...) })
	}
	inFlight.Wait()
}
