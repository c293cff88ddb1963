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

// walletNo is a wallet that stakes n tokens in a counting pool.
func walletNo(n int) (wallet common.Address) {
	binary.BigEndian.PutUint32(wallet[16:], uint32(n))
	return wallet
}

// countingPool holds n tokens of walletNo(n). It reverts for 13.
func countingPool(_ services.Node, _ uint64, input []byte) ([]byte, error) {
	n := binary.BigEndian.Uint32(input[len(input)-4:])
	if n == 13 {
		return nil, services.Reverted("")
	}
	return tokensOf(int64(n)), nil
}

// countingNode has 21 pools, of which one holds anything.
func countingNode(t *testing.T) (*node, []core.Pool) {
	chain, pools := deploy(append(emptyPools(20), countingPool)...)
	return newNode(t, chain), pools
}

// walletsTo returns the wallets from 0 to n-1, in another order than that of their bytes.
func walletsTo(n int) (wallets []common.Address) {
	for i := range n {
		wallets = append(wallets, walletNo(n-1-i))
	}
	return wallets
}

// wantStakes checks the answers for walletsTo(n).
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
		if a.Err != nil || a.Value.StakerStatus() != want || want == core.Staker && a.Value.Total().IntPart() != int64(n) || a.Value.BlockTime.IsZero() {
			t.Errorf("wallet %d: %+v", n, a)
		}
	}
}

func TestManyWalletsAreReadInFewCalls(t *testing.T) {
	for n, trips := range map[int]int{0: 0, 1: 1, 52: 1, 53: 2, 105: 3} {
		node, pools := countingNode(t)
		c := newClient(t, node, pools)
		told := map[core.Pool]int{}
		c.countUnread = func(p core.Pool) { told[p]++ }
		answers := c.StakesOf(t.Context(), walletsTo(n))
		if node.trips != trips || len(answers) != n || told[pools[20]] != min(n/14, 1) {
			t.Errorf("%d wallets: %d answers in %d calls, want %d calls; unread %v", n, len(answers), node.trips, trips, told)
			continue
		}
		wantStakes(t, answers)
	}
}

// limitCalls has n refuse an eth_call to Multicall3 with more inner calls, as a cap on gas
// does. It returns the number of refusals.
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
	refused := limitCalls(node, 13*21+3)
	c := newClient(t, node, pools)
	wantStakes(t, c.StakesOf(t.Context(), walletsTo(100)))
	if *refused != 2 { // 52 and 26 wallets, and then never more than 13
		t.Errorf("%d calls were refused, want 2", *refused)
	}
	if !c.usesMulticall() {
		t.Error("/staked goes without Multicall3 because many wallets were refused")
	}
}

func TestManyWalletsAreReadInEveryWay(t *testing.T) {
	for _, way := range ways {
		node, pools := countingNode(t)
		way.node(node)
		wantStakes(t, newClient(t, node, pools, way.config).StakesOf(t.Context(), walletsTo(30)))
	}
	// A node that lets Multicall3 read one wallet at most, or nothing at all.
	for _, most := range []int{21 + 3, 0} {
		node, pools := countingNode(t)
		limitCalls(node, most)
		wantStakes(t, newClient(t, node, pools).StakesOf(t.Context(), walletsTo(30)))
	}
}

// None of these answers may become a "no".
func TestABrokenBatchIsNoAnswer(t *testing.T) {
	for name, spoil := range map[string]func(n *node){
		"another chain": func(n *node) { n.ChainID++ },
		"an old block":  func(n *node) { n.setClock(time.Now().Add(-time.Hour)) },
		"silence": func(n *node) {
			n.spoil = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusBadGateway) }
		},
		"nothing": func(n *node) {
			n.spoil = func(w http.ResponseWriter, right []byte) {
				var m map[string]any
				_ = json.Unmarshal(right, &m)
				m["result"] = "0x"
				_ = json.NewEncoder(w).Encode(m)
			}
		},
		"fewer results": func(n *node) {
			inner := n.Contracts[multicallAddr]
			n.Contracts[multicallAddr] = func(node services.Node, block uint64, input []byte) ([]byte, error) {
				output, err := inner(node, block, input)
				return output[:len(output)-32], err
			}
		},
		"no pools":         func(n *node) { clear(n.Contracts) },
		"Multicall3 alone": func(n *node) { n.Contracts = contracts{multicallAddr: n.Contracts[multicallAddr]} },
	} {
		node, pools := countingNode(t)
		spoil(node)
		for i, a := range newClient(t, node, pools).StakesOf(t.Context(), walletsTo(60)) {
			// Of fewer results, those that are there count; wallet 0 and some others stake nothing.
			wrong := a.Err == nil
			if name == "fewer results" {
				wrong = a.Value.StakerStatus() == core.NotStaker && i < 59 && 59-i != 13
			}
			if wrong {
				t.Errorf("%s: wallet %d: %+v", name, 59-i, a)
				break
			}
		}
	}
}

func TestNoWalletIsAskedForOnceTimeIsUp(t *testing.T) {
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
		t.Errorf("%d calls", node.trips)
	}
}
