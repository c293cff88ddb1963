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

// walletNo returns wallet n, which stakes n tokens in a counting pool.
func walletNo(n int) (wallet common.Address) {
	binary.BigEndian.PutUint32(wallet[16:], uint32(n))
	return wallet
}

// revertingWallet is the wallet for which a counting pool reverts.
const revertingWallet = 13

// countingPool is a pool in which wallet n stakes n tokens.
func countingPool(_ services.Node, _ uint64, input []byte) ([]byte, error) {
	n := binary.BigEndian.Uint32(input[len(input)-4:])
	if n == revertingWallet {
		return nil, services.Reverted("")
	}
	return tokensOf(int64(n)), nil
}

// perCall is how many wallets StakesOf reads in one eth_call from a counting node, which has 21 pools.
const perCall = maxBatchCalls / 21

// countingNode returns a node of 20 empty pools and a counting pool.
func countingNode(t *testing.T) (*node, []core.Pool) {
	chain, pools := deploy(append(emptyPools(20), countingPool)...)
	return newNode(t, chain), pools
}

// descending returns the wallets from n-1 down to 0. They are not in ascending order, so that a mix-up is noticed.
func descending(n int) (wallets []common.Address) {
	for i := range n {
		wallets = append(wallets, walletNo(n-1-i))
	}
	return wallets
}

// stakesOf returns the answers of c for descending(n). It ends the test unless each wallet has an answer.
func stakesOf(ctx context.Context, t *testing.T, c *Client, n int) []query.Answer[core.Stake] {
	t.Helper()
	answers := c.StakesOf(ctx, descending(n))
	if len(answers) != n {
		t.Fatalf("%d answers for %d wallets", len(answers), n)
	}
	return answers
}

// wantStakes fails the test unless c reads the stakes of descending(wallets) correctly.
func wantStakes(t *testing.T, c *Client, wallets int) {
	t.Helper()
	for i, a := range stakesOf(t.Context(), t, c, wallets) {
		n := wallets - 1 - i
		want := core.Staker
		switch n {
		case 0:
			want = core.NotStaker
		case revertingWallet:
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
	for wallets, wantTrips := range map[int]int{
		0:             0,
		1:             1,
		perCall:       1,
		perCall + 1:   2,
		2*perCall + 1: 3,
	} {
		node, pools := countingNode(t)
		wantStakes(t, newClient(t, node, pools), wallets)
		if node.trips != wantTrips {
			t.Errorf("%d wallets were read in %d calls, want %d", wallets, node.trips, wantTrips)
		}
	}
}

func TestAPoolThatIsUnreadForAWalletIsReportedOnce(t *testing.T) {
	for wallets, wantReports := range map[int]int{
		0:                   0,
		revertingWallet:     0, // not among the wallets, which end with the one before
		revertingWallet + 1: 1,
		perCall:             1,
		2*perCall + 1:       1,
	} {
		node, pools := countingNode(t)
		c := newClient(t, node, pools)
		counts := countUnread(c)
		stakesOf(t.Context(), t, c, wallets)
		if counts[pools[20]] != wantReports {
			t.Errorf("%d wallets: %d reports, want %d", wallets, counts[pools[20]], wantReports)
		}
	}
}

// limitCalls makes the node refuse an eth_call to Multicall3 that contains more than maxCalls calls, as a limit on gas
// does. *refused counts the refusals.
func limitCalls(n *node, maxCalls int) (refused *int) {
	refused = new(int)
	inner := n.Contracts[multicallAddr]
	n.Contracts[multicallAddr] = func(node services.Node, block uint64, input []byte) ([]byte, error) {
		const lengthAt = 4 + 32 // after the selector and the list's offset
		const lengthEnd = lengthAt + 32
		if len(input) > lengthEnd && binary.BigEndian.Uint32(input[lengthEnd-4:]) > uint32(maxCalls) {
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
	wantStakes(t, c, 100)
	if *refused != 2 { // 52 and 26 wallets; after that, no call has more than 13.
		t.Errorf("%d calls were refused, want 2", *refused)
	}
	if !c.usesMulticall() {
		t.Error("Multicall3 is no longer used, because a call for many wallets was refused")
	}
}

func TestManyWalletsAreReadInEveryWay(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			node, pools := countingNode(t)
			way.changeNode(node)
			wantStakes(t, newClient(t, node, pools, way.changeSettings), 30)
		})
	}
}

func TestManyWalletsAreReadIfMulticallCanReadOneWalletOrNone(t *testing.T) {
	for name, maxCalls := range map[string]int{
		"one wallet": 21 + 3, // the pools, and three calls about the block
		"none":       0,
	} {
		t.Run(name, func(t *testing.T) {
			node, pools := countingNode(t)
			limitCalls(node, maxCalls)
			wantStakes(t, newClient(t, node, pools), 30)
		})
	}
}

// A wallet whose stake was not read must not count as staking, nor as not staking.
func TestABrokenBatchIsAnErrorForEveryWallet(t *testing.T) {
	t.Parallel() // The client waits before it retries.
	for name, change := range map[string]func(n *node){
		"another chain": func(n *node) { n.ChainID++ },
		"an old block":  func(n *node) { n.setClock(time.Now().Add(-time.Hour)) },
		"status 502": func(n *node) {
			n.respond = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusBadGateway) }
		},
		"an empty result": func(n *node) {
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
		t.Run(name, func(t *testing.T) {
			node, pools := countingNode(t)
			change(node)
			const wallets = 60
			for i, a := range stakesOf(t.Context(), t, newClient(t, node, pools), wallets) {
				if a.Err == nil {
					t.Fatalf("wallet %d: %+v, want an error", wallets-1-i, a)
				}
			}
		})
	}
}

// Multicall3's output lacks its last word, which is the stake of the last wallet in the last pool. So the client
// ignores the output, and calls each pool.
func TestAMissingResultDoesNotMeanNotStaking(t *testing.T) {
	node, pools := countingNode(t)
	multicall := node.Contracts[multicallAddr]
	node.Contracts[multicallAddr] = func(n services.Node, block uint64, input []byte) ([]byte, error) {
		output, err := multicall(n, block, input)
		return output[:len(output)-32], err
	}
	wantStakes(t, newClient(t, node, pools), 60)
}

func TestNoWalletIsReadAfterCancellation(t *testing.T) {
	node, pools := countingNode(t)
	c := newClient(t, node, pools)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const wallets = 200
	for i, a := range stakesOf(ctx, t, c, wallets) {
		if a.Err == nil {
			t.Errorf("wallet %d: %+v, want an error", wallets-1-i, a)
		}
	}
	if node.trips != 0 {
		t.Errorf("%d calls, want 0", node.trips)
	}
}
