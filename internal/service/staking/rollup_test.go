package staking

import (
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// parentBlock is the number that contracts read on the rollup, in each of its blocks.
const parentBlock = 234_567

// rollupWays are the ways of reading a rollup: ways, and the batch after Multicall3 failed.
var rollupWays = append(ways[:3:3], struct {
	name   string
	config func(*Settings)
	node   func(*node)
}{"batch after Multicall3 failed", func(*Settings) {}, func(n *node) { delete(n.Contracts, multicallAddr) }})

// onRollups runs a test for each way of reading a rollup. In a pool, 500 tokens are withdrawn
// for 100 blocks, and 7 for as long as it takes.
func onRollups(t *testing.T, test func(t *testing.T, n *node, c *Client)) {
	t.Helper()
	const claim = 50_400
	for _, way := range rollupWays {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(parentBlock, entry{500, -100}, entry{7, -claim}))
			n := newNode(t, chain)
			n.Height = func(uint64) uint64 { return parentBlock }
			way.node(n)
			test(t, n, newClient(t, n, pools, way.config, claimBlocks(claim)))
		})
	}
}

func TestWithdrawalsAreCountedByTheBlocksThatContractsRead(t *testing.T) {
	onRollups(t, func(t *testing.T, _ *node, c *Client) {
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || !stake.Complete() || stake.Block != parentBlock {
			t.Fatalf("block %d, %v, unread %v", stake.Block, err, stake.Unread())
		}
		wantAmounts(t, "claimable", stake.Withdrawable, "pool 20: 7")
		wantAmounts(t, "unbonding", stake.Unbonding, "pool 20: 500")
		if next := stake.NextWithdrawal; !next.Amount.Equal(whole(500)) || !next.At.IsZero() {
			t.Errorf("the next claim is %+v; the headers do not tell the pace of the parent chain", next)
		}
	})
}

func TestThePaceOfAnotherChainIsAskedForOnce(t *testing.T) {
	onRollups(t, func(t *testing.T, n *node, c *Client) {
		fetch := func() { _, _ = c.Stakes.Fetch(t.Context(), ann) }
		fetch()
		trips := map[bool]int{true: 1, false: 2}[c.usesMulticall()]
		if c.settings.Multicall == nil && n.noBatches {
			trips = 46
		}
		if got := n.tripsOf(fetch); got != trips {
			t.Errorf("%d round trips, want %d", got, trips)
		}
	})
}

func TestTheBlocksOfAPaceAreThoseOfContracts(t *testing.T) {
	onRollups(t, func(t *testing.T, n *node, c *Client) {
		// As on most chains.
		n.Height = nil
		n.Contracts[poolAt(20).Address] = pool(tokensOf(3), entriesAt(n.Block(), entry{500, -50_399}))
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if want := stake.BlockTime.Add(2 * time.Second); err != nil || !stake.NextWithdrawal.At.Equal(want) {
			t.Errorf("the next claim is %+v, want at %v; %v", stake.NextWithdrawal, want, err)
		}
	})
}

// heights are answers to the call for the number that contracts read.
var heights = map[string]func(answer map[string]any){
	"refused": func(answer map[string]any) {
		delete(answer, "result")
		answer["error"] = refusal(-32602)["error"]
	},
	"limited": func(answer map[string]any) {
		delete(answer, "result")
		answer["error"] = refusal(-32005)["error"]
	},
	"null":           func(answer map[string]any) { answer["result"] = nil },
	"empty":          func(answer map[string]any) { answer["result"] = "0x" },
	"two words":      func(answer map[string]any) { answer["result"] = hexutil.Encode(make([]byte, 64)) },
	"beyond 64 bits": func(answer map[string]any) { answer["result"] = hexutil.Encode(tokensOf(1000)) },
}

func TestNothingIsToldOfWhenIfTheNumberOfContractsIsUnknown(t *testing.T) {
	for name, spoil := range heights {
		chain, pools := stakers()
		n := newNode(t, chain)
		chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(parentBlock, entry{500, -100}))
		c := newClient(t, n, pools, withoutMulticall, claimBlocks(50_400))
		n.spoil = onBatches(func(w http.ResponseWriter, a []map[string]any) {
			spoil(a[1])
			writeJSON(w, a)
		})
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || !stake.Complete() || stake.Block != 0 {
			t.Fatalf("%s: block %d, %v, unread %v", name, stake.Block, err, stake.Unread())
		}
		wantAmounts(t, name+": claimable", stake.Withdrawable)
		wantAmounts(t, name+": unbonding", stake.Unbonding, "pool 20: 500")
		if !stake.NextWithdrawal.Amount.IsZero() {
			t.Errorf("%s: the next claim is %+v", name, stake.NextWithdrawal)
		}
		if found, err := c.Probe(t.Context(), ann.Hex()); err != nil || found.Height != 0 || found.ReadAt != 0 {
			t.Errorf("%s: probed: %+v, %v", name, found, err)
		}
	}
}

func TestProbeTellsBlocksOfOneKind(t *testing.T) {
	onRollups(t, func(t *testing.T, n *node, c *Client) {
		found, err := c.Probe(t.Context(), ann.Hex())
		if err != nil || found.Pending.Block.Cmp(big.NewInt(parentBlock-100)) != 0 || found.ReadAt != parentBlock {
			t.Errorf("a withdrawal %+v, read at %d, %v", found.Pending, found.ReadAt, err)
		}
		if found.Block != n.Block() || found.Height != parentBlock {
			t.Errorf("the newest block is %d, %d for contracts", found.Block, found.Height)
		}
	})
}
