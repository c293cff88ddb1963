package staking

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"golang.org/x/sync/errgroup"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// call is one eth_call and, once made, what it gave: data, or an error.
type call struct {
	to    common.Address
	input []byte
	data  hexutil.Bytes
	err   error
}

func (c call) params() map[string]any {
	// "data" rather than the newer "input": every node knows it.
	return map[string]any{"to": c.to, "data": hexutil.Bytes(c.input)}
}

// read makes the calls in the best way that works, all at one block, which it
// returns. It refuses answers of another chain or of a block that is too old.
func (c *Client) read(ctx context.Context, calls []call) (at block, err error) {
	err = errUnsupported
	if c.settings.Multicall != nil && !c.noMulticall.active() {
		if at, err = c.aggregate(ctx, calls); errors.Is(err, errUnsupported) {
			c.noMulticall.start()
		}
	}
	if errors.Is(err, errUnsupported) {
		at, err = c.readPinned(ctx, calls)
	}
	if err == nil {
		err = c.verify(at)
	}
	return at, err
}

var aggregate3 = evmabi.Selector("aggregate3((address,bool,bytes)[])")

// aggregate makes all calls in one eth_call, and with them asks the very
// execution which chain and block it is on: behind a load balancer another
// request may reach another node. It fails with errUnsupported if there is no
// Multicall3, or the node does not let it do so much.
func (c *Client) aggregate(ctx context.Context, calls []call) (block, error) {
	self := *c.settings.Multicall
	var packed []evmabi.Tuple
	pack := func(to common.Address, input []byte) {
		words := append(evmabi.Address(to), evmabi.Uint256(common.Big1)...) // it may fail
		packed = append(packed, evmabi.Tuple{Words: words, Content: input})
	}
	about := []string{"getChainId()", "getBlockNumber()", "getCurrentBlockTimestamp()"}
	for _, method := range about {
		pack(self, evmabi.Selector(method))
	}
	for _, call := range calls {
		pack(call.to, call.input)
	}
	all := call{to: self, input: slices.Concat(aggregate3, evmabi.EncodeList(packed))}
	err := c.rpc.CallContext(ctx, &all.data, "eth_call", all.params(), "latest")
	switch {
	case err != nil && failure(err).Reason == core.Rejected:
		return block{}, errUnsupported
	case err != nil:
		return block{}, err
	}
	results, err := evmabi.DecodeList(all.data, 1)
	if err != nil || len(results) != len(packed) {
		return block{}, errUnsupported
	}
	var numbers []*hexutil.Big
	for _, r := range results[:len(about)] {
		n, err := decodeUint256(r.Content)
		if err != nil {
			return block{}, errUnsupported
		}
		numbers = append(numbers, (*hexutil.Big)(n))
	}
	for i, r := range results[len(about):] {
		calls[i].data = r.Content
		if !isWord(r.Words, 1) {
			calls[i].err = errReverted
		}
	}
	return block{chainID: numbers[0].ToInt(), Number: numbers[1], Timestamp: numbers[2]}, nil
}

// readPinned makes the calls as JSON-RPC calls of their own, with the chain's
// id among them, all at the block that the node says is its newest. It asks for
// the block's header rather than for eth_blockNumber, which has no time.
func (c *Client) readPinned(ctx context.Context, calls []call) (at block, err error) {
	if err := c.rpc.CallContext(ctx, &at, "eth_getBlockByNumber", "latest", false); err != nil {
		return block{}, err
	}
	if at.Number == nil {
		return block{}, errNotBlock
	}
	var id hexutil.Big
	elems := []rpc.BatchElem{{Method: "eth_chainId", Result: &id}}
	for i, call := range calls {
		elems = append(elems, rpc.BatchElem{Method: "eth_call", Args: []any{call.params(), at.Number}, Result: &calls[i].data})
	}
	if err := c.sendAll(ctx, elems); err != nil {
		return block{}, err
	}
	for i, e := range elems {
		switch {
		case e.Error != nil && (i == 0 || failure(e.Error) == errUnknownBlock):
			return block{}, e.Error
		case i > 0:
			calls[i-1].err = e.Error
		}
	}
	at.chainID = id.ToInt()
	return at, nil
}

// sendAll sends the elements as one batch, or one by one where the node does not
// answer batches, or not every element of this one. Errors of single elements are
// left in them.
func (c *Client) sendAll(ctx context.Context, elems []rpc.BatchElem) error {
	if !c.noBatch.active() {
		err := c.rpc.BatchCallContext(ctx, elems)
		unanswered := func(e rpc.BatchElem) bool { return errors.Is(e.Error, rpc.ErrMissingBatchResponse) }
		switch {
		case err == nil && !slices.ContainsFunc(elems, unanswered):
			return nil
		case err != nil && !errors.Is(err, errMismatch) && failure(err).Reason != core.Rejected:
			return err
		}
		c.noBatch.start()
	}
	c.sendEach(ctx, elems)
	return nil
}

// sendEach sends the elements one by one, some at a time.
func (c *Client) sendEach(ctx context.Context, elems []rpc.BatchElem) {
	var group errgroup.Group
	group.SetLimit(core.MaxCalls)
	for i := range elems {
		e := &elems[i]
		group.Go(func() error {
			e.Error = c.rpc.CallContext(ctx, e.Result, e.Method, e.Args...)
			return nil
		})
	}
	_ = group.Wait() // its functions return no errors
}

// cooldownFor is how long a way of reading that did not work is not tried.
const cooldownFor = 5 * time.Minute

// cooldown is a while during which something is not tried.
type cooldown struct{ until atomic.Int64 } // Unix time, ns

func (c *cooldown) active() bool { return time.Now().UnixNano() < c.until.Load() }

func (c *cooldown) start() { c.until.Store(time.Now().Add(cooldownFor).UnixNano()) }
