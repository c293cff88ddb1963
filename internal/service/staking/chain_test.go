package staking

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// Contracts on some rollups see the block numbers of the chain below.
func TestTheTwoCountsOfBlocksAreNotMixed(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.block = 300_000_000
	contractsSee := func(input []byte, at header) ([]byte, error) {
		at.Number = 22_000_000
		return chain.multicall(input, at)
	}
	chain[multicallAddr] = contractsSee
	c := newClient(t, n, pools)
	wantStaker(t, c)
	chain[multicallAddr] = pool(nil, nil)
	wantStaker(t, c) // by batch
	chain[multicallAddr] = contractsSee
	c.noMulticall.until.Store(0)
	wantStaker(t, c)
}

func TestAnotherChainIsNeverAnAnswer(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		for range 2 { // at first, and swapped for the right one later
			n.chainID, n.block = 1, 1_000_000
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, core.Denied) // which tells members to tell an admin
			if want := "the node is of chain 1, but chain 4242 is configured"; !strings.Contains(err.Error(), want) {
				t.Errorf("operators read %q, want %q", err, want)
			}
			// A node put right is taken without a restart: the other chain's block does
			// not count as seen.
			n.chainID, n.block = testChain, 1000
			wantStaker(t, c)
		}
	})
}

func TestALaggingNodeIsRefused(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		wantStaker(t, c)
		n.block = 1000 - maxLag - 1
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, core.Behind)
		if !strings.Contains(err.Error(), "lags 33 blocks") {
			t.Errorf("operators read %q", err)
		}
		n.block = 1000 - maxLag
		wantStaker(t, c)
	})
}

func TestTheHighestBlockAndWhatDoesNotWorkAreForgottenInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h head
		var c cooldown
		c.start()
		for _, step := range []struct {
			after   time.Duration
			block   int64
			ok      bool
			cooling bool
		}{
			{0, 1_000_000, true, true},
			{cooldownFor - time.Second, 10, false, true},
			{headFor - cooldownFor + time.Second, 10, false, false},
			{time.Second, 10, true, false},
			{0, 10 - maxLag - 1, false, false}, // negative: no number at all
			{0, 50, true, false},
			{0, 18, true, false},
			{0, 17, false, false},
		} {
			time.Sleep(step.after)
			if err := h.advance(big.NewInt(step.block)); (err == nil) != step.ok || c.active() != step.cooling {
				t.Errorf("block %d: %v, cooling %t", step.block, err, c.active())
			}
		}
		if err := h.advance(new(big.Int).Lsh(big.NewInt(1), 64)); !errors.Is(err, errNotBlock) {
			t.Errorf("block 2^64: %v", err)
		}
	})
}
