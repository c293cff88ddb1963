package staking

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
)

// stakers are 21 pools with a stake in the last.
func stakers() (contracts, []core.Pool) {
	return deploy(append(emptyPools(20), pool(tokensOf(3), withdrawalsOf(4)))...)
}

func wantStaker(t *testing.T, c *Client) {
	t.Helper()
	stake, err := c.Stakes.Ask(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	wantAmounts(t, "staked", stake.Staked, "pool 20: 3")
	wantAmounts(t, "unbonding", stake.Unbonding, "pool 20: 4")
	if stake.Checked != 21 {
		t.Errorf("checked %d pools", stake.Checked)
	}
}

// inEveryWay runs a test on a new chain of stakers for each way of reading it.
func inEveryWay(t *testing.T, test func(t *testing.T, chain contracts, n *node, c *Client), change ...func(*Settings)) {
	t.Helper()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			test(t, chain, n, newClient(t, n, pools, append(change, way.config)...))
		})
	}
}

// withoutMulticallOn is a client of a new chain of stakers that reads them by
// batch, or one by one where the node takes no batches.
func withoutMulticallOn(t *testing.T) (*node, *Client, []core.Pool) {
	t.Helper()
	chain, pools := stakers()
	n := newNode(t, chain)
	return n, newClient(t, n, pools, withoutMulticall), pools
}

func TestRoundTripsOfOneStakeOver21Pools(t *testing.T) {
	want := map[string]int{
		"multicall":  1,
		"batch":      2,      // the block, then all pools
		"one by one": 2 + 42, // the block, the chain, 21 pools by two methods
	}
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		wantStaker(t, c) // learns what does not work
		way := strings.ReplaceAll(path.Base(t.Name()), "_", " ")
		if got := n.tripsOf(func() { wantStaker(t, c) }); got != want[way] {
			t.Errorf("%d round trips, want %d", got, want[way])
		}
	})
}

func TestPinnedReadsAreAllOfTheToldBlock(t *testing.T) {
	n, c, _ := withoutMulticallOn(t)
	for _, limit := range []int{100, 1} { // by batch, then one by one
		n.rpc.SetBatchLimits(limit, 1<<20)
		n.tags = nil
		// The chain moves with each request.
		n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			n.set(func() { n.block++ })
			next.ServeHTTP(w, r)
		}
		stake, err := c.Stakes.Ask(t.Context(), ann)
		if tags := slices.Compact(n.tags); err != nil || len(tags) != 1 || tags[0] != hexutil.EncodeUint64(stake.Block) {
			t.Errorf("block %d, asked at %v, %v", stake.Block, tags, err)
		}
	}
}

func TestWithoutMulticallThereTheBatchIsUsed(t *testing.T) {
	for name, multicall := range map[string]contract{
		"no code":                nil,
		"reverts, as out of gas": func([]byte, header) ([]byte, error) { return nil, revert{} },
		"another contract":       func([]byte, header) ([]byte, error) { return wordOf(1), nil },
		"no results":             func([]byte, header) ([]byte, error) { return append(wordOf(word), wordOf(0)...), nil },
		"its own methods fail": func(input []byte, at header) ([]byte, error) {
			others, _ := deploy(emptyPools(21)...)
			delete(others, multicallAddr)
			return others.multicall(input, at)
		},
	} {
		chain, pools := stakers()
		delete(chain, multicallAddr)
		if multicall != nil {
			chain[multicallAddr] = multicall
		}
		n := newNode(t, chain)
		c := newClient(t, n, pools)
		first, then := n.tripsOf(func() { wantStaker(t, c) }), n.tripsOf(func() { wantStaker(t, c) })
		if first != 3 || then != 2 { // the aggregate, the block, the batch; then without the aggregate
			t.Errorf("%s: %d round trips, then %d", name, first, then)
		}
	}
}

// onBatches has batches answered by spoil, from the right answer, and leaves
// single calls alone.
func onBatches(spoil func(w http.ResponseWriter, answers []map[string]any)) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, _ := io.ReadAll(r.Body)
		answer := record(r, body, next)
		var batch []map[string]any
		if json.Unmarshal(answer, &batch) != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
			return
		}
		spoil(w, batch)
	}
}

func TestElementsThatFailInABatchAreFailedPools(t *testing.T) {
	n, c, pools := withoutMulticallOn(t)
	n.around = onBatches(func(w http.ResponseWriter, a []map[string]any) {
		delete(a[1], "result")
		a[1]["error"] = map[string]any{"code": -32005, "message": "spoiled"}
		a[2]["result"] = nil
		a[3]["result"] = "0xzz"
		a[4]["result"] = 12
		a[5]["result"] = "1"
		a[6]["error"] = nil // as JSON-RPC 1.0 has it beside a result
		writeJSON(w, a)
	})
	stake, err := c.Stakes.Ask(t.Context(), ann)
	if err != nil || !slices.Equal(poolsOf(stake.Failed), pools[:5]) || stake.Checked != 16 {
		t.Errorf("got %v, checked %d, %v", stake.Failed, stake.Checked, err)
	}
	for _, f := range stake.Failed[1:] { // what go-ethereum says of the others may quote the node
		if f.Err != errNotJSONRPC {
			t.Errorf("%s: %v", f.Pool.Name, f.Err)
		}
	}
}

func TestBatchesThatAreNotAnsweredRightAreAskedOneByOne(t *testing.T) {
	foreign := func(id any) func(http.ResponseWriter, []map[string]any) {
		return func(w http.ResponseWriter, a []map[string]any) {
			a[3]["id"], a[3]["result"] = id, common.MaxHash
			writeJSON(w, a)
		}
	}
	for name, spoil := range map[string]func(http.ResponseWriter, []map[string]any){
		"one error object": func(w http.ResponseWriter, _ []map[string]any) {
			writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32600, "message": "spoiled"}})
		},
		"an object":   func(w http.ResponseWriter, a []map[string]any) { writeJSON(w, a[1]) },
		"status 400":  func(w http.ResponseWriter, _ []map[string]any) { http.Error(w, "spoiled", http.StatusBadRequest) },
		"one missing": func(w http.ResponseWriter, a []map[string]any) { writeJSON(w, append(a[:5:5], a[6:]...)) },
		"none":        func(w http.ResponseWriter, _ []map[string]any) { writeJSON(w, []any{}) },
		"a null":      func(w http.ResponseWriter, a []map[string]any) { a[4] = nil; writeJSON(w, a) },
		"foreign id":  foreign(999999),
		"no id":       foreign(nil),
		"one doubled in place of another": func(w http.ResponseWriter, a []map[string]any) {
			a[3]["id"] = a[21]["id"]
			writeJSON(w, a)
		},
		"one doubled besides": func(w http.ResponseWriter, a []map[string]any) {
			other := map[string]any{"jsonrpc": "2.0", "id": a[2]["id"], "result": common.MaxHash}
			writeJSON(w, append([]map[string]any{other}, a...))
		},
	} {
		n, c, _ := withoutMulticallOn(t)
		n.around = onBatches(spoil)
		wantStaker(t, c)
		if got := n.tripsOf(func() { wantStaker(t, c) }); got != 44 {
			t.Errorf("%s, then: %d round trips, want 44: the batch is not tried again at once", name, got)
		}
	}
}

func TestAnswersOfABatchMayComeInAnyOrder(t *testing.T) {
	n, c, _ := withoutMulticallOn(t)
	n.around = onBatches(func(w http.ResponseWriter, a []map[string]any) {
		slices.Reverse(a)
		writeJSON(w, a)
	})
	if got := n.tripsOf(func() { wantStaker(t, c) }); got != 2 {
		t.Errorf("%d round trips, want 2", got)
	}
}

func TestANodeThatRefusesIsNotAskedOn(t *testing.T) {
	n, c, _ := withoutMulticallOn(t)
	n.around = onBatches(func(w http.ResponseWriter, _ []map[string]any) {
		writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32005, "message": "spoiled"}})
	})
	trips := n.tripsOf(func() {
		_, err := c.Stakes.Ask(t.Context(), ann)
		wantReason(t, err, core.Limited)
	})
	if trips != 2 {
		t.Errorf("a limited batch: %d round trips, want 2", trips)
	}

	n, c, _ = withoutMulticallOn(t)
	n.rpc.SetBatchLimits(1, 1<<20)
	wantStaker(t, c) // one by one
	n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n.mu.Lock()
		late := n.trips > 5
		n.mu.Unlock()
		// The chain's id is asked among the pools, in no order.
		body, _ := io.ReadAll(r.Body)
		if late && !strings.Contains(string(body), "eth_chainId") {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		writeRaw(w, record(r, body, next))
	}
	trips = n.tripsOf(func() {
		stake, err := c.Stakes.Ask(t.Context(), ann)
		if err != nil || stake.Outcome() != core.Undetermined || stake.Checked+len(stake.Failed) != 21 {
			t.Errorf("got %v, %v", stake, err)
		}
	})
	if trips > 15 {
		t.Errorf("one by one: %d round trips after the first refusal at the 6th", trips)
	}
}
