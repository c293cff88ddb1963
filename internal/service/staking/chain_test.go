package staking

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

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

func TestWhatDoesNotWorkIsTriedAgainInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cooldown
		c.start()
		time.Sleep(cooldownFor - time.Second)
		if !c.active() {
			t.Error("it is tried again too soon")
		}
		time.Sleep(time.Second)
		if c.active() {
			t.Error("it is never tried again")
		}
	})
}
