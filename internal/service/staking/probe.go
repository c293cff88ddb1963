package staking

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
)

// Found is the result of Probe. If Probe fails, the fields that it has not yet set are zero.
type Found struct {
	ChainID *big.Int // the ID of the node's chain
	Block   uint64   // the number in the header of the node's newest block
	// Height is the number of that block as contracts read it. It is 0 if the node does not report it.
	Height uint64
	// BlockTime is the time of that block. It is zero if the node reports an impossible time.
	BlockTime time.Time
	// Missing is the number of pools without code.
	Missing int
	// Deployed is the number of pools with code.
	Deployed int
	// Way is a sentence for operators about how the pools are read.
	Way string
	// Pending is the wallet's withdrawal with the latest block. Its Amount is zero if the wallet has no withdrawals.
	// Pending is nil if Probe was given no wallet, or if PendingMethod is not set.
	Pending *Withdrawal
	// ReadAt is the Height of the block at which Pending was read.
	ReadAt uint64
}

// Probe asks the node, without the cache, for the ID and the newest block of its chain, for the code at every pool's
// address, and for a stake. If wallet is an address, it then asks for the wallet's withdrawals. It fails if verify
// refuses the block, and if a pool has no code or does not answer the methods.
func (c *Client) Probe(ctx context.Context, wallet string) (found Found, err error) {
	newest, err := c.readPinned(ctx, nil)
	if isReported := newest.Number != nil; isReported {
		found = Found{
			ChainID:   newest.chainID,
			Block:     newest.Number.toInt().Uint64(),
			Height:    newest.knownHeight(),
			BlockTime: newest.time(),
		}
	}
	if err != nil {
		return found, during("check the chain", err)
	}
	missing, err := c.withoutCode(ctx)
	if err != nil {
		return found, err
	}
	found.Missing = len(missing)
	found.Deployed = len(c.settings.Pools) - len(missing)
	if len(missing) > 0 {
		return found, fmt.Errorf("no contract at %s", addresses(missing))
	}
	found.Way, err = c.probePools(ctx)
	if err != nil || c.settings.PendingMethod == noMethod {
		return found, err
	}
	address, invalid := core.ParseWallet(wallet)
	if invalid != nil {
		return found, nil
	}
	found.Pending, found.ReadAt, err = c.latestWithdrawal(ctx, address)
	return found, err
}

// probePools reads a stake, and returns a sentence about how the pools are read. It fails if a pool does not answer the
// methods.
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
	for _, method := range []struct {
		setting string
		unread  []core.UnreadPool
	}{
		{setting: "STAKING_METHOD", unread: stake.Failed},
		{setting: "STAKING_PENDING_METHOD", unread: stake.UnbondingFailed},
		{setting: "STAKING_TOTAL_METHOD", unread: total.Failed},
	} {
		if len(method.unread) == 0 {
			continue
		}
		first := method.unread[0]
		lacksMethod := first.Err.Reason == core.Rejected || first.Err.Reason == core.Malformed
		if lacksMethod {
			return way, fmt.Errorf("%s is not answered by %s", method.setting, addresses(method.unread))
		}
		// The node failed. The pools may have the method.
		return way, duringPoolCall("ask the pools for "+method.setting, first)
	}
	return way, nil
}

// withoutCode returns the pools without code. It does not send a batch, because an answer with the code of all pools
// may exceed maxBody.
func (c *Client) withoutCode(ctx context.Context) (missing []core.UnreadPool, err error) {
	pools := c.settings.Pools
	code := make([]hexutil.Bytes, len(pools))
	calls := make([]rpcCall, len(pools))
	for i, p := range pools {
		calls[i] = rpcCall{method: "eth_getCode", args: []any{p.Address, "latest"}, result: &code[i]}
	}
	c.sendEach(ctx, calls)
	for i, call := range calls {
		if call.err != nil {
			return nil, during("look for the contracts", call.err)
		}
		if len(code[i]) == 0 {
			missing = append(missing, core.UnreadPool{Pool: pools[i], Err: errNoData})
		}
	}
	return missing, nil
}

// addresses returns the addresses of pools, separated by commas.
func addresses(pools []core.UnreadPool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Pool.Address.Hex())
	}
	return strings.Join(list, ", ")
}

// latestWithdrawal returns the wallet's withdrawal with the latest block. Its Amount is zero if the wallet has none. It
// also returns the height at which the pools were read, or 0 if that is unknown.
func (c *Client) latestWithdrawal(ctx context.Context, wallet common.Address) (*Withdrawal, uint64, error) {
	calls := c.callsOf(c.settings.PendingMethod, wallet)
	at, err := c.read(ctx, calls)
	if err != nil {
		return nil, 0, during("read the withdrawals of the wallet", err)
	}
	latest := &Withdrawal{Block: new(big.Int)}
	for _, call := range calls {
		list, err := c.withdrawals(call, at)
		if err != nil {
			return nil, 0, during("read the withdrawals of the wallet", err)
		}
		for _, w := range list {
			if w.Block.Cmp(latest.Block) >= 0 {
				latest = &w
			}
		}
	}
	return latest, at.knownHeight(), nil
}
