package staking

import (
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
	"herald/internal/service/staking/evmabi"
)

// stakers are 21 pools with a stake in the last.
func stakers() (contracts, []core.Pool) {
	return deploy(append(emptyPools(20), pool(tokensOf(3), withdrawalsOf(4)))...)
}

func wantStaker(t *testing.T, c *Client) {
	t.Helper()
	stake, err := c.Stakes.Fetch(t.Context(), ann)
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
func withoutMulticallOn(t *testing.T) (*node, *Client) {
	t.Helper()
	chain, pools := stakers()
	n := newNode(t, chain)
	return n, newClient(t, n, pools, withoutMulticall)
}

func TestPinnedReadsAreAllOfTheToldBlock(t *testing.T) {
	n, c := withoutMulticallOn(t)
	for _, n.noBatches = range []bool{false, true} {
		n.tags = nil
		// The chain moves with each request.
		n.spoil = func(w http.ResponseWriter, right []byte) {
			n.setClock(n.Now().Add(2 * time.Second))
			w.Write(right)
		}
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if tags := slices.Compact(n.tags); err != nil || len(tags) != 1 || tags[0] != hexutil.EncodeUint64(stake.Block) {
			t.Errorf("block %d, asked at %v, %v", stake.Block, tags, err)
		}
	}
}

func TestWithoutMulticallThereTheBatchIsUsed(t *testing.T) {
	for name, multicall := range map[string]services.Contract{
		"no code":                nil,
		"reverts, as out of gas": pool(nil, nil),
		"another contract":       pool(wordOf(1), nil),
		"no results":             pool(append(wordOf(evmabi.Word), wordOf(0)...), nil),
		"its own methods fail": func(n services.Node, block uint64, input []byte) ([]byte, error) {
			n.Contracts = nil
			return sandbox.Contracts[multicallAddr](n, block, input)
		},
	} {
		chain, pools := stakers()
		chain[multicallAddr] = multicall
		n := newNode(t, chain)
		c := newClient(t, n, pools)
		first, then := n.tripsOf(func() { wantStaker(t, c) }), n.tripsOf(func() { wantStaker(t, c) })
		if first != 3 || then != 2 { // the aggregate, the block, the batch; then without the aggregate
			t.Errorf("%s: %d round trips, then %d", name, first, then)
		}
	}
}

// Each question takes so many round trips at first, within its time, and once that is over.
func TestWhatIsKnownIsAskedForAgainOnceItsTimeIsOver(t *testing.T) {
	fetch := func(t *testing.T, c *Client) { _, _ = c.Stakes.Fetch(t.Context(), ann) }
	for name, test := range map[string]struct {
		multicall services.Contract
		entries   []entry
		ask       func(*testing.T, *Client)
		lasts     time.Duration
		trips     [3]int
	}{
		"the pace":              {sandbox.Contracts[multicallAddr], []entry{{500, 0}}, func(t *testing.T, c *Client) { next(t, c) }, intervalTTL, [3]int{3, 1, 3}},
		"Multicall3 that fails": {nil, nil, fetch, cooldown, [3]int{3, 2, 3}},
		"a ping":                {sandbox.Contracts[multicallAddr], nil, func(t *testing.T, c *Client) { _, _ = c.Ping.Get(t.Context(), struct{}{}) }, 15 * time.Second, [3]int{1, 0, 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, test.entries...)
			m.Contracts[multicallAddr] = test.multicall
			for i, wait := range []time.Duration{0, test.lasts - 1, 1} {
				time.Sleep(wait)
				if got := m.tripsOf(func() { test.ask(t, c) }); got != test.trips[i] {
					t.Errorf("%s, asked for time %d: %d round trips, want %d", name, i+1, got, test.trips[i])
				}
			}
		})
	}
}

// onBatches has batches answered by spoil, from the right answer, and leaves
// single calls alone.
func onBatches(spoil func(w http.ResponseWriter, answers []map[string]any)) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, right []byte) {
		var batch []map[string]any
		if json.Unmarshal(right, &batch) != nil {
			w.Write(right)
			return
		}
		spoil(w, batch)
	}
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// refusal is a JSON-RPC error that stands for a whole batch.
func refusal(code int) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": "spoiled"}}
}

func TestElementsThatFailInABatchAreFailedPools(t *testing.T) {
	n, c := withoutMulticallOn(t)
	n.spoil = onBatches(func(w http.ResponseWriter, a []map[string]any) {
		stakes := a[2:] // after the chain's ID and the height
		delete(stakes[0], "result")
		stakes[0]["error"] = map[string]any{"code": -32005, "message": "spoiled"}
		stakes[1]["result"] = nil
		stakes[2]["result"] = "0xzz"
		stakes[3]["result"] = 12
		stakes[4]["result"] = "1"
		stakes[5]["error"] = nil // as JSON-RPC 1.0 has it beside a result
		slices.Reverse(a)        // they may come in any order
		writeJSON(w, a)
	})
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || n.trips != 2 {
		t.Errorf("%v after %d round trips, want 2", err, n.trips)
	}
	if !slices.Equal(poolsOf(stake.Failed), c.settings.Pools[:5]) || stake.Checked != 16 {
		t.Errorf("got %v, checked %d pools, want 16", stake.Failed, stake.Checked)
	}
	for _, f := range stake.Failed[1:] { // what go-ethereum says of the others may quote the node
		if f.Err != errNotJSONRPC {
			t.Errorf("%s: %v", f.Pool.Name, f.Err)
		}
	}
}

func TestBatchesThatAreNotAnsweredRightAreAskedOneByOne(t *testing.T) {
	for name, spoil := range map[string]func(http.ResponseWriter, []map[string]any){
		"one error":   func(w http.ResponseWriter, _ []map[string]any) { writeJSON(w, refusal(-32600)) },
		"status 400":  func(w http.ResponseWriter, _ []map[string]any) { http.Error(w, "spoiled", http.StatusBadRequest) },
		"one missing": func(w http.ResponseWriter, a []map[string]any) { writeJSON(w, append(a[:5:5], a[6:]...)) },
		"too large for geth": func(w http.ResponseWriter, a []map[string]any) {
			a[0] = map[string]any{"jsonrpc": "2.0", "id": a[0]["id"], "error": refusal(-32600)["error"]}
			writeJSON(w, a[:1])
		},
		"a null": func(w http.ResponseWriter, a []map[string]any) { a[4] = nil; writeJSON(w, a) },
		"foreign id": func(w http.ResponseWriter, a []map[string]any) {
			a[3]["id"], a[3]["result"] = 999999, common.MaxHash
			writeJSON(w, a)
		},
		"one doubled besides": func(w http.ResponseWriter, a []map[string]any) {
			other := map[string]any{"jsonrpc": "2.0", "id": a[2]["id"], "result": common.MaxHash}
			writeJSON(w, append([]map[string]any{other}, a...))
		},
	} {
		n, c := withoutMulticallOn(t)
		n.spoil = onBatches(spoil)
		if got := n.tripsOf(func() { wantStaker(t, c) }); got != 46 { // the block, the batch, the chain, the height, 21 pools by two methods
			t.Errorf("%s: %d round trips, want 46", name, got)
		}
	}
}

func TestSomeCallsAreMadeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := withdrawing(t, 0)
		c.settings.Multicall, m.noBatches, m.takes = nil, true, time.Second
		began := time.Now()
		_, err := c.Stakes.Fetch(t.Context(), ann)
		// The block, the batch, and twice MaxCalls at most for the chain and 21 pools by two methods.
		if took := time.Since(began); err != nil || took != 4*time.Second {
			t.Errorf("it took %v, want 4s; %v", took, err)
		}
	})
}

// A node that speaks HTTP/2 has one connection for all of them.
func TestNoMoreCallsAreMadeAtOnceForManyWallets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := withdrawing(t, 0)
		c.settings.Multicall, m.noBatches, m.takes = nil, true, time.Millisecond
		var asking sync.WaitGroup
		for i := range 2 * query.MaxCalls {
			asking.Go(func() {
				if _, err := c.Stakes.Get(t.Context(), walletNo(i)); err != nil {
					t.Errorf("wallet %d: %v", i, err)
				}
			})
		}
		asking.Wait()
		if m.most != query.MaxCalls {
			t.Errorf("%d calls at once, want %d", m.most, query.MaxCalls)
		}
	})
}

func TestALimitedBatchIsNotAskedOneByOne(t *testing.T) {
	for name, spoil := range map[string]func(w http.ResponseWriter, a []map[string]any){
		"as a whole": func(w http.ResponseWriter, _ []map[string]any) { writeJSON(w, refusal(-32005)) },
		"of the chain's id alone": func(w http.ResponseWriter, a []map[string]any) {
			a[0] = map[string]any{"jsonrpc": "2.0", "id": a[0]["id"], "error": refusal(-32005)["error"]}
			writeJSON(w, a)
		},
	} {
		n, c := withoutMulticallOn(t)
		n.spoil = onBatches(spoil)
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, core.Limited)
		if n.trips != 2 {
			t.Errorf("a batch that is limited %s: %d round trips, want 2", name, n.trips)
		}
	}
}

// Behind a load balancer one node tells of a block that another does not know yet.
func TestABlockThatIsNewsToANodeIsAskedForOnceMore(t *testing.T) {
	for _, multicall := range []*common.Address{nil, &multicallAddr} {
		for _, text := range missingStates() {
			chain, pools := stakers()
			n := newNode(t, chain)
			c := newClient(t, n, pools, func(s *Settings) { s.Multicall = multicall })
			var news any
			_ = json.Unmarshal([]byte(text), &news)
			n.spoil = func(w http.ResponseWriter, right []byte) {
				var batch []map[string]any
				if json.Unmarshal(right, &batch) == nil && n.trips == 2 {
					delete(batch[3], "result")
					batch[3]["error"] = news
					writeJSON(w, batch)
				} else if multicall != nil && n.trips == 1 {
					writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": 1, "error": news})
				} else {
					w.Write(right)
				}
			}
			stake, err := c.Stakes.Get(t.Context(), ann)
			if want := map[bool]int{true: 4, false: 2}[multicall == nil]; err != nil || stake.Value.Checked != 21 || n.trips != want {
				t.Errorf("%s: %+v, %v after %d round trips, want %d", text, stake.Value, err, n.trips, want)
			}
		}
	}
}

func TestAStakeIsCachedIfItIsComplete(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	c := newClient(t, n, pools, withoutMulticall)
	ask := func() query.Snapshot[core.Stake] {
		s, err := c.Stakes.Get(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sound := chain[pools[3].Address]
	chain[pools[3].Address] = pool(nil, nil)
	if s := ask(); s.Value.Complete() || !s.FreshUntil.IsZero() {
		t.Errorf("complete or fresh, though a pool reverts: %+v", s)
	}
	chain[pools[3].Address] = sound
	if !ask().Value.Complete() {
		t.Error("an incomplete stake was cached")
	}
	trips := n.trips
	ask()
	if n.trips != trips {
		t.Errorf("asked %d times more", n.trips-trips)
	}
	pinged, err := c.Ping.Get(t.Context(), struct{}{})
	if err != nil || pinged.Value.Checked != 21 {
		t.Errorf("pinged: %+v, %v", pinged, err)
	}
}

// FuzzWithdrawals compares with go-ethereum's decoder, which takes more forms.
func FuzzWithdrawals(f *testing.F) {
	f.Add(withdrawalsOf(1, 2, 3))
	f.Add([]byte{})
	f.Add(append(wordOf(2*evmabi.Word), wordOf(0)...)) // another offset
	f.Add(append(wordOf(evmabi.Word), common.MaxHash[:]...))
	list, err := abi.NewType("tuple[]", "", []abi.ArgumentMarshaling{
		{Name: "amount", Type: "uint256"}, {Name: "block", Type: "uint256"},
	})
	if err != nil {
		f.Fatal(err)
	}
	type withdrawal struct{ Amount, Block *big.Int }
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeWithdrawals(data, 0)
		if err != nil {
			return
		}
		values, err := abi.Arguments{{Type: list}}.Unpack(data)
		if err != nil {
			t.Fatalf("%x: taken here, refused by go-ethereum: %v", data, err)
		}
		want := *abi.ConvertType(values[0], new([]withdrawal)).(*[]withdrawal)
		if !slices.EqualFunc(got, want, func(g Withdrawal, w withdrawal) bool {
			return g.Amount.BigInt().Cmp(w.Amount) == 0 && g.Block.Cmp(w.Block) == 0
		}) {
			t.Fatalf("%x: %v, go-ethereum's %v", data, got, want)
		}
	})
}

func FuzzCheckAnswer(f *testing.F) {
	for _, seed := range []string{
		`[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"error":{"code":3}}]`,
		`[{"id":1,"result":"0x1"},{"id":1,"result":"0x2"}]`,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
		`{"id":null,"error":{"code":-32005,"message":"limit"}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, inBatch bool) {
		sent, asked := single, []request{{ID: "1"}}
		if inBatch {
			sent, asked = batch, []request{{ID: "1"}, {ID: "2"}}
		}
		answers, err := checkAnswer(sent, asked, body)
		if err != nil {
			return
		}
		if sent == single && len(answers) != 1 {
			t.Fatalf("%q: %d answers to one call", body, len(answers))
		}
		for id := range answers {
			if !slices.ContainsFunc(asked, func(r request) bool { return r.ID == id }) {
				t.Fatalf("%q: an answer to %s, which was not asked", body, id)
			}
		}
	})
}
