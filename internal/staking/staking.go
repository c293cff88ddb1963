// Package staking reads what a wallet has in the staking pools, by JSON-RPC.
//
// One answer is of one block and of one chain, or there is none. In order of
// preference the pools are read through Multicall3, in one JSON-RPC batch, or
// one by one; the last two are pinned to a block number. A pool that could not
// be read is told as such, and never counts as a stake of zero.
//
// The package does not retry and does not cache what it read: the caller does.
// It speaks http and https only, because neither the time limits nor the
// bounds on answers that hold there hold for go-ethereum's WebSockets.
package staking

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/transport"
)

// maxBody bounds an answer of the node. Through Multicall3 a pool takes under
// 500 bytes of hexadecimal, and 128 more for each withdrawal.
const maxBody = 1 << 20

// Config says which pools are read, and where.
type Config struct {
	// RPCURL is the node's http or https endpoint. It may hold a key.
	RPCURL  string
	ChainID uint64
	Pools   []core.Pool
	// Method is the view method `name(address)` that answers a wallet's stake
	// as a uint256.
	Method string
	// PendingMethod is the view method `name(address)` that answers the stakes
	// being withdrawn as (uint256 amount,uint256 block)[]; empty: none is asked.
	PendingMethod string
	// Multicall is the address of Multicall3; nil: it is not used.
	Multicall *common.Address
	// Decimals is how many of a stake's digits are behind the point.
	Decimals int32
	// Timeout, above 0, bounds one Stake or Check as a whole.
	Timeout time.Duration
	// MaxConns bounds the connections to the node, and with them the calls
	// under way when pools are read one by one; at least 1.
	MaxConns int
}

// Client reads the pools. It is safe for concurrent use.
type Client struct {
	rpc       *rpc.Client
	chainID   uint64
	pools     []core.Pool
	stake     []byte // selector of Method
	pending   []byte // selector of PendingMethod; nil = not asked
	multicall *common.Address
	unit      unit
	timeout   time.Duration
	parallel  int

	chainKnown  atomic.Bool
	noMulticall lapse
	noBatch     lapse
	// Two heads, because on some rollups contracts see the block number of the
	// chain below (https://docs.arbitrum.io/time), and the node tells its own.
	seenByContract head
	seenByNode     head
}

// New makes a Client, without contacting the node. It fails if the endpoint is
// no http or https URL, or a method is not of the form name(address).
func New(cfg Config) (*Client, error) {
	if u, err := url.Parse(cfg.RPCURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the endpoint of the chain is not an http or https URL")
	}
	stake, err := selector(cfg.Method)
	if err != nil {
		return nil, err
	}
	var pending []byte
	if cfg.PendingMethod != "" {
		if pending, err = selector(cfg.PendingMethod); err != nil {
			return nil, err
		}
	}
	parallel := max(cfg.MaxConns, 1)
	httpClient := transport.New(transport.Options{MaxBody: maxBody, MaxConns: parallel})
	httpClient.Transport = envelope{httpClient.Transport}
	client, err := rpc.DialOptions(context.Background(), cfg.RPCURL, rpc.WithHTTPClient(httpClient))
	if err != nil {
		return nil, errors.New("the endpoint of the chain cannot be used")
	}
	return &Client{
		rpc:       client,
		chainID:   cfg.ChainID,
		pools:     cfg.Pools,
		stake:     stake,
		pending:   pending,
		multicall: cfg.Multicall,
		unit:      newUnit(cfg.Decimals),
		timeout:   cfg.Timeout,
		parallel:  parallel,
	}, nil
}

var methodForm = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*\(address\)$`)

// selector is what calls of the method begin with
// (https://docs.soliditylang.org/en/latest/abi-spec.html#function-selector).
func selector(method string) ([]byte, error) {
	if !methodForm.MatchString(method) {
		return nil, fmt.Errorf("the method %q is not of the form name(address)", method)
	}
	return crypto.Keccak256([]byte(method))[:4], nil
}

// Stake reads all pools for one wallet, at one block: the newest that the node
// knows. Through Multicall3 its number is the one that contracts see, which on
// some rollups is that of the chain below. Stake fails with a *core.Error of
// core.Chain: among others if the node is of another chain, if it lags more
// than 32 blocks behind what was seen in the last 10 minutes, or if no pool at
// all could be read.
//
// Through Multicall3 it takes one HTTP round trip, by batch two, the first of
// which pins the block; the very first Stake also asks for the chain's id. What
// turns out not to work there is not tried again for 5 minutes.
func (c *Client) Stake(ctx context.Context, wallet common.Address) (core.Stake, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.verifyChain(ctx); err != nil {
		return core.Stake{}, failure("check the chain", err)
	}
	r, err := c.read(ctx, c.calls(wallet))
	if err != nil {
		return core.Stake{}, failure("read the pools", err)
	}
	return c.assemble(r)
}

// verifyChain asks the node for its chain's id until it was right once; each
// reading carries a check of its own besides.
func (c *Client) verifyChain(ctx context.Context) error {
	if c.chainKnown.Load() {
		return nil
	}
	var id quantity
	if err := c.rpc.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return err
	}
	if err := c.sameChain(id.Int); err != nil {
		return err
	}
	c.chainKnown.Store(true)
	return nil
}

func (c *Client) sameChain(id *big.Int) error {
	if id.Cmp(new(big.Int).SetUint64(c.chainID)) != 0 {
		return &wrongChainError{got: id, want: c.chainID}
	}
	return nil
}

// calls are those that one wallet takes: the stake in each pool, then, if they
// are asked for, the withdrawals from each.
func (c *Client) calls(wallet common.Address) []call {
	argument := common.LeftPadBytes(wallet[:], 32)
	var calls []call
	for _, method := range [][]byte{c.stake, c.pending} {
		if method == nil {
			continue
		}
		data := slices.Concat(method, argument)
		for _, p := range c.pools {
			calls = append(calls, call{to: p.Address, data: data})
		}
	}
	return calls
}

// assemble turns the answers to calls into a Stake.
func (c *Client) assemble(r reading) (core.Stake, error) {
	stake := core.Stake{Block: r.block}
	var firstErr error
	for i, pool := range c.pools {
		amount, err := c.unit.tokens(r.answers[i].uint256())
		switch {
		case err != nil:
			stake.Failed = append(stake.Failed, pool)
			if firstErr == nil {
				firstErr = err
			}
			continue
		case amount.IsPositive():
			stake.Staked = append(stake.Staked, core.PoolAmount{Pool: pool, Amount: amount})
		}
		stake.Checked++
	}
	if stake.Checked == 0 && firstErr != nil {
		return core.Stake{}, failure("read any of the pools", firstErr)
	}
	if c.pending == nil {
		return stake, nil
	}
	for i, pool := range c.pools {
		amount, err := c.unit.tokens(r.answers[len(c.pools)+i].withdrawals())
		switch {
		case err != nil:
			stake.UnbondingFailed = append(stake.UnbondingFailed, pool)
		case amount.IsPositive():
			stake.Unbonding = append(stake.Unbonding, core.PoolAmount{Pool: pool, Amount: amount})
		}
	}
	return stake, nil
}
