package staking

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
)

// walletNo returns the wallet that stakes n tokens in a counting pool.
func walletNo(n int) (wallet common.Address) {
	binary.BigEndian.PutUint32(wallet[16:], uint32(n))
	return wallet
}

// countingPool is a pool in which walletNo(n) stakes n tokens. It reverts for the wallet 13.
func countingPool(_ services.Node, _ uint64, input []byte) ([]byte, error) {
	n := binary.BigEndian.Uint32(input[len(input)-4:])
	if n == 13 {
		return nil, services.Reverted("")
	}
	return tokensOf(int64(n)), nil
}

// countingNode returns a node of 20 empty pools and a counting pool.
func countingNode(t *testing.T) (*node, []core.Pool) {
	chain, pools := deploy(append(emptyPools(20), countingPool)...)
	return newNode(t, chain), pools
}

// walletsTo returns the wallets from n-1 down to 0, so that their bytes are not in ascending order.
func walletsTo(n int) (wallets []common.Address) {
	for i := range n {
		wallets = append(wallets, walletNo(n-1-i))
	}
	return wallets
}

// wantStakes fails the test unless the answers are correct for walletsTo(len(answers)).
func wantStakes(t *testing.T, answers []query.Answer[core.Stake]) {
	t.Helper()
	for i, a := range answers {
		n := len(answers) - 1 - i
		want := core.Staker
		switch n {
		case 0:
			want = core.NotStaker
		case 13:
			want = core.Undetermined
		}
		if a.Err != nil || a.Value.StakerStatus() != want || a.Value.BlockTime.IsZero() {
			t.Errorf("wallet %d: %+v, want %v", n, a, want)
		}
		if want == core.Staker && a.Value.Total().IntPart() != int64(n) {
			t.Errorf("wallet %d stakes %v, want %d", n, a.Value.Total(), n)
		}
	}
}

func TestManyWalletsAreReadInFewCalls(t *testing.T) {
	for wallets, trips := range map[int]int{0: 0, 1: 1, 52: 1, 53: 2, 105: 3} {
		node, pools := countingNode(t)
		c := newClient(t, node, pools)
		answers := c.StakesOf(t.Context(), walletsTo(wallets))
		if len(answers) != wallets || node.trips != trips {
			t.Errorf("%d wallets: %d answers in %d calls, want %d calls", wallets, len(answers), node.trips, trips)
			continue
		}
		wantStakes(t, answers)
	}
}

// The counting pool reverts for wallet 13.
func TestAPoolThatIsUnreadForAWalletIsReportedOnce(t *testing.T) {
	for wallets, reports := range map[int]int{0: 0, 1: 0, 13: 0, 14: 1, 52: 1, 105: 1} {
		node, pools := countingNode(t)
		c := newClient(t, node, pools)
		counts := countUnread(c)
		c.StakesOf(t.Context(), walletsTo(wallets))
		if counts[pools[20]] != reports {
			t.Errorf("%d wallets: %d reports, want %d", wallets, counts[pools[20]], reports)
		}
	}
}

// limitCalls makes the node refuse an eth_call to Multicall3 with more than most inner calls, as a limit on gas
// does. refused counts the refusals.
func limitCalls(n *node, most int) (refused *int) {
	refused = new(int)
	inner := n.Contracts[multicallAddr]
	n.Contracts[multicallAddr] = func(node services.Node, block uint64, input []byte) ([]byte, error) {
		// The selector, the list's offset, and its length.
		if len(input) > 68 && binary.BigEndian.Uint32(input[64:]) > uint32(most) {
			*refused++
			return nil, services.Reverted("out of gas")
		}
		return inner(node, block, input)
	}
	return refused
}

func TestARefusedBatchIsHalvedForTheRest(t *testing.T) {
	node, pools := countingNode(t)
	refused := limitCalls(node, 13*21+3) // 13 wallets in 21 pools, and three calls about the block
	c := newClient(t, node, pools)
	wantStakes(t, c.StakesOf(t.Context(), walletsTo(100)))
	if *refused != 2 { // 52 and 26 wallets; after that, no call has more than 13.
		t.Errorf("%d calls were refused, want 2", *refused)
	}
	if !c.usesMulticall() {
		t.Error("Multicall3 is no longer used, because a call for many wallets was refused")
	}
}

func TestManyWalletsAreReadInEveryWay(t *testing.T) {
	for _, way := range ways {
		node, pools := countingNode(t)
		way.node(node)
		wantStakes(t, newClient(t, node, pools, way.config).StakesOf(t.Context(), walletsTo(30)))
	}
}

func TestManyWalletsAreReadIfMulticallReadsOneOrNone(t *testing.T) {
	const oneWallet = 21 + 3 // the pools, and three calls about the block
	for _, most := range []int{oneWallet, 0} {
		node, pools := countingNode(t)
		limitCalls(node, most)
		wantStakes(t, newClient(t, node, pools).StakesOf(t.Context(), walletsTo(30)))
	}
}

// Any answer would be wrong for some wallet: wallet 0 stakes nothing, and all others do.
func TestABrokenBatchIsAnErrorForEveryWallet(t *testing.T) {
	for name, change := range map[string]func(n *node){
		"another chain": func(n *node) { n.ChainID++ },
		"an old block":  func(n *node) { n.setClock(time.Now().Add(-time.Hour)) },
		"silence": func(n *node) {
			n.respond = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusBadGateway) }
		},
		"nothing": func(n *node) {
			n.respond = func(w http.ResponseWriter, correct []byte) {
				var m map[string]any
				_ = json.Unmarshal(correct, &m)
				m["result"] = "0x"
				writeJSON(w, m)
			}
		},
		"no pools":        func(n *node) { clear(n.Contracts) },
		"only Multicall3": func(n *node) { n.Contracts = contracts{multicallAddr: n.Contracts[multicallAddr]} },
	} {
		node, pools := countingNode(t)
		change(node)
		for i, a := range newClient(t, node, pools).StakesOf(t.Context(), walletsTo(60)) {
			if a.Err == nil {
				t.Errorf("%s: wallet %d: %+v, want an error", name, 59-i, a)
				break
			}
		}
	}
}

// The other results may count. Wallet 0 stakes nothing, and wallet 13 cannot be read.
func TestAMissingResultDoesNotMeanNotStaking(t *testing.T) {
	node, pools := countingNode(t)
	multicall := node.Contracts[multicallAddr]
	node.Contracts[multicallAddr] = func(n services.Node, block uint64, input []byte) ([]byte, error) {
		output, err := multicall(n, block, input)
		return output[:len(output)-32], err
	}
	for i, a := range newClient(t, node, pools).StakesOf(t.Context(), walletsTo(60)) {
		wallet := 59 - i
		if wallet != 0 && wallet != 13 && a.Value.StakerStatus() == core.NotStaker {
			t.Errorf("wallet %d: %+v", wallet, a)
			break
		}
	}
}

func TestNoWalletIsReadAfterCancellation(t *testing.T) {
	node, pools := countingNode(t)
	c := newClient(t, node, pools)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, a := range c.StakesOf(ctx, walletsTo(200)) {
		if a.Err == nil {
			t.Errorf("wallet %d: %+v", i, a)
		}
	}
	if node.trips != 0 {
		t.Errorf("%d calls, want 0", node.trips)
	}
}
