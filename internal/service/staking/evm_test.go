//go:build evm

package staking

import (
	"errors"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/service/staking/evmabi"
)

// evm is a chain that runs the contracts of testdata on go-ethereum's own EVM.
type evm struct {
	t     *testing.T
	state *state.StateDB
	contracts
}

// newEVM returns a chain without contracts. Ann has coins on it.
func newEVM(t *testing.T) *evm {
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		t.Fatal(err)
	}
	plenty := new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil)
	db.AddBalance(ann, uint256.MustFromBig(plenty), tracing.BalanceChangeUnspecified)
	return &evm{t, db, contracts{}}
}

// config returns the settings of a call in a block. Ann sends the call, and pays value.
func (e *evm) config(number uint64, value *big.Int) *runtime.Config {
	rules := *params.MergedTestChainConfig
	rules.ChainID = big.NewInt(testChain)
	return &runtime.Config{
		ChainConfig: &rules,
		Origin:      ann,
		State:       e.state,
		BlockNumber: new(big.Int).SetUint64(number),
		Time:        uint64(time.Now().Unix()),
		GasLimit:    30_000_000,
		Value:       value,
	}
}

// deploy puts a contract of testdata at an address.
func (e *evm) deploy(name string, at common.Address) {
	e.t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".bin")
	if err != nil {
		e.t.Fatal(err)
	}
	code, _, _, err := runtime.Create(common.FromHex(strings.TrimSpace(string(text))), e.config(1, nil))
	if err != nil {
		e.t.Fatalf("deploy %s: %v", name, err)
	}
	e.state.SetCode(at, code, tracing.CodeChangeUnspecified)
	e.contracts[at] = e.callable(at)
}

// transact sends a transaction of ann's to a StakingPool.
func (e *evm) transact(block uint64, to core.Pool, value *big.Int, method string, arguments ...*big.Int) {
	e.t.Helper()
	input := evmabi.Selector(method)
	for _, a := range arguments {
		input = append(input, evmabi.Uint256(a)...)
	}
	if _, _, err := runtime.Call(to.Address, input, e.config(block, value)); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

// callable returns the contract at an address, as the fake node calls it. A call changes no state.
func (e *evm) callable(at common.Address) services.Contract {
	return func(_ services.Node, block uint64, input []byte) ([]byte, error) {
		before := e.state.Snapshot()
		defer e.state.RevertToSnapshot(before)
		output, _, err := runtime.Call(at, input, e.config(block, nil))
		if errors.Is(err, vm.ErrExecutionReverted) {
			reason, _ := abi.UnpackRevert(output)
			return nil, services.Reverted(reason)
		}
		return output, err
	}
}

// deployAll deploys the Aggregator at Multicall3's address, and the contracts as pools. A pool without
// a name has no code.
func (e *evm) deployAll(contracts ...string) []core.Pool {
	e.t.Helper()
	e.deploy("Aggregator", multicallAddr)
	pools := make([]core.Pool, len(contracts))
	for i, contract := range contracts {
		pools[i] = poolAt(i)
		if contract != "" {
			e.deploy(contract, pools[i].Address)
		}
	}
	return pools
}

func ether(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }

const (
	evmDelay = 100 // the contract's DELAY in blocks
	// evmUnstaked is how many blocks ago ann unstaked 25 tokens.
	evmUnstaked = 60
	// evmWait is how long it takes until these can be withdrawn. The node has a block every two seconds.
	evmWait = (evmDelay - evmUnstaked) * 2 * time.Second
)

// evmStakes returns a chain with five pools. Pools 0, 1 and 4 are StakingPools, pool 2 reverts, and pool 3 has no code.
// Ann has staked 1500 tokens in pool 1, and a tiny amount in pool 4. Of the 1500 tokens she has unstaked 300, which can
// be withdrawn, and 25, which cannot be withdrawn yet.
func evmStakes(t *testing.T) (*evm, *node, []core.Pool) {
	t.Helper()
	chain := newEVM(t)
	pools := chain.deployAll("StakingPool", "StakingPool", "RevertingPool", "", "StakingPool")
	chain.transact(500, pools[1], ether(1500), "stake()")
	chain.transact(501, pools[1], nil, "unstake(uint256)", ether(300))
	chain.transact(503, pools[4], big.NewInt(1), "stake()")
	n := newNode(t, chain.contracts)
	chain.transact(n.Block()-evmUnstaked, pools[1], nil, "unstake(uint256)", ether(25))
	return chain, n, pools
}

// wantEVMStakes fails the test unless stake is ann's in the chain of evmStakes. The next withdrawal must have the time
// at, which may be zero.
func wantEVMStakes(t *testing.T, stake core.Stake, n *node, pools []core.Pool, at time.Time) {
	t.Helper()
	if stake.Block != n.Block() || stake.Checked != 3 {
		t.Errorf("block %d, checked %d pools, want %d and 3", stake.Block, stake.Checked, n.Block())
	}
	wantAmounts(t, "staked", stake.Staked, "pool 1: 1175", "pool 4: 0.000000000000000001")
	wantAmounts(t, "withdrawable", stake.Withdrawable, "pool 1: 300")
	wantAmounts(t, "unbonding", stake.Unbonding, "pool 1: 25")
	if next := stake.NextWithdrawal; !next.Amount.Equal(whole(25)) || !next.At.Equal(at) {
		t.Errorf("the next withdrawal is %+v, want 25 at %v", next, at)
	}
	unread := pools[2:4]
	if !slices.Equal(poolsOf(stake.Failed), unread) || !slices.Equal(poolsOf(stake.UnbondingFailed), unread) {
		t.Errorf("failed %v, withdrawals failed %v", stake.Failed, stake.UnbondingFailed)
	}
}

// Multicall3 reports the EVM's time of the block, and eth_getBlockByNumber reports the fake node's. The client takes
// that for the answers of two nodes, does not trust the block interval, and gives the next withdrawal no time.
func TestEVMStakesAreReadInEveryWay(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			_, n, pools := evmStakes(t)
			way.changeNode(n)
			c := newClient(t, n, pools, way.changeSettings, withClaimBlocks(evmDelay))
			stake, err := c.Stakes.Fetch(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			at := stake.BlockTime.Add(evmWait)
			if way.name == "multicall" {
				at = time.Time{}
				if n.trips != 3 {
					t.Errorf("%d round trips, want 3: the aggregate, and two for the block interval", n.trips)
				}
			}
			wantEVMStakes(t, stake, n, pools, at)
		})
	}
}

// The pool uses up the gas for the later calls in the aggregate, including the calls for the block. The client then
// reads everything again in a batch, so the next withdrawal always has a time.
func TestEVMAPoolThatBurnsTheGasSpoilsNoOther(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, n, pools := evmStakes(t)
			way.changeNode(n)
			c := newClient(t, n, pools, way.changeSettings, withClaimBlocks(evmDelay))
			chain.deploy("BurningPool", pools[3].Address)
			stake, err := c.Stakes.Fetch(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			wantEVMStakes(t, stake, n, pools, stake.BlockTime.Add(evmWait))
		})
	}
}

func TestEVMManyWalletsGetTheSameAnswersAsOneByOne(t *testing.T) {
	chain := newEVM(t)
	pools := chain.deployAll(slices.Repeat([]string{"StakingPool"}, 21)...)
	chain.transact(500, pools[4], ether(7), "stake()")
	n := newNode(t, chain.contracts)
	c := newClient(t, n, pools)
	wallets := append(descending(perCall-1), ann) // as many as fit into one call for 21 pools
	answers := c.StakesOf(t.Context(), wallets)
	if len(answers) != len(wallets) || n.trips != 1 {
		t.Fatalf("%d answers in %d round trips, want %d in 1", len(answers), n.trips, len(wallets))
	}
	for i, wallet := range wallets {
		one, err := c.Stakes.Fetch(t.Context(), wallet)
		many := answers[i]
		if err != nil || many.Err != nil {
			t.Errorf("wallet %d: %v among many, %v alone", i, many.Err, err)
		}
		if many.Value.StakerStatus() != one.StakerStatus() || !many.Value.Total().Equal(one.Total()) {
			t.Errorf("wallet %d: %+v among many, %+v alone", i, many, one)
		}
	}
	wantAmounts(t, "staked", answers[len(answers)-1].Value.Staked, "pool 4: 7")
}

// An eth_call without "to" runs the data as a contract's creation code.
func TestEVMHeightCallReturnsTheNumberThatContractsRead(t *testing.T) {
	chain := newEVM(t)
	returned, _, _, err := runtime.Create(common.FromHex(heightParams["data"]), chain.config(parentBlock, nil))
	if err != nil {
		t.Fatal(err)
	}
	number, err := decodeUint256(returned)
	if err != nil || number.Uint64() != parentBlock {
		t.Errorf("it returns %x (%v, %v), want %d", returned, number, err, parentBlock)
	}
}
