// Package staking reads a wallet's stakes in the staking pools, by JSON-RPC over HTTP.
//
// All amounts of an answer are from one recent block of the configured chain. The pools are read through Multicall3, or
// else in one JSON-RPC batch, or else one by one. A core.Stake lists the pools that could not be read; they never count
// as a stake of zero.
//
// The words of the package:
//
//   - A stake is what a wallet has in the pools. The total is what all wallets have there.
//   - A withdrawal is an amount that a wallet has unstaked and not yet taken out. It is unbonding for ClaimBlocks
//     blocks from its own block, and withdrawable from then on.
//   - A pool is unread if it gave no possible answer.
//   - A block's number is in its header. Its height is the number that contracts read; on some rollups it differs.
//   - The interval is the average time between two blocks.
//
// The files, in reading order: staking.go (the client, and a wallet's stake), read.go (calls of contracts at one
// block), block.go (a block, and whether the node is the right one), withdrawals.go and interval.go (withdrawals,
// and when they can be made), values.go (the results of contracts), batch.go (many wallets at once), jsonrpc.go and
// rpcerror.go (the protocol), probe.go (`bot check`), settings.go.
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

// maxBody is the maximum size of an answer of the node, in bytes. Through Multicall3, each pool takes less than 500
// bytes in hexadecimal, and each withdrawal 128 bytes. So an answer holds about 8,000 withdrawals. A pool that has
// more for one wallet counts as unread.
const maxBody = 1 << 20

// maxPingTTL is the maximum time for which an answer to Ping is cached.
const maxPingTTL = 15 * time.Second

// anyWallet is the wallet that Ping and Probe ask for. Some contracts refuse the zero address.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// Client reads the pools.
type Client struct {
	*query.Upstream
	// Stakes returns a wallet's stake in all pools, at the node's newest block. It fails if the node is a node of another
	// chain, if the block is older than MaxBlockAge, or if no pool could be read.
	//
	// A fetch takes one HTTP round trip through Multicall3, or two by batch. If ClaimBlocks is set, the block interval
	// takes two or three more: once an hour, and each time until it is known. After Multicall3 failed, it is not used
	// for 5 minutes.
	Stakes *query.Query[common.Address, core.Stake]
	// Ping returns the stake of anyWallet, which may be incomplete.
	Ping *query.Query[struct{}, core.Stake]

	settings Settings
	rpc      *rpcClient
	// countUnread is called for each pool that could not be read completely.
	countUnread func(core.Pool)
	// blockInterval measures the time between two blocks.
	blockInterval *query.Query[struct{}, interval]
	// noMulticallUntil is when Multicall3 may be used again, in Unix nanoseconds.
	noMulticallUntil atomic.Int64
}

// New returns a Client. It does not contact the node. Each time that a stake is read, the Client calls countUnread once
// for each pool that it could not read completely. countUnread must not block.
func New(s Settings, cache *query.Cache, countUnread func(core.Pool)) (*Client, error) {
	httpClient := transport.New(transport.Options{Timeout: cache.CallTimeout, MaxBody: maxBody, MaxConns: query.MaxCalls})
	node, err := newRPCClient(s.RPCURL.Reveal(), httpClient)
	if err != nil {
		return nil, err
	}
	client := &Client{
		Upstream:    query.NewUpstream(cache, Service, s.TTL, nil),
		settings:    s,
		rpc:         node,
		countUnread: countUnread,
	}
	// The interval has its own Upstream. A caller that waits for the interval already holds a permit of client.Upstream,
	// so if the interval needed one, too, all callers could wait for ever. And a node that cannot report the interval can
	// still report stakes.
	client.blockInterval = query.New(query.NewUpstream(cache, Service, s.TTL, nil), query.Config[struct{}, interval]{
		Name:      "pace", // as the metrics call it
		TTL:       intervalTTL,
		Fetch:     client.measureInterval,
		Cacheable: interval.isCacheable,
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

// Total returns a source of the stakes of all wallets together, or nil if TotalMethod is not set. Its answers are fresh
// for ttl. An answer may be incomplete, or have no pool at all. That is not a failure of the service, because wallets'
// stakes can still be read.
func (c *Client) Total(ttl time.Duration) query.Source[struct{}, core.Stake] {
	if c.settings.TotalMethod == "" {
		return nil
	}
	// No Cacheable: incomplete answers are cached, too. Otherwise a pool without the method would cause a call for each
	// question.
	return query.New(c.Upstream, query.Config[struct{}, core.Stake]{
		Name:  "total_stake",
		TTL:   ttl,
		Fetch: c.readTotal,
	})
}

// noMethod is the method of callsOf and readPools that makes no call.
const noMethod = ""

// callsOf returns a call of a method for each pool, or nil for noMethod. The wallet is the argument if the method has
// one.
func (c *Client) callsOf(method string, wallet common.Address) (calls []ethCall) {
	if method == noMethod {
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

// readStake returns the wallet's stake in each pool and, if PendingMethod is set, its withdrawals from each. It fails
// if no pool could be read.
func (c *Client) readStake(ctx context.Context, wallet common.Address) (core.Stake, error) {
	return c.readPools(ctx, wallet, c.settings.Method, c.settings.PendingMethod)
}

// readTotal returns the stakes of all wallets in each pool. It does not fail if no pool could be read. It returns the
// zero Stake if TotalMethod is not set.
func (c *Client) readTotal(ctx context.Context, _ struct{}) (core.Stake, error) {
	if c.settings.TotalMethod == noMethod {
		return core.Stake{}, nil
	}
	noWallet := common.Address{} // The method has no argument.
	total, err := c.readPools(ctx, noWallet, c.settings.TotalMethod, noMethod)
	if len(total.Failed) > 0 {
		return total, nil
	}
	return total, err
}

// readPools calls method and pendingMethod in each pool, and returns their results for the wallet. pendingMethod may be
// noMethod. If readPools fails because no pool could be read, it still returns a Stake with all pools in Failed.
func (c *Client) readPools(
	ctx context.Context, wallet common.Address, method, pendingMethod string,
) (core.Stake, error) {
	pools := c.settings.Pools
	calls := append(c.callsOf(method, wallet), c.callsOf(pendingMethod, wallet)...)
	at, err := c.read(ctx, calls)
	if err != nil {
		return core.Stake{}, during("read the pools", err)
	}
	stake := c.stakeIn(calls, at)
	if pendingMethod != noMethod {
		c.addWithdrawals(ctx, &stake, at, calls[len(pools):])
	}
	for _, p := range stake.Unread() {
		c.countUnread(p.Pool)
	}
	return stake, errIfUnread(stake)
}

// stakeIn returns the stake in the results of calls, one for each pool, that were made at a block.
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
		return duringPoolCall("read any of the pools", stake.Failed[0])
	}
	return nil
}

// duringPoolCall returns the error of an attempt that failed because a pool could not be read.
func duringPoolCall(attempt string, pool core.UnreadPool) *core.Error {
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
