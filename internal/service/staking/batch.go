package staking

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/query"
)

// maxBatchCalls is the maximum number of calls of pools in one eth_call of StakesOf: 52 wallets in 21 pools. Nodes
// limit the gas of an eth_call, and maxBody limits the answer.
const maxBatchCalls = 1100

// StakesOf returns the stakes of wallets, in their order, without withdrawals. It reads many wallets in one eth_call,
// and makes one eth_call after another. It verifies the answers as Stakes does, and caches nothing. It blocks until
// every wallet has an answer, which may be an error.
//
// If the node cannot execute an eth_call of this size, or refuses it because of its size, StakesOf halves the number of
// wallets per eth_call. It reads a single wallet as Stakes does.
func (c *Client) StakesOf(ctx context.Context, wallets []common.Address) (answers []query.Answer[core.Stake]) {
	walletsPerCall := 1
	if c.usesMulticall() {
		walletsPerCall = max(1, maxBatchCalls/len(c.settings.Pools))
	}
	for len(answers) < len(wallets) {
		left := wallets[len(answers):]
		chunk := left[:min(walletsPerCall, len(left))]
		var stakes []core.Stake
		var tooMany bool
		err := c.Do(ctx, func(ctx context.Context) (err error) {
			stakes, tooMany, err = c.readMany(ctx, chunk)
			return err
		})
		if err == nil && tooMany {
			walletsPerCall = len(chunk) / 2
			continue
		}
		for i := range chunk {
			answer := query.Answer[core.Stake]{Err: err}
			if err == nil {
				answer.Value = stakes[i]
				answer.At = time.Now()
				answer.Err = errIfUnread(stakes[i])
			}
			answers = append(answers, answer)
		}
	}
	return answers
}

// readMany returns a stake for each wallet. If the node cannot read this number of wallets at once, readMany returns
// tooMany and no error. One wallet is never too many.
func (c *Client) readMany(ctx context.Context, wallets []common.Address) (
	stakes []core.Stake, tooMany bool, err error,
) {
	if len(wallets) == 1 {
		stake, err := c.readPools(ctx, wallets[0], c.settings.Method, noMethod)
		return []core.Stake{stake}, false, err
	}
	var calls []ethCall
	for _, wallet := range wallets {
		calls = append(calls, c.callsOf(c.settings.Method, wallet)...)
	}
	at, err := c.aggregate(ctx, calls)
	if errors.Is(err, errNoMulticall) || isTooLarge(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, during("read the pools", err)
	}
	for callsOfWallet := range slices.Chunk(calls, len(c.settings.Pools)) {
		stake := c.stakeIn(callsOfWallet, at)
		stakes = append(stakes, stake)
		for _, p := range stake.Failed {
			c.countUnread(p.Pool)
		}
	}
	return stakes, false, nil
}
