package staking

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"golang.org/x/sync/errgroup"

	"herald/internal/core"
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

// read makes the calls in the best way that works, and fails if verify does.
func (c *Client) read(ctx context.Context, calls []call) (reading, error) {
	if c.multicall != nil && !c.noMulticall.active() {
		r, err := c.aggregate(ctx, calls)
		if err == nil {
			err = c.verify(r, &c.seenByContract)
		}
		if !errors.Is(err, errUnfit) {
			return r, err
		}
		c.noMulticall.start()
	}
	r, err := c.readPinned(ctx, calls)
	if err == nil {
		err = c.verify(r, &c.seenByNode)
	}
	return r, err
}

// verify refuses answers of another chain, of a block that is too old, or of
// one far behind seen.
func (c *Client) verify(r reading, seen *head) error {
	if err := c.sameChain(r.chainID); err != nil {
		return err
	}
	if err := c.recent(r.block); err != nil {
		return err
	}
	return seen.advance(r.block.number)
}

func (c *Client) sameChain(id *big.Int) error {
	if id.Cmp(new(big.Int).SetUint64(c.chainID)) != 0 {
		return malformed(fmt.Sprintf("the node is of chain %d, but chain %d is configured", id, c.chainID))
	}
	return nil
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
			Args:   []any{call.params(), (*hexutil.Big)(newest.number)},
			Result: &results[i],
		})
	}
	if err := c.sendAll(ctx, elems); err != nil {
		return reading{}, err
	}
	if err := elems[0].Error; err != nil {
		return reading{}, err
	}
	r := reading{chainID: id.ToInt(), block: newest, answers: make([]answer, len(calls))}
	for i := range calls {
		r.answers[i] = answer{data: results[i], err: elems[i+1].Error}
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
	if header.Number == nil {
		return block{}, errNotBlock
	}
	return block{header.Number.ToInt(), (*big.Int)(header.Timestamp)}, nil
}

// sendAll sends the elements as one batch, or one by one where batches do not
// work. Errors of single elements are left in them.
func (c *Client) sendAll(ctx context.Context, elems []rpc.BatchElem) error {
	if !c.noBatch.active() {
		err := c.sendBatch(ctx, elems)
		if !errors.Is(err, errUnfit) {
			return err
		}
		c.noBatch.start()
	}
	c.sendEach(ctx, elems)
	return nil
}

// sendBatch fails with errUnfit if the node does not answer batches, or not
// every element of this one.
func (c *Client) sendBatch(ctx context.Context, elems []rpc.BatchElem) error {
	err := c.rpc.BatchCallContext(ctx, elems)
	if errors.Is(err, errMismatch) || err != nil && failure(err).Reason == core.Rejected {
		return errUnfit
	}
	if err != nil {
		return err
	}
	for _, e := range elems {
		if errors.Is(e.Error, rpc.ErrMissingBatchResponse) {
			return errUnfit
		}
	}
	return nil
}

// sendEach sends the elements one by one, some at a time. Once the node refuses
// to be asked, it is not asked for the rest.
func (c *Client) sendEach(ctx context.Context, elems []rpc.BatchElem) {
	var refusal atomic.Pointer[error]
	var group errgroup.Group
	group.SetLimit(c.parallel)
	for i := range elems {
		e := &elems[i]
		if err := refusal.Load(); err != nil {
			e.Error = *err
			continue
		}
		group.Go(func() error {
			e.Error = c.rpc.CallContext(ctx, e.Result, e.Method, e.Args...)
			if e.Error == nil {
				return nil
			}
			if r := failure(e.Error).Reason; r == core.Limited || r == core.Denied {
				refusal.Store(&e.Error)
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return no errors
}
