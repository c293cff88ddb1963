package staking

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"golang.org/x/sync/errgroup"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// call is one eth_call.
type call struct {
	to   common.Address
	data []byte
}

func (c call) params() map[string]any {
	// "data" rather than the newer "input": every node knows it.
	return map[string]any{"to": c.to, "data": hexutil.Bytes(c.data)}
}

// reading is the answers to calls, in their order, all of one block.
type reading struct {
	chainID *big.Int
	block   block
	answers []answer
}

// read makes the calls in the best way that works. It refuses answers of another
// chain or of a block that is too old.
func (c *Client) read(ctx context.Context, calls []call) (r reading, err error) {
	err = errUnsupported
	if c.settings.Multicall != nil && !c.noMulticall.active() {
		if r, err = c.aggregate(ctx, calls); errors.Is(err, errUnsupported) {
			c.noMulticall.start()
		}
	}
	if errors.Is(err, errUnsupported) {
		r, err = c.readPinned(ctx, calls)
	}
	if err == nil {
		err = c.verify(r)
	}
	return r, err
}

// verify fails for a reading of another chain, or of a block whose age is not known
// or above MaxBlockAge.
func (c *Client) verify(r reading) error {
	if !r.chainID.IsUint64() || r.chainID.Uint64() != c.settings.ChainID {
		// Only an admin can point the bot at another node.
		return Service.Fail(core.Denied, &config.WrongError{
			Problem:  fmt.Sprintf("the node is of chain %d, but chain %d is configured", r.chainID, c.settings.ChainID),
			Settings: "EVM_CHAIN_ID and EVM_RPC_URL",
		})
	}
	return c.recent(r.block)
}

// aboutBlock asks Multicall3 where it is executed.
func aboutBlock(multicall common.Address) (calls []call) {
	for _, method := range []string{"getChainId()", "getBlockNumber()", "getCurrentBlockTimestamp()"} {
		calls = append(calls, call{to: multicall, data: evmabi.Selector(method)})
	}
	return calls
}

var aggregate3 = evmabi.Selector("aggregate3((address,bool,bytes)[])")

// aggregate makes all calls in one eth_call, and with them asks the very
// execution which chain and block it is on: behind a load balancer another
// request may reach another node. It fails with errUnsupported if there is no
// Multicall3, or the node does not let it do so much.
func (c *Client) aggregate(ctx context.Context, calls []call) (reading, error) {
	self := *c.settings.Multicall
	var packed []evmabi.Tuple
	for _, call := range append(aboutBlock(self), calls...) {
		mayFail := evmabi.Uint256(common.Big1)
		packed = append(packed, evmabi.Tuple{Words: append(evmabi.Address(call.to), mayFail...), Content: call.data})
	}
	input := slices.Concat(aggregate3, evmabi.EncodeList(packed))
	var output hexutil.Bytes
	err := c.rpc.CallContext(ctx, &output, "eth_call", call{to: self, data: input}.params(), "latest")
	switch {
	case err != nil && failure(err).Reason == core.Rejected:
		return reading{}, errUnsupported
	case err != nil:
		return reading{}, err
	}
	results, err := evmabi.DecodeList(output, 1)
	if err != nil || len(results) != len(packed) {
		return reading{}, errUnsupported
	}
	answers := make([]answer, len(results))
	for i, r := range results {
		answers[i].data = r.Content
		if !isWord(r.Words, 1) {
			answers[i].err = errReverted
		}
	}
	var where [3]*big.Int
	for i := range where {
		if where[i], err = decodeUint256(answers[i].data); err != nil {
			return reading{}, errUnsupported
		}
	}
	if !where[1].IsUint64() {
		return reading{}, errUnsupported
	}
	at := block{number: where[1].Uint64(), timestamp: where[2]}
	return reading{chainID: where[0], block: at, answers: answers[len(where):]}, nil
}

// readPinned makes the calls as JSON-RPC calls of their own, with the chain's
// id among them, all at the block that the node says is its newest.
func (c *Client) readPinned(ctx context.Context, calls []call) (reading, error) {
	newest, err := c.newestBlock(ctx)
	if err != nil {
		return reading{}, err
	}
	var id hexutil.Big
	elems := []rpc.BatchElem{{Method: "eth_chainId", Result: &id}}
	results := make([]hexutil.Bytes, len(calls))
	for i, call := range calls {
		elems = append(elems, rpc.BatchElem{
			Method: "eth_call",
			Args:   []any{call.params(), hexutil.Uint64(newest.number)},
			Result: &results[i],
		})
	}
	if err := c.sendAll(ctx, elems); err != nil {
		return reading{}, err
	}
	if err := elems[0].Error; err != nil {
		return reading{}, err
	}
	r := reading{chainID: id.ToInt(), block: newest}
	for i := range calls {
		err := elems[i+1].Error
		if err != nil && failure(err) == errUnknownBlock {
			return reading{}, errUnknownBlock
		}
		r.answers = append(r.answers, answer{data: results[i], err: err})
	}
	return r, nil
}

// newestBlock is the one that the node says is its newest. It asks for the
// block's header rather than for eth_blockNumber, which has no time.
func (c *Client) newestBlock(ctx context.Context) (block, error) {
	var header struct {
		Number    *hexutil.Big `json:"number"`
		Timestamp *hexutil.Big `json:"timestamp"`
	}
	if err := c.rpc.CallContext(ctx, &header, "eth_getBlockByNumber", "latest", false); err != nil {
		return block{}, err
	}
	if header.Number == nil || !header.Number.ToInt().IsUint64() {
		return block{}, errNotBlock
	}
	return block{number: header.Number.ToInt().Uint64(), timestamp: (*big.Int)(header.Timestamp)}, nil
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
