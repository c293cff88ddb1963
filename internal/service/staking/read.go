package staking

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

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

// cooldown is how long Multicall3 is not used after the node refused it.
const cooldown = 5 * time.Minute

// usesMulticall reports whether Multicall3 is on, and was not refused within cooldown.
func (c *Client) usesMulticall() bool {
	return c.settings.Multicall != nil && time.Now().UnixNano() >= c.noMulticallUntil.Load()
}

// read makes all calls at one block, and returns that block: through Multicall3, or by
// readPinned if Multicall3 is off or fails, or if its result is larger than maxBody. read
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
	case errors.Is(err, transport.ErrBodyTooLarge):
		return c.readPinned(ctx, calls)
	}
	return at, err
}

var aggregate3 = evmabi.Selector("aggregate3((address,bool,bytes)[])")

// blockMethods are methods of Multicall3 itself; blockOf makes a block of their results.
var blockMethods = []string{"getChainId()", "getBlockNumber()", "getCurrentBlockTimestamp()"}

// aggregate makes all calls in one eth_call to Multicall3, and sets their results. The
// same eth_call asks for the chain and the block, because a load balancer may pass another
// request to another node. aggregate fails with errUnsupported if the node cannot make
// the eth_call, and as verify does.
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

// blockOf returns the block in the results of blockMethods, which come first.
func blockOf(results []evmabi.Tuple) (block, error) {
	var numbers []*hexutil.Big
	for i := range blockMethods {
		n, err := decodeUint256(results[i].Content)
		if err != nil {
			return block{}, errUnsupported
		}
		numbers = append(numbers, (*hexutil.Big)(n))
	}
	return block{chainID: numbers[0].ToInt(), Number: numbers[1], Timestamp: numbers[2]}, nil
}

// readPinned makes each call as an eth_call of its own, at the node's newest block, and
// sets its result. It also asks for the chain's ID. It reads the block's header, because
// eth_blockNumber does not return the block's time. It fails as verify does, and then still
// returns the block.
func (c *Client) readPinned(ctx context.Context, calls []ethCall) (at block, err error) {
	if err := c.rpc.CallContext(ctx, &at, "eth_getBlockByNumber", "latest", false); err != nil {
		return block{}, err
	}
	if at.Number == nil {
		return block{}, errNotBlock
	}
	var id hexutil.Big
	elems := []rpc.BatchElem{{Method: "eth_chainId", Result: &id}}
	for i, call := range calls {
		args := []any{call.params(), at.Number}
		elems = append(elems, rpc.BatchElem{Method: "eth_call", Args: args, Result: &calls[i].data})
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
	at.chainID, at.pinned = id.ToInt(), true
	return at, c.verify(at)
}

// sendAll sends the elements as one batch. If the node refuses the batch, answers only a
// part of it, or answers more than maxBody, sendAll sends them one by one. An element holds
// its own error.
func (c *Client) sendAll(ctx context.Context, elems []rpc.BatchElem) error {
	err := c.rpc.BatchCallContext(ctx, elems)
	unanswered := func(e rpc.BatchElem) bool { return errors.Is(e.Error, rpc.ErrMissingBatchResponse) }
	switch {
	case err == nil && !slices.ContainsFunc(elems, unanswered):
		return nil
	case err == nil, errors.Is(err, errMismatch), errors.Is(err, transport.ErrBodyTooLarge), failure(err).Reason == core.Rejected:
		c.sendEach(ctx, elems)
		return nil
	}
	return err
}

// sendEach sends each element as a request of its own. It blocks until all are answered. An element holds its own error.
func (c *Client) sendEach(ctx context.Context, elems []rpc.BatchElem) {
	var asking sync.WaitGroup
	for i := range elems {
		e := &elems[i]
		asking.Go(func() { e.Error = c.rpc.CallContext(ctx, e.Result, e.Method, e.Args...) })
	}
	asking.Wait()
}

// Found is the result of Probe. Probe fills it in this order, up to its failure.
type Found struct {
	ChainID *big.Int // the node's; nil if unknown
	Block   uint64   // the number of the node's newest block
	// BlockTime is the time of that block; zero if implausible.
	BlockTime time.Time
	// Deployed counts the pools with code, and Missing the others; both are 0 if unknown.
	Deployed, Missing int
	// Way says for operators how the pools are read; empty if unknown.
	Way string
	// Pending is the withdrawal with the latest block of the wallet that Probe is given, and
	// ReadAt the number of the block that has it. An Amount of zero means that nothing is
	// pending. Pending is nil without a wallet, without a PendingMethod, and if unknown.
	Pending *Withdrawal
	ReadAt  uint64
}

// Probe asks the node, past the cache, for its chain's ID and newest block, for the code
// at every pool's address, and for a stake; then for the withdrawals of wallet, unless that is
// empty. It fails if the chain is another, if the block is too old, or if a pool has no code
// or does not answer the methods.
func (c *Client) Probe(ctx context.Context, wallet string) (found Found, err error) {
	newest, err := c.readPinned(ctx, nil)
	if number := newest.Number; number != nil && number.ToInt().IsUint64() {
		found = Found{ChainID: newest.chainID, Block: number.ToInt().Uint64(), BlockTime: newest.time()}
	}
	if err != nil {
		return found, failure(err).During("check the chain")
	}
	missing, err := c.withoutCode(ctx)
	if err != nil {
		return found, err
	}
	found.Missing, found.Deployed = len(missing), len(c.settings.Pools)-len(missing)
	if len(missing) > 0 {
		return found, fmt.Errorf("no contract at %s", addresses(missing))
	}
	found.Way, err = c.probePools(ctx)
	if asked, invalid := core.ParseWallet(wallet); err == nil && invalid == nil && c.settings.PendingMethod != "" {
		found.Pending, found.ReadAt, err = c.latestWithdrawal(ctx, asked)
	}
	return found, err
}

// probePools returns how the pools are read. It fails if a pool does not answer the methods.
func (c *Client) probePools(ctx context.Context) (way string, err error) {
	stake, err := c.readStake(ctx, anyWallet)
	if err != nil {
		return "", err
	}
	total, err := c.readTotal(ctx, struct{}{})
	if err != nil {
		return "", err
	}
	way = "Multicall3 reads them in one call"
	if !c.usesMulticall() {
		way = "Multicall3 is off or does not work, so they are read by JSON-RPC batch"
	}
	switch {
	case len(stake.Failed) > 0:
		return way, fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(stake.Failed))
	case len(stake.UnbondingFailed) > 0:
		return way, fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(stake.UnbondingFailed))
	case len(total.Failed) > 0:
		return way, fmt.Errorf("STAKING_TOTAL_METHOD is not answered by %s", addresses(total.Failed))
	}
	return way, nil
}

// withoutCode returns the pools without code. It sends no batch, because the code of all
// pools may be larger than maxBody.
func (c *Client) withoutCode(ctx context.Context) (missing []core.UnreadPool, err error) {
	pools := c.settings.Pools
	code := make([]hexutil.Bytes, len(pools))
	elems := make([]rpc.BatchElem, len(pools))
	for i, p := range pools {
		elems[i] = rpc.BatchElem{Method: "eth_getCode", Args: []any{p.Address, "latest"}, Result: &code[i]}
	}
	c.sendEach(ctx, elems)
	for i, e := range elems {
		if e.Error != nil {
			return nil, failure(e.Error).During("look for the contracts")
		}
		if len(code[i]) == 0 {
			missing = append(missing, core.UnreadPool{Pool: pools[i], Err: errNoData})
		}
	}
	return missing, nil
}

func addresses(pools []core.UnreadPool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Pool.Address.Hex())
	}
	return strings.Join(list, ", ")
}
