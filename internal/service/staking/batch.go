package staking

import (
	"context"
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/transport"
)

// maxBatchCalls bounds the calls of pools in one eth_call of StakesOf: 52 wallets with 21
// pools. Nodes bound the gas of an eth_call, and maxBody the result.
const maxBatchCalls = 1100

// StakesOf returns what each wallet has staked, in order, without withdrawals. It reads many
// wallets in one eth_call, one call after another, and is as strict as Stakes. It blocks until
// all wallets are read or failed, or ctx is done. Nothing is cached.
//
// If the node refuses to read so many wallets at once, StakesOf halves the number for the rest
// of the wallets. It reads a single wallet as Stakes does.
func (c *Client) StakesOf(ctx context.Context, wallets []common.Address) []core.Answer[core.Stake] {
	known := make(map[common.Address]core.Answer[core.Stake], len(wallets))
	rest := slices.Clone(wallets)
	slices.SortFunc(rest, common.Address.Cmp)
	rest = slices.Compact(rest)
	size := max(1, maxBatchCalls/len(c.settings.Pools))
	if c.settings.Multicall == nil || c.noMulticall.active() {
		size = 1
	}
	for len(rest) > 0 {
		chunk := rest[:min(size, len(rest))]
		read := core.Answer[batch]{Err: ctx.Err()}
		if read.Err == nil { // Otherwise a call would begin all the same.
			read = core.Ask(ctx, c.batches, keyOf(chunk))
		}
		if read.Err == nil && read.Value.refused {
			size = len(chunk) / 2
			continue
		}
		for i, wallet := range chunk {
			known[wallet] = answerIn(read, i)
		}
		rest = rest[len(chunk):]
	}
	answers := make([]core.Answer[core.Stake], len(wallets))
	for i, wallet := range wallets {
		answers[i] = known[wallet]
	}
	return answers
}

// batch is what readBatch returns: a stake for each wallet, or that the node refused to read
// so many.
type batch struct {
	stakes  []core.Stake
	refused bool
}

// answerIn returns the i-th answer of a batch.
func answerIn(read core.Answer[batch], i int) (a core.Answer[core.Stake]) {
	if a.Err = read.Err; a.Err != nil {
		return a
	}
	a.Value, a.At = read.Value.stakes[i], read.At
	a.Err = errIfUnread(a.Value)
	return a
}

// keyOf returns the bytes of the wallets.
func keyOf(wallets []common.Address) string {
	var key []byte
	for _, wallet := range wallets {
		key = append(key, wallet[:]...)
	}
	return string(key)
}

// readBatch reads the stakes of the wallets in a key of keyOf. It reports each unread pool
// once.
func (c *Client) readBatch(ctx context.Context, key string) (batch, error) {
	if len(key) == common.AddressLength {
		stake, err := c.readPools(ctx, common.Address([]byte(key)), c.settings.Method, "")
		return batch{stakes: []core.Stake{stake}}, err
	}
	var calls []call
	for rest := []byte(key); len(rest) > 0; rest = rest[common.AddressLength:] {
		calls = append(calls, c.callsOf(c.settings.Method, common.Address(rest[:common.AddressLength]))...)
	}
	at, err := c.aggregate(ctx, calls)
	if errors.Is(err, errUnsupported) || errors.Is(err, transport.ErrBodyTooLarge) {
		return batch{refused: true}, nil
	}
	if err == nil {
		err = c.verify(at)
	}
	if err != nil {
		return batch{}, failure(err).During("read the pools")
	}
	var read batch
	unread := map[core.Pool]bool{}
	for of := range slices.Chunk(calls, len(c.settings.Pools)) {
		stake := c.stakeIn(of, at)
		read.stakes = append(read.stakes, stake)
		for _, p := range stake.Failed {
			unread[p.Pool] = true
		}
	}
	for pool := range unread {
		c.unread(pool)
	}
	return read, nil
}
