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

// Found is the result of Probe. Probe fills it in this order, up to its failure.
type Found struct {
	ChainID *big.Int // the node's; nil if unknown
	Block   uint64   // the number of the node's newest block, in its header
	// Height is the number of that block as contracts read it; 0 if the node does not tell it.
	Height uint64
	// BlockTime is the time of that block; zero if implausible.
	BlockTime time.Time
	// Deployed counts the pools with code, and Missing the others; both are 0 if unknown.
	Deployed, Missing int
	// Way says for operators how the pools are read; empty if unknown.
	Way string
	// Pending is the withdrawal with the latest block of the wallet that Probe is given. An Amount
	// of zero means that nothing is pending. Pending is nil without a wallet, without a
	// PendingMethod, and if unknown.
	Pending *Withdrawal
	// ReadAt is the Height of the block that has Pending.
	ReadAt uint64
}

// Probe asks the node, past the cache, for its chain's ID and newest block, for the code
// at every pool's address, and for a stake; then for the withdrawals of wallet, unless that is
// empty. It fails if the chain is another, if the block is too old, or if a pool has no code
// or does not answer the methods.
func (c *Client) Probe(ctx context.Context, wallet string) (found Found, err error) {
	newest, err := c.readPinned(ctx, nil)
	if newest.Number != nil {
		found = Found{
			ChainID:   newest.chainID,
			Block:     newest.Number.toInt().Uint64(),
			Height:    newest.knownHeight(),
			BlockTime: newest.time(),
		}
	}
	if err != nil {
		return found, failedTo("check the chain", err)
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
	if err != nil || c.settings.PendingMethod == "" {
		return found, err
	}
	if asked, invalid := core.ParseWallet(wallet); invalid == nil {
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
	for _, asked := range []struct {
		setting string
		unread  []core.UnreadPool
	}{
		{"STAKING_METHOD", stake.Failed},
		{"STAKING_PENDING_METHOD", stake.UnbondingFailed},
		{"STAKING_TOTAL_METHOD", total.Failed},
	} {
		if len(asked.unread) == 0 {
			continue
		}
		switch first := asked.unread[0]; first.Err.Reason {
		case core.Rejected, core.Malformed:
			return way, fmt.Errorf("%s is not answered by %s", asked.setting, addresses(asked.unread))
		default: // The pools did not say that.
			return way, poolFailedTo("ask the pools for "+asked.setting, first)
		}
	}
	return way, nil
}

// withoutCode returns the pools without code. It sends no batch, because the code of all
// pools may be larger than maxBody.
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
			return nil, failedTo("look for the contracts", call.err)
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

// latestWithdrawal returns the wallet's withdrawal with the latest block, and the height at which
// the pools were read, or 0 if it is unknown. The Amount is zero if the pools have none.
func (c *Client) latestWithdrawal(ctx context.Context, wallet common.Address) (*Withdrawal, uint64, error) {
	calls := c.callsOf(c.settings.PendingMethod, wallet)
	at, err := c.read(ctx, calls)
	if err != nil {
		return nil, 0, failedTo("read the withdrawals of the wallet", err)
	}
	latest := &Withdrawal{Block: new(big.Int)}
	for _, call := range calls {
		list, err := c.withdrawals(call, at)
		if err != nil {
			return nil, 0, failedTo("read the withdrawals of the wallet", err)
		}
		for _, w := range list {
			if w.Block.Cmp(latest.Block) >= 0 {
				latest = &w
			}
		}
	}
	return latest, at.knownHeight(), nil
}
