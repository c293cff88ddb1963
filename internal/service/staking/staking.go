// Package staking reads what a wallet has in the staking pools, by JSON-RPC.
//
// All amounts of an answer are from one recent block of the configured chain. The pools
// are read through Multicall3, else in one JSON-RPC batch, else one by one. A core.Stake
// lists the unread pools; they never count as a stake of zero.
//
// Only http and https are allowed: go-ethereum's WebSockets have neither time limits nor bounds
// on answers. Calls go through go-ethereum's client; strictTransport adds the checks that
// this client lacks.
package staking

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
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
// through Multicall3, in hexadecimal, and each withdrawal 128 more. One answer therefore holds
// some 8,000 withdrawals; a pool with more for one wallet counts as unread.
const maxBody = 1 << 20

// maxPingTTL is how long an answer to Ping is cached at most.
const maxPingTTL = 15 * time.Second

// anyWallet is the wallet that Ping and Probe ask for. Some contracts refuse the zero
// address.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// Client reads the pools.
type Client struct {
	*query.Upstream
	// Stakes returns a wallet's stake in all pools, at the node's newest block. It fails if the
	// node is of another chain, if the block is older than MaxBlockAge, or if no pool could be
	// read.
	//
	// A fetch takes one HTTP round trip through Multicall3, and two by batch. With ClaimBlocks
	// the chain's pace takes two or three more: once an hour, and until the node tells it. A
	// Multicall3 that failed is not used again for 5 minutes.
	Stakes *query.Query[common.Address, core.Stake]
	// Ping returns the stake of anyWallet, which may be incomplete.
	Ping *query.Query[struct{}, core.Stake]

	settings Settings
	rpc      *rpcClient
	unread   func(core.Pool)
	// pace is the time between two blocks as contracts count them; noPace, or 0 for unknown.
	pace *query.Query[struct{}, time.Duration]
	// noMulticallUntil is when Multicall3 is used again, in Unix nanoseconds.
	noMulticallUntil atomic.Int64
}

// New returns a Client without contacting the node. Each reading of a stake calls unread once
// for each pool that it could not read wholly; unread must not block.
func New(s Settings, cache *query.Cache, unread func(core.Pool)) (*Client, error) {
	httpClient := transport.New(transport.Options{Timeout: cache.CallTimeout, MaxBody: maxBody, MaxConns: query.MaxCalls})
	node, err := newRPCClient(s.RPCURL.Reveal(), httpClient)
	if err != nil {
		return nil, err
	}
	client := &Client{Upstream: query.NewUpstream(cache, Service, s.TTL, nil), settings: s, rpc: node, unread: unread}
	// An Upstream of its own: whoever waits for the pace holds a permit of the other, so with one
	// Upstream all of them could wait for ever. And a node that does not tell the pace still tells
	// stakes.
	client.pace = query.New(query.NewUpstream(cache, Service, s.TTL, nil), query.Config[struct{}, time.Duration]{
		Name:      "pace",
		TTL:       paceTTL,
		Fetch:     client.measurePace,
		Cacheable: func(pace time.Duration) bool { return pace != 0 },
	})
	client.Stakes = query.New(client.Upstream, query.Config[common.Address, core.Stake]{
		Name:      "stake",
		TTL:       s.TTL,
		Fetch:     client.readStake,
		Cacheable: core.Stake.Complete,
	})
	client.Ping = query.New(client.Upstream, query.Config[struct{}, core.Stake]{
		Name:  "pools",
		TTL:   min(s.TTL, maxPingTTL),
		Fetch: func(ctx context.Context, _ struct{}) (core.Stake, error) { return client.readStake(ctx, anyWallet) },
	})
	return client, nil
}

// Total returns the source of what all wallets together have staked, fresh for ttl. It
// returns nil without a TotalMethod. An answer may be incomplete, and even have no pool: that
// is no failure of the service, because stakes can be read all the same.
func (c *Client) Total(ttl time.Duration) query.Source[struct{}, core.Stake] {
	if c.settings.TotalMethod == "" {
		return nil
	}
	// Cacheable is not set: a pool without the method would cause a call for each question.
	return query.New(c.Upstream, query.Config[struct{}, core.Stake]{
		Name:  "total_stake",
		TTL:   ttl,
		Fetch: c.readTotal,
	})
}

// callsOf returns a call of a method for each pool, with the wallet as its argument if it
// has one. It returns nil for the method "".
func (c *Client) callsOf(method string, wallet common.Address) (calls []ethCall) {
	if method == "" {
		return nil
	}
	input := evmabi.Selector(method)
	if strings.HasSuffix(method, "(address)") {
		input = append(input, evmabi.Address(wallet)...)
	}
	for _, p := range c.settings.Pools {
		calls = append(calls, ethCall{to: p.Address, input: input})
	}
	return calls
}

// readStake returns the wallet's stake in each pool and, with a PendingMethod, the
// withdrawals from each. It fails if no pool could be read.
func (c *Client) readStake(ctx context.Context, wallet common.Address) (core.Stake, error) {
	return c.readPools(ctx, wallet, c.settings.Method, c.settings.PendingMethod)
}

// readTotal returns what all wallets have staked in each pool, which may be in none. It
// returns the zero Stake without a TotalMethod.
func (c *Client) readTotal(ctx context.Context, _ struct{}) (core.Stake, error) {
	if c.settings.TotalMethod == "" {
		return core.Stake{}, nil
	}
	total, err := c.readPools(ctx, common.Address{}, c.settings.TotalMethod, "")
	if len(total.Failed) > 0 {
		err = nil // Stakes can be read all the same.
	}
	return total, err
}

// readPools returns what method and, unless it is empty, pendingMethod return for the wallet
// in each pool. If it fails because no pool could be read, the Stake has them as Failed.
func (c *Client) readPools(
	ctx context.Context, wallet common.Address, method, pendingMethod string,
) (core.Stake, error) {
	pools := c.settings.Pools
	calls := append(c.callsOf(method, wallet), c.callsOf(pendingMethod, wallet)...)
	at, err := c.read(ctx, calls)
	if err != nil {
		return core.Stake{}, failedTo("read the pools", err)
	}
	stake := c.stakeIn(calls, at)
	if pendingMethod != "" {
		c.addWithdrawals(ctx, &stake, at, calls[len(pools):])
	}
	for _, p := range stake.Unread() {
		c.unread(p.Pool)
	}
	return stake, errIfUnread(stake)
}

// stakeIn returns the stake in the results of calls, one for each pool, made at a block.
func (c *Client) stakeIn(calls []ethCall, at block) core.Stake {
	stake := core.Stake{Block: at.knownHeight(), BlockTime: at.time()}
	for i, pool := range c.settings.Pools {
		amount, err := calls[i].tokens(c.settings.Decimals)
		if err != nil {
			stake.Failed = append(stake.Failed, core.UnreadPool{Pool: pool, Err: failure(err)})
		}
		stake.Staked = appendAmount(stake.Staked, pool, amount)
	}
	stake.Checked = len(c.settings.Pools) - len(stake.Failed)
	return stake
}

// errIfUnread returns an error if none of the stake's pools could be read, and nil otherwise.
func errIfUnread(stake core.Stake) error {
	if stake.Checked == 0 {
		return poolFailedTo("read any of the pools", stake.Failed[0])
	}
	return nil
}

// poolFailedTo returns why a pool could not be read, with what was attempted.
func poolFailedTo(attempt string, pool core.UnreadPool) *core.Error {
	failed := pool.Err.During(attempt)
	failed.Asked = "eth_call"
	return failed
}

// appendAmount appends an amount unless it is zero.
func appendAmount(list []core.PoolAmount, pool core.Pool, amount decimal.Decimal) []core.PoolAmount {
	if amount.IsZero() {
		return list
	}
	return append(list, core.PoolAmount{Pool: pool, Amount: amount})
}
