package staking

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

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

func TestRoundTripsOfOneStakeOver21Pools(t *testing.T) {
	want := map[string]int{
		"multicall":  1,
		"batch":      2,      // the block, then all pools
		"one by one": 2 + 42, // the block, the chain, 21 pools by two methods
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			c := newClient(t, n, pools, way.config)
			wantStaker(t, c) // learns what does not work
			if got := n.tripsOf(func() { wantStaker(t, c) }); got != want[way.name] {
				t.Errorf("%d round trips, want %d", got, want[way.name])
			}
		})
	}
}

func TestPinnedReadsAreAllOfTheToldBlock(t *testing.T) {
	for _, way := range ways[1:] {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			// The chain moves with each request.
			n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				n.set(func() { n.block++ })
				next.ServeHTTP(w, r)
			}
			stake, err := newClient(t, n, pools, way.config).Stakes.Ask(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			if stake.Block != 1001 || len(slices.Compact(n.tags)) != 1 || n.tags[0] != "0x3e9" {
				t.Errorf("block %d, asked at %v", stake.Block, slices.Compact(n.tags))
			}
		})
	}
}

func TestWithoutMulticallThereTheBatchIsUsed(t *testing.T) {
	tests := map[string]contract{
		"no code":                nil,
		"reverts, as out of gas": func([]byte, header) ([]byte, error) { return nil, revert{} },
		"another contract":       func([]byte, header) ([]byte, error) { return wordOf(1), nil },
		"no results":             func([]byte, header) ([]byte, error) { return append(wordOf(word), wordOf(0)...), nil },
		"its own methods fail": func(input []byte, at header) ([]byte, error) {
			others, _ := deploy(emptyPools(21)...)
			delete(others, multicallAddr)
			return others.multicall(input, at)
		},
	}
	for name, multicall := range tests {
		t.Run(name, func(t *testing.T) {
			chain, pools := stakers()
			delete(chain, multicallAddr)
			if multicall != nil {
				chain[multicallAddr] = multicall
			}
			n := newNode(t, chain)
			c := newClient(t, n, pools)
			if got := n.tripsOf(func() { wantStaker(t, c) }); got != 3 {
				t.Errorf("first: %d round trips, want 3: the aggregate, the block, the batch", got)
			}
			if got := n.tripsOf(func() { wantStaker(t, c) }); got != 2 {
				t.Errorf("then: %d round trips, want 2: the aggregate is not tried again at once", got)
			}
		})
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

func TestBatchesThatAreNotAnsweredRightAreAskedOneByOne(t *testing.T) {
	foreign := func(id any) func(http.ResponseWriter, []map[string]any) {
		return func(w http.ResponseWriter, a []map[string]any) {
			a[3]["id"], a[3]["result"] = id, common.MaxHash
			writeJSON(w, a)
		}
	}
	tests := map[string]func(http.ResponseWriter, []map[string]any){
		"one error object": func(w http.ResponseWriter, _ []map[string]any) {
			writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32600, "message": "spoiled"}})
		},
		"an object":  func(w http.ResponseWriter, a []map[string]any) { writeJSON(w, a[1]) },
		"status 400": func(w http.ResponseWriter, _ []map[string]any) { http.Error(w, "spoiled", http.StatusBadRequest) },
		"one missing": func(w http.ResponseWriter, a []map[string]any) {
			writeJSON(w, append(a[:5:5], a[6:]...))
		},
		"none":       func(w http.ResponseWriter, _ []map[string]any) { writeJSON(w, []any{}) },
		"a null":     func(w http.ResponseWriter, a []map[string]any) { a[4] = nil; writeJSON(w, a) },
		"foreign id": foreign(999999),
		"text id":    foreign("7"),
		"no id":      foreign(nil),
		"one doubled in place of another": func(w http.ResponseWriter, a []map[string]any) {
			a[3]["id"] = a[21]["id"]
			writeJSON(w, a)
		},
		"one doubled besides": func(w http.ResponseWriter, a []map[string]any) {
			other := map[string]any{"jsonrpc": "2.0", "id": a[2]["id"], "result": common.MaxHash}
			writeJSON(w, append([]map[string]any{other}, a...))
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			n.around = onBatches(spoil)
			c := newClient(t, n, pools, withoutMulticall)
			wantStaker(t, c)
			if got := n.tripsOf(func() { wantStaker(t, c) }); got != 44 {
				t.Errorf("then: %d round trips, want 44: the batch is not tried again at once", got)
			}
		})
	}
}

func TestAnswersOfABatchMayComeInAnyOrder(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.around = onBatches(func(w http.ResponseWriter, a []map[string]any) {
		slices.Reverse(a)
		writeJSON(w, a)
	})
	c := newClient(t, n, pools, withoutMulticall)
	wantStaker(t, c)
	if got := n.tripsOf(func() { wantStaker(t, c) }); got != 2 {
		t.Errorf("%d round trips, want 2", got)
	}
}

func TestElementsThatFailInABatchAreFailedPools(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
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
	stake, err := newClient(t, n, pools, withoutMulticall).Stakes.Ask(t.Context(), ann)
	if err != nil || !slices.Equal(poolsOf(stake.Failed), pools[:5]) || stake.Checked != 16 {
		t.Errorf("got %v, checked %d, %v", stake.Failed, stake.Checked, err)
	}
}

func TestALimitedBatchIsNotAskedOneByOne(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.around = onBatches(func(w http.ResponseWriter, _ []map[string]any) {
		writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32005, "message": "spoiled"}})
	})
	c := newClient(t, n, pools, withoutMulticall)
	trips := n.tripsOf(func() {
		_, err := c.Stakes.Ask(t.Context(), ann)
		wantReason(t, err, core.Limited)
	})
	if trips != 2 {
		t.Errorf("%d round trips, want 2", trips)
	}
}

func TestOneByOneStopsWhenTheNodeRefuses(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.rpc.SetBatchLimits(1, 1<<20)
	c := newClient(t, n, pools, withoutMulticall)
	wantStaker(t, c)
	n.set(func() {
		n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			n.mu.Lock()
			late := n.trips > 5
			n.mu.Unlock()
			// The chain's id is asked among the pools, in no order.
			body, _ := io.ReadAll(r.Body)
			if late && !strings.Contains(string(body), "eth_chainId") {
				w.Header().Set("Retry-After", "9")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			writeRaw(w, record(r, body, next))
		}
	})
	trips := n.tripsOf(func() {
		stake, err := c.Stakes.Ask(t.Context(), ann)
		if err != nil || stake.Outcome() != core.Undetermined || stake.Checked+len(stake.Failed) != 21 {
			t.Errorf("got %v, %v", stake, err)
		}
	})
	if trips > 15 {
		t.Errorf("%d round trips after the first refusal at the 6th", trips)
	}
}
