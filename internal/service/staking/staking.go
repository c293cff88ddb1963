// Package staking reads what a wallet has in the staking pools, by JSON-RPC.
//
// One answer is of one recent block and of one chain, or there is none. In order
// of preference the pools are read through Multicall3, in one JSON-RPC batch, or
// one by one; the last two are pinned to a block number. A pool that could not
// be read is named as such, and never counts as a stake of zero.
//
// The package speaks http and https only, because neither the time limits nor
// the bounds on answers that hold there hold for go-ethereum's WebSockets. The
// client is go-ethereum's; what it does not check of an answer is checked below
// it, in strictTransport.
package staking

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
	"herald/internal/transport"
)

// Service is the chain with the pools.
var Service = &core.Service{
	Name:  "chain",
	Title: "staking pools",
	Settings: map[core.Reason]string{
		"":               "STAKING_POOLS and EVM_RPC_URL",
		core.Unreachable: "EVM_RPC_URL",
		core.SlowAnswer:  "EVM_RPC_URL",
		core.Limited:     "EVM_RPC_URL",
		core.Denied:      "the key in EVM_RPC_URL",
		core.Rejected:    "STAKING_METHOD and EVM_RPC_URL",
		core.Malformed:   "EVM_CHAIN_ID and EVM_RPC_URL",
		core.Behind:      "EVM_RPC_URL, MAX_BLOCK_AGE and this machine's clock",
	},
}

// maxBody bounds an answer of the node. Through Multicall3 a pool takes under
// 500 bytes of hexadecimal, and 128 more for each withdrawal.
const maxBody = 1 << 20

// poolsTTL is how long an answer of Pools is kept, so that whoever asks for it
// over and over costs the node four readings a minute at most.
const poolsTTL = 15 * time.Second

// Client reads the pools.
type Client struct {
	// Stakes are what wallets have in all pools, at one block: the newest that
	// the node knows. Through Multicall3 its number is the one that contracts
	// see, which on some rollups is that of the chain below. It fails, among
	// other reasons, if the node is of another chain, if the block is older than
	// MaxBlockAge, if it lags more than 32 blocks behind what was seen in the
	// last 10 minutes, or if no pool at all could be read.
	//
	// Through Multicall3 it takes one HTTP round trip, by batch two, the first
	// of which pins the block. What turns out not to work is not tried again
	// for 5 minutes.
	Stakes *core.Cached[common.Address, core.Stake]
	// Pools are the pools as read for a wallet that means nothing: by the same
	// way as Stakes, and failing like it. An answer is kept for 15 s at most, also
	// one that is not whole.
	Pools *core.Cached[struct{}, core.Stake]

	rpc         *rpc.Client
	chainID     uint64
	pools       []core.Pool
	methods     [][]byte // selectors of Method and, if set, PendingMethod
	multicall   *common.Address
	maxBlockAge time.Duration
	decimals    int32
	parallel    int // calls at a time when pools are read one by one

	// unread is told of each pool of which something could not be read.
	unread func(core.Pool)

	noMulticall cooldown
	noBatch     cooldown
	// Two heads, because on some rollups contracts see the block number of the
	// chain below (https://docs.arbitrum.io/time), and the node says its own.
	seenByContract head
	seenByNode     head
}

// New makes a Client. It asks nothing. unread is called for each pool that
// could not be read, or not wholly, each time; it must not block.
func New(s Settings, c *core.Cache, unread func(core.Pool)) (*Client, error) {
	httpClient := transport.New(transport.Options{Timeout: c.CallTimeout, MaxBody: maxBody, MaxConns: core.MaxCalls})
	httpClient.Transport = strictTransport{httpClient.Transport}
	client, err := rpc.DialOptions(context.Background(), s.RPCURL.Reveal(), rpc.WithHTTPClient(httpClient))
	if err != nil {
		return nil, errors.New("the endpoint of the chain cannot be used")
	}
	p := &Client{
		rpc:         client,
		chainID:     s.ChainID,
		pools:       s.Pools,
		methods:     [][]byte{evmabi.Selector(s.Method)},
		multicall:   s.Multicall,
		maxBlockAge: s.MaxBlockAge,
		decimals:    int32(s.Decimals),
		parallel:    core.MaxCalls,
		unread:      unread,
	}
	if s.PendingMethod != "" {
		p.methods = append(p.methods, evmabi.Selector(s.PendingMethod))
	}
	breaker := core.NewBreaker(c, Service, s.TTL, nil)
	p.Stakes = core.NewCached(breaker, core.Query[common.Address, core.Stake]{
		Name: "stake", TTL: s.TTL, Fetch: p.readStake, Cacheable: core.Stake.Complete, Clone: core.Stake.Clone,
	})
	p.Pools = core.NewCached(breaker, core.Query[struct{}, core.Stake]{
		Name: "pools", TTL: min(s.TTL, poolsTTL), Clone: core.Stake.Clone,
		Fetch: func(ctx context.Context, _ struct{}) (core.Stake, error) { return p.readStake(ctx, anyWallet) },
	})
	return p, nil
}

func (c *Client) readStake(ctx context.Context, wallet common.Address) (core.Stake, error) {
	r, err := c.read(ctx, c.calls(wallet))
	if err != nil {
		return core.Stake{}, failure(err).During("read the pools")
	}
	stake := c.stakeOf(r)
	for _, p := range stake.Unread() {
		c.unread(p.Pool)
	}
	if stake.Checked == 0 {
		return core.Stake{}, stake.Failed[0].Err.During("read any of the pools")
	}
	return stake, nil
}

// calls are those that one wallet takes: the stake in each pool, then, with a
// PendingMethod, the withdrawals from each.
func (c *Client) calls(wallet common.Address) []call {
	argument := evmabi.Address(wallet)
	var calls []call
	for _, method := range c.methods {
		data := slices.Concat(method, argument)
		for _, p := range c.pools {
			calls = append(calls, call{to: p.Address, data: data})
		}
	}
	return calls
}

// stakeOf makes a Stake of the answers to calls.
func (c *Client) stakeOf(r reading) (stake core.Stake) {
	stake.Block, stake.BlockTime = r.block.number.Uint64(), r.block.time()
	stake.Staked, stake.Failed = c.amounts(r.answers[:len(c.pools)], decodeUint256)
	stake.Checked = len(c.pools) - len(stake.Failed)
	if withdrawals := r.answers[len(c.pools):]; len(withdrawals) > 0 {
		stake.Unbonding, stake.UnbondingFailed = c.amounts(withdrawals, decodeWithdrawals)
	}
	return stake
}

// amounts are the pools with an amount above zero, and those that could not be
// read. There is one answer of each pool.
func (c *Client) amounts(answers []answer, decode decoder) (found []core.PoolAmount, unread []core.UnreadPool) {
	for i, pool := range c.pools {
		amount, err := answers[i].tokens(decode, c.decimals)
		switch {
		case err != nil:
			unread = append(unread, core.UnreadPool{Pool: pool, Err: failure(err)})
		case amount.IsPositive():
			found = append(found, core.PoolAmount{Pool: pool, Amount: amount})
		}
	}
	return found, unread
}
