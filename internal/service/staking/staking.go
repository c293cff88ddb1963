// Package staking reads what a wallet has in the staking pools, by JSON-RPC.
//
// All amounts of an answer are from one recent block of the configured chain. The pools
// are read through Multicall3, else in one JSON-RPC batch, else one by one. A core.Stake
// lists the unread pools; they never count as a stake of zero.
//
// Only http and https work: go-ethereum's WebSockets have neither time limits nor bounds
// on answers. Calls go through go-ethereum's client; strictTransport adds the checks that
// this client lacks.
package staking

import (
	"context"
	"errors"
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
		core.Denied:      "EVM_RPC_URL and the key in it",
		core.Rejected:    "STAKING_METHOD and EVM_RPC_URL",
		core.Malformed:   "EVM_CHAIN_ID and EVM_RPC_URL",
		core.Behind:      "EVM_RPC_URL, MAX_BLOCK_AGE and this machine's clock",
	},
}

// maxBody bounds an answer of the node, in bytes. One pool takes under 500 bytes of it
// through Multicall3, in hexadecimal, and each withdrawal 128 more.
const maxBody = 1 << 20

// maxPingTTL is how long an answer to Ping is cached at most.
const maxPingTTL = 15 * time.Second

// anyWallet is the wallet that Ping and Probe ask for. Some contracts refuse the zero
// address.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// Client reads the pools. Its Upstream's Ping reads them for anyWallet and returns a
// core.Stake, which may be incomplete.
type Client struct {
	*core.Upstream
	// Stakes returns a wallet's stake in all pools, at the node's newest block. Through
	// Multicall3 the block's number is the one that contracts see; on some rollups this is
	// the L1 block number. Stakes fails if the node is of another chain, if the block is
	// older than MaxBlockAge, or if no pool could be read.
	//
	// A fetch takes one HTTP round trip through Multicall3, and two by batch. Multicall3 or
	// batches that a node refused are not used again for 5 minutes.
	Stakes *core.Query[common.Address, core.Stake]

	settings Settings
	rpc      *rpc.Client
	unread   func(core.Pool)

	noMulticall cooldown // active after the node refused Multicall3
	noBatch     cooldown // active after the node refused a batch
}

// New returns a Client without contacting the node. Each fetch calls unread once for each
// pool that it could not read wholly; unread must not block.
func New(s Settings, cache *core.Cache, unread func(core.Pool)) (*Client, error) {
	httpClient := transport.New(transport.Options{Timeout: cache.CallTimeout, MaxBody: maxBody, MaxConns: core.MaxCalls})
	httpClient.Transport = strictTransport{next: httpClient.Transport}
	node, err := rpc.DialOptions(context.Background(), s.RPCURL.Reveal(), rpc.WithHTTPClient(httpClient))
	if err != nil {
		return nil, errors.New("the endpoint of the chain cannot be used")
	}
	client := &Client{Upstream: core.NewUpstream(cache, Service, s.TTL, nil), settings: s, rpc: node, unread: unread}
	client.Stakes = core.NewQuery(client.Upstream, &core.Query[common.Address, core.Stake]{
		Name: "stake", TTL: s.TTL, Fetch: client.readStake, Cacheable: core.Stake.Complete,
	})
	core.PingWith(client.Upstream, core.NewQuery(client.Upstream, &core.Query[struct{}, core.Stake]{
		Name: "pools", TTL: min(s.TTL, maxPingTTL),
		Fetch: func(ctx context.Context, _ struct{}) (core.Stake, error) { return client.readStake(ctx, anyWallet) },
	}))
	return client, nil
}

// readStake returns the wallet's stake in each pool and, with a PendingMethod, the
// withdrawals from each. It fails if no pool could be read.
func (c *Client) readStake(ctx context.Context, wallet common.Address) (core.Stake, error) {
	pools := c.settings.Pools
	var calls []call // the stake in each pool, then the withdrawals from each
	for _, method := range []string{c.settings.Method, c.settings.PendingMethod} {
		if method == "" {
			continue
		}
		input := append(evmabi.Selector(method), evmabi.Address(wallet)...)
		for _, p := range pools {
			calls = append(calls, call{to: p.Address, input: input})
		}
	}
	at, err := c.read(ctx, calls)
	if err != nil {
		return core.Stake{}, failure(err).During("read the pools")
	}
	stake := core.Stake{Block: at.Number.ToInt().Uint64(), BlockTime: at.time()}
	stake.Staked, stake.Failed = c.amounts(calls[:len(pools)], decodeUint256)
	stake.Checked = len(pools) - len(stake.Failed)
	if withdrawals := calls[len(pools):]; len(withdrawals) > 0 {
		stake.Unbonding, stake.UnbondingFailed = c.amounts(withdrawals, decodeWithdrawals)
	}
	for _, p := range stake.Unread() {
		c.unread(p.Pool)
	}
	if stake.Checked == 0 {
		return core.Stake{}, stake.Failed[0].Err.During("read any of the pools")
	}
	return stake, nil
}

// amounts decodes the results of calls, one for each pool. It returns the pools with an
// amount above zero and the unread pools.
func (c *Client) amounts(calls []call, decode decoder) (found []core.PoolAmount, unread []core.UnreadPool) {
	for i, pool := range c.settings.Pools {
		amount, err := calls[i].tokens(decode, int32(c.settings.Decimals))
		switch {
		case err != nil:
			unread = append(unread, core.UnreadPool{Pool: pool, Err: failure(err)})
		case amount.IsPositive():
			found = append(found, core.PoolAmount{Pool: pool, Amount: amount})
		}
	}
	return found, unread
}
