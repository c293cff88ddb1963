package staking

import (
	"math/big"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// parentBlock is the block number that contracts on the rollup read: the parent chain's.
const parentBlock = 234_567

// rollupWays are ways, and the batch after Multicall3 failed.
var rollupWays = append(slices.Clone(ways), way{
	name:           "batch after Multicall3 failed",
	changeSettings: func(*Settings) {},
	changeNode:     func(n *node) { delete(n.Contracts, multicallAddr) },
})

// onRollups runs a test once for each way of reading a rollup. On a rollup, contracts read the block number of another
// chain, the parent. Pool 20 has two withdrawals: 500 tokens from 100 blocks ago, and 7 tokens from so long ago that
// they can be withdrawn.
func onRollups(t *testing.T, test func(t *testing.T, n *node, c *Client)) {
	t.Helper()
	const delay = 50_400
	for _, way := range rollupWays {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(parentBlock,
				entry{tokens: 500, offset: -100},
				entry{tokens: 7, offset: -delay},
			))
			n := newNode(t, chain)
			n.Height = func(uint64) uint64 { return parentBlock }
			way.changeNode(n)
			test(t, n, newClient(t, n, pools, way.changeSettings, withClaimBlocks(delay)))
		})
	}
}

func TestWithdrawalsOnARollupAreSplitByTheParentsBlock(t *testing.T) {
	onRollups(t, func(t *testing.T, _ *node, c *Client) {
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || !stake.Complete() || stake.Block != parentBlock {
			t.Fatalf("block %d, %v, unread %v", stake.Block, err, stake.Unread())
		}
		wantAmounts(t, "withdrawable", stake.Withdrawable, "pool 20: 7")
		wantAmounts(t, "unbonding", stake.Unbonding, "pool 20: 500")
		if next := stake.NextWithdrawal; !next.Amount.Equal(whole(500)) || !next.At.IsZero() {
			t.Errorf("the next withdrawal is %+v, want 500 without a time: no header shows the parent's interval", next)
		}
	})
}

// The second fetch takes no round trip for the block interval, although the first one could not measure it.
func TestTheBlockIntervalOfARollupIsRequestedOnce(t *testing.T) {
	onRollups(t, func(t *testing.T, n *node, c *Client) {
		fetch := func() { _, _ = c.Stakes.Fetch(t.Context(), ann) }
		fetch()
		var want int
		switch {
		case c.usesMulticall():
			want = aggregateTrips
		case n.noBatches:
			want = oneByOneTrips
		default:
			want = batchTrips
		}
		if got := n.tripsOf(fetch); got != want {
			t.Errorf("%d round trips, want %d", got, want)
		}
	})
}

func TestTheNextWithdrawalHasATimeIfContractsCountTheChainsBlocks(t *testing.T) {
	onRollups(t, func(t *testing.T, n *node, c *Client) {
		n.Height = nil // as on chains that are not rollups
		n.Contracts[poolAt(20).Address] = pool(tokensOf(3), entriesAt(n.Block(), entry{tokens: 500, offset: -50_399}))
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if want := stake.BlockTime.Add(2 * time.Second); err != nil || !stake.NextWithdrawal.At.Equal(want) {
			t.Errorf("the next withdrawal is %+v, want at %v; %v", stake.NextWithdrawal, want, err)
		}
	})
}

// heightSpoilers spoil the answer to the call for the height: the block number that contracts read.
var heightSpoilers = map[string]func(answer map[string]any){
	"refused": func(answer map[string]any) {
		delete(answer, "result")
		answer["error"] = nodeError(-32602)
	},
	"limited": func(answer map[string]any) {
		delete(answer, "result")
		answer["error"] = nodeError(-32005)
	},
	"null":           func(answer map[string]any) { answer["result"] = nil },
	"empty":          func(answer map[string]any) { answer["result"] = "0x" },
	"two words":      func(answer map[string]any) { answer["result"] = hexutil.Encode(make([]byte, 64)) },
	"beyond 64 bits": func(answer map[string]any) { answer["result"] = hexutil.Encode(tokensOf(1000)) },
}

func TestWithdrawalsStayUnbondingIfTheHeightIsUnknown(t *testing.T) {
	for name, spoil := range heightSpoilers {
		chain, pools := stakers()
		n := newNode(t, chain)
		chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(parentBlock, entry{tokens: 500, offset: -100}))
		c := newClient(t, n, pools, withoutMulticall, withClaimBlocks(50_400))
		n.respond = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
			spoil(answers[heightIndex])
			writeJSON(w, answers)
		})
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || !stake.Complete() || stake.Block != 0 {
			t.Fatalf("%s: block %d, %v, unread %v", name, stake.Block, err, stake.Unread())
		}
		wantAmounts(t, name+": withdrawable", stake.Withdrawable)
		wantAmounts(t, name+": unbonding", stake.Unbonding, "pool 20: 500")
		if !stake.NextWithdrawal.Amount.IsZero() {
			t.Errorf("%s: the next withdrawal is %+v", name, stake.NextWithdrawal)
		}
		found, err := c.Probe(t.Context(), ann.Hex())
		if err != nil || found.Height != 0 || found.ReadAt != 0 {
			t.Errorf("%s: probed: %+v, %v", name, found, err)
		}
	}
}

func TestProbeComparesAWithdrawalWithTheParentsBlock(t *testing.T) {
	onRollups(t, func(t *testing.T, n *node, c *Client) {
		found, err := c.Probe(t.Context(), ann.Hex())
		if err != nil {
			t.Fatal(err)
		}
		if found.Pending.Block.Cmp(big.NewInt(parentBlock-100)) != 0 || found.ReadAt != parentBlock {
			t.Errorf("the withdrawal is %+v, read at block %d", found.Pending, found.ReadAt)
		}
		if found.Block != n.Block() || found.Height != parentBlock {
			t.Errorf("the latest block is %d, and %d for contracts", found.Block, found.Height)
		}
	})
}
