package staking

import (
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// verifyBlock calls Client.verify for a block of the right chain with this timestamp. nil means that it has none.
func verifyBlock(timestamp *big.Int, maxAge time.Duration) error {
	c := &Client{settings: Settings{MaxBlockAge: maxAge}}
	return c.verify(block{
		chainID:   new(big.Int),
		Number:    new(quantity),
		Timestamp: (*quantity)(timestamp),
	})
}

// timestampAgo returns the timestamp of a block of this age, in seconds.
func timestampAgo(age time.Duration) *big.Int { return big.NewInt(time.Now().Add(-age).Unix()) }

func TestTheAgeOfABlockIsLimitedToTheSecond(t *testing.T) {
	const maxAge = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		for _, age := range []time.Duration{0, maxAge, -maxAhead} {
			if err := verifyBlock(timestampAgo(age), maxAge); err != nil {
				t.Errorf("a block of %v: %v", age, err)
			}
		}
		wantReason(t, verifyBlock(timestampAgo(maxAge+time.Second), maxAge), core.Behind)
	})
}

// implausibleTimes returns timestamps that a block cannot have, by what is implausible about them.
func implausibleTimes() map[string]*big.Int {
	return map[string]*big.Int{
		"too far ahead":  timestampAgo(-maxAhead - time.Second),
		"in nanoseconds": big.NewInt(time.Now().UnixNano()),
		"beyond 64 bits": new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64), timestampAgo(0)),
		"zero":           new(big.Int),
		"none":           nil,
	}
}

func TestABlockWithoutAPlausibleTimeIsMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, timestamp := range implausibleTimes() {
			t.Log(name)
			wantReason(t, verifyBlock(timestamp, 10*time.Minute), core.Malformed)
		}
	})
}

func TestWithoutMaxBlockAgeABlockMayHaveAnyTime(t *testing.T) {
	timestamps := implausibleTimes()
	timestamps["a day ago"] = timestampAgo(24 * time.Hour)
	for name, timestamp := range timestamps {
		if err := verifyBlock(timestamp, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherChainIsNeverAnAnswer(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		n.ChainID = 1
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, core.Denied) // Members are told to ask an admin.
		const want = "the node is of chain 1, but chain 4242 is configured"
		if !strings.Contains(err.Error(), want) {
			t.Errorf("operators read %q, want %q", err, want)
		}
	})
}

// The node changes to another chain twice, and back.
func TestANodeThatGetsTheRightChainNeedsNoRestart(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		for range 2 {
			n.ChainID = 1
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, core.Denied)
			n.ChainID = testChain
			wantStaker(t, c)
		}
	})
}
