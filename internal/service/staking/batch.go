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

// maxBatchCalls bounds the calls of pools in one eth_call of StakesOf: 52 wallets with 21
// pools. Nodes bound the gas of an eth_call, and maxBody the result.
const maxBatchCalls = 1100

// StakesOf returns what each wallet has staked, in order, without withdrawals. It reads many
// wallets in one eth_call, one call after another, and is as strict as Stakes. It blocks until
// all wallets are read or failed, or ctx is done. Nothing is cached.
//
// If the node cannot execute so large a call, or refuses it for its size, StakesOf halves the number
// for the rest of the wallets. It reads a single wallet as Stakes does.
func (c *Client) StakesOf(ctx context.Context, wallets []common.Address) (answers []query.Answer[core.Stake]) {
	size := max(1, maxBatchCalls/len(c.settings.Pools))
	if !c.usesMulticall() {
		size = 1
	}
	for len(answers) < len(wallets) {
		rest := wallets[len(answers):]
		chunk := rest[:min(size, len(rest))]
		var stakes []core.Stake
		err := c.Do(ctx, func(ctx context.Context) (err error) {
			stakes, err = c.readMany(ctx, chunk)
			return err
		})
		if err == nil && stakes == nil {
			size = len(chunk) / 2
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

// readMany returns a stake for each wallet, or nil if the node cannot read so many at once.
func (c *Client) readMany(ctx context.Context, wallets []common.Address) ([]core.Stake, error) {
	if len(wallets) == 1 {
		stake, err := c.readPools(ctx, wallets[0], c.settings.Method, "")
		return []core.Stake{stake}, err
	}
	var calls []ethCall
	for _, wallet := range wallets {
		calls = append(calls, c.callsOf(c.settings.Method, wallet)...)
	}
	at, err := c.aggregate(ctx, calls)
	if errors.Is(err, errUnsupported) || isTooLarge(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failure(err).During("read the pools")
	}
	var stakes []core.Stake
	for of := range slices.Chunk(calls, len(c.settings.Pools)) {
		stake := c.stakeIn(of, at)
		stakes = append(stakes, stake)
		for _, p := range stake.Failed {
			c.countUnread(p.Pool)
		}
	}
	return stakes, nil
}
