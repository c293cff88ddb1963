package staking

import (
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

func TestAnotherChainIsNeverAnAnswer(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			c := newClient(t, n, pools, way.config)
			n.set(func() { n.chainID = 1 })
			chain[multicallAddr] = chain.multicallOf(1)
			_, err := c.Stakes.Ask(t.Context(), ann)
			wantReason(t, err, core.Malformed)
			if want := "the node is of chain 1, but chain 4242 is configured"; !strings.Contains(err.Error(), want) {
				t.Errorf("operators read %q, want %q", err, want)
			}
			n.set(func() { n.chainID = testChain })
			chain[multicallAddr] = chain.multicall
			wantStaker(t, c) // a node put right is taken without a restart
		})
	}
}

func TestANodeSwappedForOneOfAnotherChainIsNoticed(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			c := newClient(t, n, pools, way.config)
			wantStaker(t, c)
			n.set(func() { n.chainID, n.block = 1, 1_000_000 })
			chain[multicallAddr] = chain.multicallOf(1)
			_, err := c.Stakes.Ask(t.Context(), ann)
			wantReason(t, err, core.Malformed)
			// The other chain's block does not count as seen.
			n.set(func() { n.chainID, n.block = testChain, 1000 })
			chain[multicallAddr] = chain.multicall
			wantStaker(t, c)
		})
	}
}

func TestALaggingNodeIsRefused(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			c := newClient(t, n, pools, way.config)
			wantStaker(t, c)
			n.set(func() { n.block = 1000 - maxLag })
			wantStaker(t, c)
			n.set(func() { n.block = 1000 - maxLag - 1 })
			_, err := c.Stakes.Ask(t.Context(), ann)
			wantReason(t, err, core.Behind)
			if !strings.Contains(err.Error(), "lags 33 blocks") {
				t.Errorf("operators read %q", err)
			}
			n.set(func() { n.block = 1001 })
			wantStaker(t, c)
		})
	}
}

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
	chain[multicallAddr] = func([]byte, header) ([]byte, error) { return nil, revert{} }
	wantStaker(t, c) // by batch
	chain[multicallAddr] = contractsSee
	c.noMulticall.until.Store(0)
	wantStaker(t, c)
}

func TestHeadForgetsInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h head
		for _, step := range []struct {
			after time.Duration
			block int64
			ok    bool
		}{
			{0, 1_000_000, true},
			{0, 10, false},
			{headFor, 10, false},
			{time.Second, 10, true},
			{0, 10 - maxLag - 1, false}, // negative: no number at all
			{0, 50, true},
			{0, 17, false},
			{0, 18, true},
			{0, 17, false},
		} {
			time.Sleep(step.after)
			if err := h.advance(big.NewInt(step.block)); (err == nil) != step.ok {
				t.Errorf("block %d: %v", step.block, err)
			}
		}
		if err := h.advance(new(big.Int).Lsh(big.NewInt(1), 64)); !errors.Is(err, errNotBlock) {
			t.Errorf("block 2^64: %v", err)
		}
	})
}

func TestCooldownEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cooldown
		if c.active() {
			t.Error("active before it started")
		}
		c.start()
		time.Sleep(cooldownFor - time.Nanosecond)
		if !c.active() {
			t.Error("ended early")
		}
		time.Sleep(time.Nanosecond)
		if c.active() {
			t.Error("did not end")
		}
	})
}

func TestManyAskAtOnce(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			c := newClient(t, n, pools, way.config)
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					if stake, err := c.Stakes.Ask(t.Context(), ann); err != nil || stake.Checked != 21 {
						t.Errorf("checked %d, %v", stake.Checked, err)
					}
				})
			}
			group.Wait()
		})
	}
}
